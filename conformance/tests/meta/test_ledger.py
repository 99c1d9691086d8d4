"""Ledgers: what they may say, and messages for what they may not."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from sardonyx_conformance.ledger import Ledger, LedgerError, find_ledger, parse_ledger


def test_parse():
    """All three tables."""
    text = '[claimed]\n"1.23.2" = 7\n[tolerances]\nfloat16 = [1e-2, 1]\nbfloat16 = [0.1, 0]\n[xfail]\ntest_x = "a reason"\n'
    ledger = parse_ledger(text, "here")
    assert ledger == Ledger({"1.23.2": 7}, {"float16": (0.01, 1.0), "bfloat16": (0.1, 0.0)}, {"test_x": "a reason"}, "here")
    assert parse_ledger("", "here") == Ledger(source="here")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[surprise]\n", "surprise"),
        ("claimed = 3\n", "table"),
        ('[claimed]\n"1.23.2" = -1\n', "1.23.2"),
        ('[claimed]\n"1.23.2" = true\n', "1.23.2"),
        ("[tolerances]\nfloat = [1, 1]\n", "float"),
        ("[tolerances]\nfloat16 = 1\n", "float16"),
        ("[tolerances]\nfloat16 = [1, -1]\n", "float16"),
        ("[xfail]\ntest_x = true\n", "test_x"),
        ('[xfail]\ntest_x = " "\n', "reason"),
        ("[xfail\n", "here"),
    ],
)
def test_mistakes(text, word):
    """The file and the key are named."""
    with pytest.raises(LedgerError, match=word) as caught:
        parse_ledger(text, "here")
    assert "here" in str(caught.value)


def test_find_in_package(tmp_path, monkeypatch):
    """The ledger lies in the package of the entry point's module."""
    package = tmp_path / "some_ep"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "plugin.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    import importlib

    module = importlib.import_module("some_ep.plugin")
    assert find_ledger(module) == Ledger()
    (package / "conformance.toml").write_text('[xfail]\na = "b"\n')
    assert find_ledger(module).xfail == {"a": "b"}
    assert find_ledger(module, str(package / "conformance.toml")).xfail == {"a": "b"}
    with pytest.raises(LedgerError, match="missing"):
        find_ledger(module, str(tmp_path / "missing.toml"))
    del sys.modules["some_ep.plugin"], sys.modules["some_ep"]


def test_module_without_package():
    """A plug-in that is a single module, or no real one, has no ledger."""
    assert find_ledger(None) == Ledger()
    assert find_ledger(ModuleType("alone")) == Ledger()
