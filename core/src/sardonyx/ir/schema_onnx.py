"""Schemas as onnx.defs has them. The first question makes onnx register every operator, which takes some 15 ms."""

from __future__ import annotations

from typing import Any

from sardonyx.ir.schema_record import Formal, Schema, dtypes_of

__all__ = ["find", "read"]


def find(domain: str, op: str, opset: int) -> Any:
    """The OpSchema in force at `opset`, deprecated ones included, or None."""
    from onnx import defs

    try:
        return defs.get_schema(op, opset, domain)
    except Exception:
        return None


def read(s: Any) -> Schema:
    """The record of an OpSchema."""
    strings = {f.type_str: frozenset((f.type_str,)) for f in (*s.inputs, *s.outputs)}
    strings |= {c.type_param_str: frozenset(c.allowed_type_strs) for c in s.type_constraints}
    return Schema(
        domain=s.domain,
        op=s.name,
        since=s.since_version,
        inputs=tuple(_formal(f) for f in s.inputs),
        outputs=tuple(_formal(f) for f in s.outputs),
        min_input=s.min_input,
        max_input=s.max_input,
        max_output=s.max_output,
        types={name: dtypes_of(allowed) for name, allowed in strings.items()},
        type_strings=strings,
        attributes={name: _default(a) for name, a in s.attributes.items()},
        attribute_types={name: a.type.value for name, a in s.attributes.items()},
        required=frozenset(name for name, a in s.attributes.items() if a.required),
        deprecated=s.deprecated,
        has_function=s.has_function or s.has_context_dependent_function,
    )


def _formal(f: Any) -> Formal:
    return Formal(f.name, f.type_str, f.option.name == "Optional", f.option.name == "Variadic")


def _default(a: Any) -> Any:
    from onnx import helper

    if not a.default_value.name:
        return None
    value = helper.get_attribute_value(a.default_value)
    if isinstance(value, bytes):
        return value.decode()
    if a.default_value.type in (6, 7):
        return list(value)
    return [v.decode() for v in value] if a.default_value.type == 8 else value
