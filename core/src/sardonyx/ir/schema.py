"""Operator schemas, read once from onnx.defs and kept as small records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sardonyx.ir.dtypes import from_name

__all__ = ["KNOWN", "STANDARD", "Formal", "Schema", "all_schemas", "in_force", "newest", "schema", "since_version"]

# The operator set versions that this release was written against, by domain of ONNX's own.
KNOWN = {"": 28, "ai.onnx.ml": 5, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}
STANDARD = tuple(KNOWN)


@dataclass(frozen=True, slots=True)
class Formal:
    """A formal input or output: its name, type variable (or fixed type string), and whether optional or variadic."""

    name: str
    type: str
    optional: bool
    variadic: bool


@dataclass(frozen=True, slots=True)
class Schema:
    """What onnx.defs says about one version of one operator.

    `types` maps a type variable (or fixed type string) to the dtypes its tensors may have, `type_strings` to all its types
    as ONNX writes them; `attributes` a name to its default (None if it has none), `attribute_types` to its
    AttributeProto.AttributeType; `required` names the attributes without which a node is invalid.
    """

    domain: str
    op: str
    since: int
    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]
    min_input: int
    max_input: int
    max_output: int
    types: dict[str, frozenset[np.dtype]]
    type_strings: dict[str, frozenset[str]]
    attributes: dict[str, Any]
    attribute_types: dict[str, int]
    required: frozenset[str]
    deprecated: bool
    has_function: bool

    def input(self, index: int) -> Formal | None:
        """The formal of the index-th actual input, the last variadic one repeated."""
        return _formal(self.inputs, index)

    def output(self, index: int) -> Formal | None:
        """The formal of the index-th actual output, the last variadic one repeated."""
        return _formal(self.outputs, index)


def _formal(formals: tuple[Formal, ...], index: int) -> Formal | None:
    if index < len(formals):
        return formals[index]
    return formals[-1] if formals and formals[-1].variadic else None


def all_schemas() -> list[Any]:
    """The OpSchema of every version of every operator that onnx.defs knows."""
    from onnx import defs

    return list(defs.get_all_schemas_with_history())


@cache
def since_version(domain: str, op: str, opset: int) -> int | None:
    """The since_version of the operator's schema in force at `opset` (where that is deprecated, of the one before it, if
    there is one), or None if onnx.defs does not know it."""
    from onnx import defs

    try:
        s = defs.get_schema(op, opset, domain)
    except Exception:
        return None
    before = since_version(domain, op, s.since_version - 1) if s.deprecated and s.since_version > 1 else None
    return s.since_version if before is None else before


@cache
def in_force(domain: str, op: str, opset: int) -> int | None:
    """The since_version of the operator's schema in force at `opset`, or None if there is none, or only a deprecated one."""
    from onnx import defs

    try:
        s = defs.get_schema(op, opset, domain)
    except Exception:
        return None
    return None if s.deprecated else s.since_version


@cache
def newest(domain: str, op: str) -> int | None:
    """The newest since_version of an operator that is not deprecated and not past KNOWN; None if there is none."""
    return since_version(domain, op, KNOWN[domain]) if domain in KNOWN else None


@cache
def schema(domain: str, op: str, since: int) -> Schema | None:
    """The schema of the operator's version in force at opset `since`, or None for an operator onnx.defs does not know."""
    from onnx import defs, helper

    try:
        s: Any = defs.get_schema(op, since, domain)
    except Exception:
        return None

    def formal(f: Any) -> Formal:
        option = defs.OpSchema.FormalParameterOption
        return Formal(f.name, f.type_str, f.option == option.Optional, f.option == option.Variadic)

    def default(a: Any) -> Any:
        if not a.default_value.name:
            return None
        value = helper.get_attribute_value(a.default_value)
        if isinstance(value, bytes):
            return value.decode()
        if a.default_value.type in (6, 7):
            return list(value)
        return [v.decode() for v in value] if a.default_value.type == 8 else value

    def dtypes(allowed: frozenset[str]) -> frozenset[np.dtype]:
        return frozenset(from_name(t[7:-1]) for t in allowed if t.startswith("tensor("))

    strings = {f.type_str: frozenset((f.type_str,)) for f in (*s.inputs, *s.outputs)}
    strings |= {c.type_param_str: frozenset(c.allowed_type_strs) for c in s.type_constraints}
    return Schema(
        domain=domain,
        op=op,
        since=s.since_version,
        inputs=tuple(formal(f) for f in s.inputs),
        outputs=tuple(formal(f) for f in s.outputs),
        min_input=s.min_input,
        max_input=s.max_input,
        max_output=s.max_output,
        types={name: dtypes(allowed) for name, allowed in strings.items()},
        type_strings=strings,
        attributes={name: default(a) for name, a in s.attributes.items()},
        attribute_types={name: a.type.value for name, a in s.attributes.items()},
        required=frozenset(name for name, a in s.attributes.items() if a.required),
        deprecated=s.deprecated,
        has_function=s.has_function or s.has_context_dependent_function,
    )
