"""The table of schemas says what onnx.defs says."""

from __future__ import annotations

import onnx
import pytest
from onnx import defs

from sardonyx.ir import schema_onnx
from sardonyx.ir import schema_table as tables
from sardonyx.ir.schema import newest, schema, since_version

ALL = defs.get_all_schemas_with_history()


@pytest.fixture(scope="module")
def table() -> tables.Table:
    return tables.Table(tables.table_text(ALL, onnx.__version__))


def test_a_table_holds_every_schema(table):
    for s in ALL:
        assert table.schema(s.domain, s.name, s.since_version) == schema_onnx.read(s)
        assert table.is_deprecated(s.domain, s.name, s.since_version) is s.deprecated


def test_versions_in_force(table):
    for domain, op in {(s.domain, s.name) for s in ALL}:
        for opset in (1, 6, 12, 18, 99):
            found = schema_onnx.find(domain, op, opset)
            assert table.version(domain, op, opset) == (None if found is None else found.since_version)


NOWHERE = [("", "Nothing"), ("=", "3"), ("", "Conv 11"), ("ai.onnx", "Conv"), ("", "Con"), ("nobody\n", "Conv"), ("", ""), ("", "conv")]


@pytest.mark.parametrize(("domain", "op"), NOWHERE)
def test_names_that_are_in_no_table(table, domain, op):
    assert not table.has(domain, op)
    assert table.version(domain, op, 99) is None


def test_the_file_is_that_of_its_release():
    """Written for another release than the installed one it may differ, but then it is not asked."""
    text = tables.FILE.read_text("utf-8")
    assert tables.installed_table() is None or text == tables.table_text(ALL, onnx.__version__)
    assert tables.Table(text).version("", "Conv", 20) == 11


def test_another_release_of_onnx_is_asked_itself(monkeypatch):
    caches = (tables.installed_table, schema, since_version, newest)
    for f in caches:
        f.cache_clear()
    with monkeypatch.context() as m:
        m.setattr(onnx, "__version__", "0.0")
        assert tables.installed_table() is None
        own = [schema("", "Conv", 22), since_version("", "Upsample", 13), newest("", "Gelu"), schema("", "Nothing", 1)]
    for f in caches:
        f.cache_clear()
    assert own == [schema("", "Conv", 22), since_version("", "Upsample", 13), newest("", "Gelu"), schema("", "Nothing", 1)]
