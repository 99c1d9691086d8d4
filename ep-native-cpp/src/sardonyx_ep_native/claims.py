"""What the engine takes: one check per operator, registered by family modules in `claims/`-style tables.

A check is `(node) -> str | None`: the reason for refusing a node, or None. It may look at attributes, dtypes, ranks and
constants; shapes may be unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sardonyx.ir.dtypes import FROM_ONNX, dtype_name, from_name
from sardonyx.ir.graph import Node, Value
from sardonyx_ep_native import _native

__all__ = ["CHECKS", "DTYPES", "F32", "FLOATS", "HALF", "INTS", "NARROW", "add", "dtypes", "finite", "named_dtype", "one_of", "refusal"]

MAX_RANK = _native.max_rank
Check = Callable[[Node], str | None]
CHECKS: dict[tuple[str, str], tuple[int, Check]] = {}

# In the order of the engine's DType.
DTYPE_NAMES = ("float", "double", "float16", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")


def _dtypes() -> list[np.dtype]:
    return [from_name(n) for n in DTYPE_NAMES]


DTYPES = _dtypes()
F32 = (np.dtype("f4"),)
HALF = (DTYPES[2], DTYPES[3])
FLOATS = (*F32, *HALF)  # half precision is widened
# Constants of less than a byte are held as bytes, for DequantizeLinear alone.
NARROW = {from_name(f"{kind}{bits}"): from_name(f"{kind}8") for kind in ("int", "uint") for bits in (2, 4)}
INTS = tuple(np.dtype(t) for t in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"))


def add(op: str, since: int = 1, domain: str = "") -> Callable[[Check], Check]:
    """Register the check of an operator from version `since` on."""

    def register(check: Check) -> Check:
        CHECKS[domain, op] = (since, check)
        return check

    return register


def dtypes(node: Node, allowed: tuple[np.dtype, ...], inputs: tuple[int, ...] = (0,)) -> str | None:
    """A reason if one of the inputs is known not to have an allowed dtype, or its dtype is unknown."""
    for i in inputs:
        v = node.input(i)
        if v is None:
            continue
        if v.dtype is None:
            return f"the dtype of {v.name!r} is unknown"
        if v.dtype not in allowed:
            return f"{v.name!r} is {dtype_name(v.dtype)}; the engine's {node.op} takes {', '.join(dtype_name(t) for t in allowed)}"
    return None


def named_dtype(node: Node, attribute: str, allowed: tuple[np.dtype, ...]) -> str | None:
    """A reason if an attribute that holds an element type's number is given, not 0, and names none of the allowed ones."""
    code = node.attrs.get(attribute) or 0
    named = FROM_ONNX.get(code)
    if code == 0 or (named is not None and named in allowed):  # numpy takes None for float64
        return None
    return f"its attribute {attribute}={code} names none of {', '.join(dtype_name(t) for t in allowed)}"


def one_of(node: Node, attribute: str, default: str, allowed: tuple[str, ...]) -> str | None:
    """A reason if a text attribute has a value that the engine does not know."""
    value = node.attrs.get(attribute, default)
    return None if value in allowed else f"its attribute {attribute}={value!r} is none of {', '.join(allowed)}"


def finite(node: Node, *attributes: str) -> str | None:
    """A reason if one of the named attributes is given and infinite or NaN."""
    for name in attributes:
        value = node.attrs.get(name)
        if value is not None and not math.isfinite(value):
            return f"its attribute {name}={value} is not finite"
    return None


def refusal(node: Node) -> str | None:
    """The reason for refusing a node, or None."""
    found = CHECKS.get(node.key)
    if found is None:
        return f"the engine has no {node.title}"
    since, check = found
    if node.since < since:
        return f"the engine takes {node.title} from version {since} on, this is {node.since}"
    for v in (*node.inputs, *node.outputs):
        if v is None:
            continue
        dtype, shape = v.dtype, v.shape
        if dtype is None:
            return f"the type of {v.name!r} is unknown or not a tensor"
        if shape is not None and len(shape) > MAX_RANK:
            return f"{v.name!r} has {len(shape)} dimensions; the engine takes up to {MAX_RANK}"
        if dtype not in DTYPES and not _held_as_bytes(node, v):
            return f"{v.name!r} is {dtype_name(dtype)}, which the engine does not hold"
    return check(node)


def _held_as_bytes(node: Node, v: Value) -> bool:
    return v.const is not None and v.dtype in NARROW and node.key == ("", "DequantizeLinear")
