"""Reductions."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx.ir.infer_plain.table import Plain, axes_of, ints, out, register, shape
from sardonyx.ir.types import ValueType

__all__ = ["types"]

types: Plain = {}


@register(types, "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd")
@register(types, "ReduceSum", "ReduceSumSquare")
def reduction(node: Node) -> list[ValueType] | None:
    """Dims of 1, or none, in place of the axes; all are meant where none is named."""
    x = shape(node)
    named = ints(node, 1, "axes")
    if not named and node.attrs.get("noop_with_empty_axes"):
        return None
    axes = axes_of(named, len(x)) if named else range(len(x))
    keep = node.attrs.get("keepdims", 1)
    return out(node, [1 if i in axes else d for i, d in enumerate(x) if keep or i not in axes])


@register(types, "ArgMax", "ArgMin")
def arg(node: Node) -> list[ValueType] | None:
    """A dim of 1, or none, in place of the axis."""
    x = shape(node)
    (axis,) = axes_of([node.attrs.get("axis", 0)], len(x))
    middle = (1,) if node.attrs.get("keepdims", 1) else ()
    return out(node, (*x[:axis], *middle, *x[axis + 1 :]), np.dtype(np.int64))
