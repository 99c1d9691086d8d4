"""What is in small integer tensors that are computed from shapes: numbers, symbols of dims, or unknown (None).

One function per operator, `(node, get) -> contents | None`, where `get(value)` gives the contents of an input as a list
(one element for rank 0) or None.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.types import Dim
from sardonyx.passes.match import ints

__all__ = ["CONTENTS", "Contents", "Get"]

Contents = list[Dim]
Get = Callable[[Value | None], Contents | None]


def shape(node: Node, get: Get) -> Contents | None:
    x = node.inputs[0]
    if x is None or x.shape is None:
        return None
    rank = len(x.shape)
    start, end = node.attrs.get("start") or 0, node.attrs.get("end")
    return list(x.shape[slice(*slice(start, rank if end is None else end).indices(rank))])


def size(node: Node, get: Get) -> Contents | None:
    x = node.inputs[0]
    if x is None or x.shape is None or not all(isinstance(d, int) for d in x.shape):
        return None
    return [math.prod(d for d in x.shape if isinstance(d, int))]


def same(node: Node, get: Get) -> Contents | None:
    return get(node.inputs[0])


def gather(node: Node, get: Get) -> Contents | None:
    data, at = get(node.inputs[0]), get(node.inputs[1])
    if data is None or at is None or node.inputs[0].rank != 1:  # type: ignore[union-attr]
        return None
    if not all(isinstance(i, int) and -len(data) <= i < len(data) for i in at):
        return None
    return [data[i] for i in at if isinstance(i, int)]


def slice_(node: Node, get: Get) -> Contents | None:
    data, starts, ends = get(node.inputs[0]), ints(node.input(1)), ints(node.input(2))
    steps = [1] if node.input(4) is None else ints(node.input(4))
    if data is None or starts is None or ends is None or steps is None or len(starts) != 1 or steps == [0]:
        return None
    if steps[0] > 0:
        return data[starts[0] : ends[0] : steps[0]]
    from sardonyx.ep.shapes import clamp_slice

    first, step, count = clamp_slice(starts[0], ends[0], steps[0], len(data))
    return [data[first + step * k] for k in range(count)]


def concat(node: Node, get: Get) -> Contents | None:
    result: Contents = []
    for v in node.inputs:
        part = get(v)
        if part is None:
            return None
        result += part
    return result


def _elementwise(function: Callable[[Dim, Dim], Dim]) -> Callable[[Node, Get], Contents | None]:
    def contents(node: Node, get: Get) -> Contents | None:
        if len(node.inputs) != 2:
            return None
        a, b = get(node.inputs[0]), get(node.inputs[1])
        if a is None or b is None or (len(a) != len(b) and 1 not in (len(a), len(b))):
            return None
        n = 0 if 0 in (len(a), len(b)) else max(len(a), len(b))
        return [function(a[i % len(a)], b[i % len(b)]) for i in range(n)]

    return contents


def _add(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return a if b == 0 else b if a == 0 else None


def _sub(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return a if b == 0 else 0 if a is not None and a == b else None


def _mul(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return a if b == 1 else b if a == 1 else None


def _div(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int) and b != 0:
        quotient = abs(a) // abs(b)
        return quotient if (a < 0) == (b < 0) else -quotient
    return a if b == 1 else None


def _equal(a: Dim, b: Dim) -> Dim:
    """1, 0 or None. A dim is never negative."""
    if a is None or b is None:
        return None
    if a == b:
        return 1
    if isinstance(a, int) and isinstance(b, int):
        return 0
    return 0 if (isinstance(a, int) and a < 0) or (isinstance(b, int) and b < 0) else None


def where(node: Node, get: Get) -> Contents | None:
    parts = [get(v) for v in node.inputs]
    if any(p is None for p in parts):
        return None
    known = [p for p in parts if p is not None]
    n = max(map(len, known))
    if any(len(p) not in (1, n) for p in known):
        return None
    c, a, b = ([p[i % len(p)] for i in range(n)] for p in known)
    return [None if t is None else x if t else y for t, x, y in zip(c, a, b, strict=True)]


def constant_of_shape(node: Node, get: Get) -> Contents | None:
    count = get(node.inputs[0])
    value: Any = node.attrs.get("value")
    if count is None or len(count) != 1 or not isinstance(count[0], int) or not 0 <= count[0] <= 64:
        return None
    if value is None or value.dtype.kind not in "iu":
        return None
    return [int(value.reshape(-1)[0])] * count[0]


def range_(node: Node, get: Get) -> Contents | None:
    bounds = [get(v) for v in node.inputs]
    numbers = [b[0] for b in bounds if b is not None and len(b) == 1 and isinstance(b[0], int)]
    if len(numbers) != 3 or numbers[2] == 0:
        return None
    span = range(*numbers)
    return list(span) if len(span) <= 64 else None


def reduce_prod(node: Node, get: Get) -> Contents | None:
    data = get(node.inputs[0])
    if data is None or node.attrs.get("noop_with_empty_axes") or node.inputs[0].rank != 1:  # type: ignore[union-attr]
        return None
    return [math.prod(d for d in data if isinstance(d, int))] if all(isinstance(d, int) for d in data) else None


CONTENTS: dict[str, Callable[[Node, Get], Contents | None]] = {
    "Shape": shape,
    "Size": size,
    "Identity": same,
    "Cast": same,
    "Reshape": same,
    "Squeeze": same,
    "Unsqueeze": same,
    "Flatten": same,
    "Gather": gather,
    "Slice": slice_,
    "Concat": concat,
    "Add": _elementwise(_add),
    "Sub": _elementwise(_sub),
    "Mul": _elementwise(_mul),
    "Div": _elementwise(_div),
    "Equal": _elementwise(_equal),
    "Where": where,
    "ConstantOfShape": constant_of_shape,
    "Range": range_,
    "ReduceProd": reduce_prod,
}
