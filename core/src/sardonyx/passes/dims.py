"""Arithmetic on dims that may be symbols: broadcasting, reshaping, matrix products."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from sardonyx.ir.types import Dim, Shape

__all__ = ["broadcast_dims", "matmul_dims", "reshape_dims", "reshape_target"]

MAX_SYMBOL = 64


def broadcast_dims(*shapes: Shape) -> Shape:
    """The broadcast shape; a dim nobody can tell is None."""
    if any(s is None for s in shapes):
        return None
    known = [s for s in shapes if s is not None]
    rank = max(map(len, known))
    result: list[Dim] = [1] * rank
    for shape in known:
        for i, dim in enumerate(shape, rank - len(shape)):
            result[i] = _broadcast(result[i], dim)
    return tuple(result)


def _broadcast(a: Dim, b: Dim) -> Dim:
    if a == 1 or a == b:
        return b
    if b == 1:
        return a
    if isinstance(a, int):
        return a
    return b if isinstance(b, int) else None


def matmul_dims(a: Shape, b: Shape) -> Shape:
    """The shape of a matrix product of two tensors of rank 2 or more; None for other ranks."""
    if a is None or b is None or len(a) < 2 or len(b) < 2:
        return None
    batch = broadcast_dims(a[:-2], b[:-2])
    return None if batch is None else (*batch, a[-2], b[-1])


def reshape_dims(shape: Shape, target: Sequence[Dim], allowzero: int) -> tuple[Dim, ...]:
    """The shape that Reshape's target of numbers, symbols and unknowns (None) gives for a tensor of `shape`."""
    result: list[Dim] = list(target)
    for i, t in enumerate(target):
        if t == 0 and not allowzero:
            result[i] = shape[i] if shape is not None and i < len(shape) else None
    # A target that is no number might be -1 at run time only if no other is; symbols are dims, so they are not.
    open_places = [i for i, t in enumerate(target) if t == -1 or t is None]
    if -1 in target and target.count(-1) == 1:
        result[target.index(-1)] = None
    if len(open_places) == 1:
        rest = [d for i, d in enumerate(result) if i != open_places[0]]
        result[open_places[0]] = _quotient(shape, rest)
    return tuple(result)


def _quotient(shape: Shape, rest: Sequence[Dim]) -> Dim:
    """product(shape) / product(rest): a number, a symbol, or a new symbol that spells the quotient; None if a dim is unknown or
    the number exceeds int64."""
    if shape is None or None in shape or None in rest:
        return None
    above, below = Counter(d for d in shape if isinstance(d, str)), Counter(d for d in rest if isinstance(d, str))
    number = math.prod(d for d in shape if isinstance(d, int))
    divisor = math.prod(d for d in rest if isinstance(d, int))
    if divisor == 0:
        return None
    shared = math.gcd(number, divisor)
    top, bottom = sorted((above - below).elements()), sorted((below - above).elements())
    number, divisor = number // shared, divisor // shared
    if not bottom and divisor == 1:
        if not top:
            return number if number < 1 << 63 else None
        if len(top) == 1 and number == 1:
            return top[0]
    spelled = "*".join([str(number), *top]) + "/" + "*".join([str(divisor), *bottom])
    return spelled if len(spelled) <= MAX_SYMBOL else None


def reshape_target(shape: Shape, result: Shape) -> list[int] | None:
    """Constant target (for allowzero=0) of a Reshape from `shape` to `result`, or None if numbers, 0 and one -1 do not say it."""
    if result is None:
        return None
    target: list[int] = []
    for i, d in enumerate(result):
        copies = shape is not None and i < len(shape) and d is not None and shape[i] == d
        if isinstance(d, int) and (d != 0 or copies):
            target.append(d)
        elif isinstance(d, int):
            return None
        else:
            target.append(0 if copies else -1)
    if target.count(-1) > 1 or (-1 in target and any(d == 0 for d in result)):
        return None
    return target
