"""Operators that move elements, and those that speak of shapes."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx.ir.infer_contrib.table import multiply
from sardonyx.ir.infer_plain.table import Plain, Unusual, axes_of, broadcast, given, ints, out, register, shape
from sardonyx.ir.types import Dim, ValueType

__all__ = ["types"]

types: Plain = {}
INT64 = np.dtype(np.int64)


@register(types, "Shape")
def shape_of(node: Node) -> list[ValueType] | None:
    """The number of dims, or of those from `start` to `end`."""
    rank = len(shape(node))
    return out(node, (len(range(rank)[node.attrs.get("start", 0) : node.attrs.get("end", rank)]),), INT64)


@register(types, "Reshape", since=5)
def reshape(node: Node) -> list[ValueType] | None:
    """A constant target; what its -1 stands for is known if all dims are that no 0 copies."""
    x, target = shape(node), ints(node, 1)
    if target is None or target.count(-1) > 1 or min(target, default=0) < -1 or (0 in target and node.attrs.get("allowzero")):
        return None
    dims: list[Dim] = [x[i] if t == 0 else t for i, t in enumerate(target)]
    if -1 in target:
        copied = {i for i, t in enumerate(target) if t == 0 and not isinstance(x[i], int)}
        rest = [d for i, d in enumerate(x) if i not in copied]
        have = math.prod(d for d in dims if isinstance(d, int) and d != -1)
        dims[target.index(-1)] = None
        if all(isinstance(d, int) for d in rest):
            count = math.prod(d for d in rest if isinstance(d, int))
            if not have or count % have:
                return None
            dims[target.index(-1)] = count // have
    return out(node, dims)


@register(types, "Flatten")
def flatten(node: Node) -> list[ValueType] | None:
    """A matrix."""
    x, axis = shape(node), node.attrs.get("axis", 1)
    if not -len(x) <= axis <= len(x):
        return None
    axis = axis + len(x) if axis < 0 else axis
    one: Dim = 1
    return out(node, (reduce(multiply, x[:axis], one), reduce(multiply, x[axis:], one)))


@register(types, "Squeeze")
def squeeze(node: Node) -> list[ValueType] | None:
    """Named dims of 1 go."""
    x, named = shape(node), ints(node, 1, "axes")
    if named is None:
        return None
    axes = axes_of(named, len(x))
    return None if any(x[a] != 1 for a in axes) else out(node, [d for i, d in enumerate(x) if i not in axes])


@register(types, "Unsqueeze")
def unsqueeze(node: Node) -> list[ValueType] | None:
    """Dims of 1 come."""
    x, named = shape(node), ints(node, 1, "axes")
    if named is None:
        return None
    axes, rest = axes_of(named, len(x) + len(named)), iter(x)
    return out(node, [1 if i in axes else next(rest) for i in range(len(x) + len(named))])


@register(types, "Transpose")
def transpose(node: Node) -> list[ValueType] | None:
    """Dims in another order, by default reversed."""
    x = shape(node)
    perm = node.attrs.get("perm") or range(len(x))[::-1]
    return out(node, [x[p] for p in perm]) if sorted(perm) == list(range(len(x))) else None


@register(types, "Concat", since=4)
def concat(node: Node) -> list[ValueType] | None:
    """Sizes add up along the axis; elsewhere a number says more than a symbol."""
    shapes = [shape(node, i) for i in range(len(node.inputs))]
    (axis,) = axes_of([node.attrs["axis"]], len(shapes[0]))
    if len(shapes) == 1:
        return out(node, shapes[0])
    dims: list[Dim] = []
    for i, column in enumerate(zip(*shapes, strict=True)):
        numbers = [d for d in column if isinstance(d, int)]
        if i == axis:
            dims.append(sum(numbers) if len(numbers) == len(column) else None)
        elif len(set(numbers)) > 1:
            return None
        else:
            dims.append(numbers[0] if numbers else next((d for d in column if d is not None), None))
    return out(node, dims)


@register(types, "Split")
def split(node: Node) -> list[ValueType] | None:
    """Lengths that are given, or even ones."""
    x = shape(node)
    (axis,) = axes_of([node.attrs.get("axis", 0)], len(x))
    lengths, size, count = ints(node, 1, "split"), x[axis], len(node.outputs)
    if not isinstance(size, int) or node.attrs.get("num_outputs", count) != count:
        return None
    if lengths is None:
        lengths = [size // count] * count
    if len(lengths) != count or sum(lengths) != size or min(lengths) < 0:
        return None
    return [t for n in lengths for t in out(node, (*x[:axis], n, *x[axis + 1 :]))]


@register(types, "Slice")
def slice_(node: Node) -> list[ValueType] | None:
    """Forward along axes of known size."""
    x, starts, ends = list(shape(node)), ints(node, 1, "starts"), ints(node, 2, "ends")
    named, steps = ints(node, 3, "axes"), ints(node, 4)
    if starts is None or ends is None or len(starts) != len(ends):
        return None
    axes = axes_of(range(len(starts)) if named is None else named, len(x))
    for axis, start, end, step in zip(axes, starts, ends, steps or [1] * len(starts), strict=True):
        size = x[axis]
        if not isinstance(size, int) or step < 1:
            raise Unusual
        x[axis] = len(range(size)[start:end:step])
    return out(node, x)


@register(types, "Gather")
def gather(node: Node) -> list[ValueType] | None:
    """The dims of the indices in place of the axis."""
    x = shape(node, rank=1)
    (axis,) = axes_of([node.attrs.get("axis", 0)], len(x))
    return out(node, (*x[:axis], *shape(node, 1), *x[axis + 1 :]))


@register(types, "GatherElements")
def gather_elements(node: Node) -> list[ValueType] | None:
    """The dims of the indices."""
    return out(node, shape(node, 1)) if len(shape(node, 1)) == len(shape(node)) else None


@register(types, "Expand")
def expand(node: Node) -> list[ValueType] | None:
    """Broadcast with a constant shape."""
    target = ints(node, 1)
    return None if target is None or min(target, default=0) < 0 else out(node, broadcast([shape(node), tuple(target)]))


@register(types, "Pad")
def pad(node: Node) -> list[ValueType] | None:
    """Numbers added on both sides of every dim; a dim that gets none keeps its symbol."""
    x, pads = shape(node), ints(node, 1, "pads")
    if pads is None or len(pads) != 2 * len(x) or node.input(3) is not None:
        return None
    dims: list[Dim] = []
    for d, before, after in zip(x, pads, pads[len(x) :], strict=False):
        if isinstance(d, int):
            dims.append(d + before + after)
        else:
            dims.append(d if before == after == 0 else None)
    return None if any(isinstance(d, int) and d < 0 for d in dims) else out(node, dims)


@register(types, "Resize", since=11)
def resize(node: Node) -> list[ValueType] | None:
    """By constant factors, or to constant sizes."""
    x, scales, sizes = shape(node), node.input(2), ints(node, 3)
    if node.attrs.get("axes") or node.attrs.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        return None
    if sizes is not None:
        return out(node, sizes) if len(sizes) == len(x) and scales is None and min(sizes) > 0 else None
    if scales is None or scales.const is None or scales.const.shape != (len(x),) or given(node, 2).dtype != np.float32:
        return None
    factors = scales.const.numpy()
    return out(node, [int(np.floor(np.float32(d) * f)) if isinstance(d, int) else None for d, f in zip(x, factors, strict=True)])
