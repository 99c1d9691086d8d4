"""Operator schemas, as small records. Asked for by domain, operator and version; kept once read."""

from __future__ import annotations

from functools import cache
from typing import Any

from sardonyx.ir import schema_onnx
from sardonyx.ir.schema_record import Formal, Schema
from sardonyx.ir.schema_table import Table, installed_table

__all__ = ["KNOWN", "STANDARD", "Formal", "Schema", "all_schemas", "in_force", "newest", "schema", "since_version"]

# The operator set versions that this release was written against, by domain of ONNX's own.
KNOWN = {"": 28, "ai.onnx.ml": 5, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}
STANDARD = tuple(KNOWN)

# Domains of which onnx has no operators.
FOREIGN = frozenset(("com.microsoft",))


def all_schemas() -> list[Any]:
    """The OpSchema of every version of every operator that onnx.defs knows."""
    from onnx import defs

    return list(defs.get_all_schemas_with_history())


def _table_of(domain: str, op: str) -> Table | None:
    """The table, if it has the operator: others may have been registered with onnx.defs."""
    table = installed_table()
    return table if table is not None and table.has(domain, op) else None


@cache
def since_version(domain: str, op: str, opset: int) -> int | None:
    """The since_version of the operator's schema in force at `opset` (where that is deprecated, of the one before it, if
    there is one), or None if onnx.defs does not know it."""
    version, deprecated = _version(domain, op, opset)
    before = since_version(domain, op, version - 1) if deprecated and version is not None and version > 1 else None
    return version if before is None else before


@cache
def in_force(domain: str, op: str, opset: int) -> int | None:
    """The since_version of the operator's schema in force at `opset`, or None if there is none, or only a deprecated one."""
    version, deprecated = _version(domain, op, opset)
    return None if deprecated else version


@cache
def newest(domain: str, op: str) -> int | None:
    """The newest since_version of an operator that is not deprecated and not past KNOWN; None if there is none."""
    return since_version(domain, op, KNOWN[domain]) if domain in KNOWN else None


@cache
def schema(domain: str, op: str, since: int) -> Schema | None:
    """The schema of the operator's version in force at opset `since`, or None for an operator onnx.defs does not know."""
    table = _table_of(domain, op)
    if table is not None:
        version = table.version(domain, op, since)
        return None if version is None else table.schema(domain, op, version)
    found = None if domain in FOREIGN else schema_onnx.find(domain, op, since)
    return None if found is None else schema_onnx.read(found)


def _version(domain: str, op: str, opset: int) -> tuple[int | None, bool]:
    """The since_version of the schema in force at `opset`, and whether it is deprecated."""
    table = _table_of(domain, op)
    if table is not None:
        version = table.version(domain, op, opset)
        return version, version is not None and table.is_deprecated(domain, op, version)
    found = None if domain in FOREIGN else schema_onnx.find(domain, op, opset)
    return (None, False) if found is None else (found.since_version, found.deprecated)
