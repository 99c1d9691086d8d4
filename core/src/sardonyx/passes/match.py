"""What rules ask of a graph: who makes a value, who uses it, what a constant holds."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from sardonyx.ir.dtypes import is_float
from sardonyx.ir.graph import Node, Value
from sardonyx.ir.schema import newest
from sardonyx.ir.types import Shape

__all__ = [
    "axis_of",
    "broadcasts_into",
    "close",
    "ints",
    "is_needed",
    "made_by",
    "only_use",
    "same_shape",
    "scalar",
    "scalar_operand",
    "static",
]


def made_by(value: Value | None, *ops: str) -> Node | None:
    """The node that makes `value`, if it is a standard operator named in `ops`, in its newest form."""
    node = value.producer if value is not None else None
    if node is None or node.op not in ops or node.domain != "" or node.since != newest("", node.op):
        return None
    return node


def only_use(value: Value | None) -> bool:
    """Whether one node of the producer's own graph uses `value`, once, and it is no output of the graph."""
    if value is None or len(value.uses) != 1 or value.producer is None:
        return False
    home = value.producer.graph
    return home is not None and value.uses[0][0].graph is home and value not in home.outputs


def is_needed(node: Node, results: Container[Value]) -> bool:
    """Whether a node reads an output of this one, or one is among `results`, the outputs of graphs."""
    return any(v is not None and (v.uses or v in results) for v in node.outputs)


def scalar(value: Value | None) -> float | None:
    """The number in a constant real tensor of one element, of any rank, or None."""
    tensor = value.const if value is not None else None
    if tensor is None or tensor.size != 1:
        return None
    if tensor.dtype.kind not in "fiub" and not is_float(tensor.dtype):
        return None
    return float(tensor.numpy().item())


def scalar_operand(node: Node) -> tuple[Value, float, int] | None:
    """(x, c, index of c) of a node of two operands of which one is a scalar constant that does not raise x's rank."""
    if len(node.inputs) != 2:
        return None
    for i in (1, 0):
        operand, x = node.inputs[i], node.inputs[1 - i]
        if operand is None or operand.const is None or x is None:
            continue
        c = scalar(operand)
        if c is not None and broadcasts_into(operand.shape, x.shape):
            return x, c, i
    return None


def broadcasts_into(small: Shape, big: Shape) -> bool:
    """Whether a tensor of shape `small` surely leaves the shape `big` as it is when broadcast against it."""
    if small == ():
        return True
    if small is None or big is None or len(small) > len(big):
        return False
    return all(s == 1 or (s is not None and s == b) for s, b in zip(reversed(small), reversed(big), strict=False))


def same_shape(a: Value, b: Value) -> bool:
    """Whether two tensors surely have one shape (equal numbers or equal symbols)."""
    return a.shape is not None and a.shape == b.shape and None not in a.shape


def static(value: Value) -> tuple[int, ...] | None:
    """The shape, if it is all numbers."""
    shape = value.shape
    return shape if shape is not None and all(isinstance(d, int) for d in shape) else None  # type: ignore[return-value]


def ints(value: Value | None) -> list[int] | None:
    """The elements of a constant integer tensor, or None."""
    if value is None or value.const is None or value.const.dtype.kind not in "iu":
        return None
    return [int(i) for i in value.const.numpy().reshape(-1)]


def axis_of(node: Node, name: str, default: int, rank: int | None) -> int | None:
    """The axis attribute, counted from the front; None if that needs a rank nobody knows."""
    axis = node.attrs.get(name, default)
    if axis >= 0:
        return axis
    return None if rank is None else axis + rank


_TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2}


def close(a: float | None, b: float, dtype: np.dtype | None) -> bool:
    """Whether constant `a` is `b` as exporters write it in `dtype`: 5 digits, or what half precision keeps of it."""
    if a is None:
        return False
    tolerance = _TOLERANCE.get(dtype.name, 1e-5) if dtype is not None else 1e-5
    return abs(a - b) <= tolerance * abs(b)


def attribute(node: Node, name: str, default: Any) -> Any:
    """An attribute, or its default."""
    value = node.attrs.get(name)
    return default if value is None else value
