"""Older or wider forms of ONNX's shape operators."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx.ir.infer_contrib.table import Contrib, add, dims, dtype, register, same, standard, tensor
from sardonyx.ir.types import ValueType

__all__ = ["types"]

types: Contrib = {}


@register(types, "Unique")
def unique(node: Node) -> list[ValueType]:
    """Distinct values, for each input value the place of its equal, and counts."""
    size = dims(node, 0)
    index = np.dtype(np.int64)
    return [tensor(dtype(node, 0), (None,)), tensor(index, None if size is None else size[:1]), tensor(index, (None,))]


@register(types, "Pad")
def pad(node: Node) -> list[ValueType]:
    """Each dim grows by its two pads."""
    x, pads = dims(node, 0), node.const(1)
    if x is None:
        return [tensor(dtype(node, 0), None)]
    if pads is None:
        return [tensor(dtype(node, 0), (None,) * len(x))]
    widths = pads.reshape(2, -1).sum(0)
    return [tensor(dtype(node, 0), (add(d, int(w)) for d, w in zip(x, widths, strict=True)))]


@register(types, "ExpandDims")
def expand_dims(node: Node) -> list[ValueType]:
    """A dim of 1 at `axis`."""
    x, axis = dims(node, 0), node.const(1)
    if x is None:
        return [tensor(dtype(node, 0), None)]
    if axis is None:
        return [tensor(dtype(node, 0), (None,) * (len(x) + 1))]
    at = int(axis.reshape(())[()]) % (len(x) + 1)
    return [tensor(dtype(node, 0), (*x[:at], 1, *x[at:]))]


@register(types, "Range")
def arange(node: Node) -> list[ValueType]:
    """As many values as there are steps of `delta` (1 by default) from `start` to `limit`."""
    start, limit = node.const(0), node.const(1)
    delta = np.array(1) if node.input(2) is None else node.const(2)
    length = None
    if start is not None and limit is not None and delta is not None:
        first, last, step = (float(v.reshape(())[()]) for v in (start, limit, delta))
        length = max(int(np.ceil((last - first) / step)), 0)
    return [tensor(dtype(node, 0), (length,))]


@register(types, "GatherND")
def gather_nd(node: Node) -> list[ValueType]:
    """GatherND of ONNX."""
    return standard("GatherND", [same(node), tensor(np.dtype(np.int64), dims(node, 1))], 13)
