"""Casts of casts, and Relu and Clip of each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ir.dtypes import FROM_ONNX, STRING
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.passes.match import made_by
from sardonyx.passes.rules import Edit, Outcome, constant, no, rule

__all__ = ["CASTS_AND_CLIPS"]

# Bits of exactly representable integers, for the floats that matter here.
_FLOATS = {"bfloat16": ("float32", "float64"), "float16": ("float32", "float64"), "float32": ("float64",)}
_EXACT = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


@rule("Cast")
def merge_casts(node: Node, graph: Graph) -> Outcome:
    """A Cast of a lossless Cast is one Cast."""
    first = made_by(node.inputs[0], "Cast")
    x = first.inputs[0] if first is not None else None
    if first is None or x is None or x.dtype is None:
        return None
    middle = FROM_ONNX.get(first.attrs["to"])
    if middle is None or not lossless(x.dtype, middle):
        return no("the first cast may lose something")
    if FROM_ONNX.get(node.attrs["to"]) == STRING and x.dtype.kind not in "biu":
        return no("a number has more digits in a wider float type")
    out = node.outputs[0]
    assert out is not None
    edit = Edit(node, first)
    return edit.replace(out, edit.add("Cast", [x], dict(node.attrs), like=out))


def lossless(a: np.dtype, b: np.dtype) -> bool:
    """Whether every value of dtype `a` is a value of dtype `b`: then a cast a → b → c is a cast a → c."""
    if a == b:
        return True
    if a.kind == "b":
        return b.kind in "iu" or b.name in _EXACT
    if a.kind in "iu":
        bits = a.itemsize * 8 - (a.kind == "i")
        if b.kind in "iu":
            return bits <= b.itemsize * 8 - (b.kind == "i") and (a.kind == "u" or b.kind == "i")
        return bits <= _EXACT.get(b.name, 0)
    return b.name in _FLOATS.get(a.name, ())


Bounds = tuple[np.ndarray | None, np.ndarray | None]


def _bounds(node: Node) -> Bounds | None:
    """The constant (min, max) of a Clip or Relu, None for an absent one; or None if they are not known or not numbers."""
    if node.op == "Relu":
        x = node.inputs[0]
        return (np.zeros((), x.dtype), None) if x is not None and x.dtype is not None else None
    bounds: list[Any] = [None, None]
    for i in (0, 1):
        v = node.input(i + 1)
        if v is not None:
            if v.const is None or v.const.size != 1:
                return None
            bounds[i] = v.const.numpy().reshape(())
            if bounds[i] != bounds[i]:
                return None
    return bounds[0], bounds[1]


@rule("Clip", "Relu")
def merge_clips(node: Node, graph: Graph) -> Outcome:
    """Relu or Clip of a Relu or Clip: min(max(min(max(x, a), b), c), d) = min(max(x, max(a, c)), min(max(b, c), d))."""
    first = made_by(node.inputs[0], "Clip", "Relu")
    if first is None:
        return None
    inner, outer = _bounds(first), _bounds(node)
    if inner is None or outer is None:
        return None
    x, out = first.inputs[0], node.outputs[0]
    assert x is not None
    assert out is not None
    edit = Edit(node, first)
    if node.op == first.op == "Relu":
        return edit.replace(out, edit.add("Relu", [x], like=out))
    low = _both(np.maximum, inner[0], outer[0])
    high = _both(np.minimum, None if inner[1] is None else _both(np.maximum, inner[1], outer[0]), outer[1])
    return edit.replace(out, edit.add("Clip", _operands(x, low, high), like=out))


def _operands(x: Value, low: np.ndarray | None, high: np.ndarray | None) -> list[Value | None]:
    bounds = [None if b is None else constant(np.asarray(b, x.dtype), name) for b, name in ((low, "min"), (high, "max"))]
    return [x, bounds[0]] if bounds[1] is None else [x, *bounds]


def _both(function: Any, a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
    if a is None or b is None:
        return b if a is None else a
    return function(a, b)


CASTS_AND_CLIPS = (merge_casts, merge_clips)
