"""The table of plain inference, and what its functions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.types import Dim, Shape

__all__ = [
    "ANY",
    "ITSELF",
    "NONE",
    "Plain",
    "Unusual",
    "axes_of",
    "broadcast",
    "given",
    "ints",
    "register",
    "shape",
]

ANY, NONE, ITSELF = -1, -2, -3


@dataclass(frozen=True, slots=True)
class Rule:
    """How the outputs of an operator are inferred from version `since` on: their shapes where the ranks of all inputs are
    known, or None to ask onnx, and their dtype. Nothing but the dtype is known where the rank of the input `without_rank` is
    not: one's index, ANY, NONE (onnx is asked then), or ITSELF (`shapes` copes)."""

    since: int
    shapes: Callable[[Node], list[Shape] | None]
    dtype: Callable[[Node], np.dtype | None]
    without_rank: int


Plain = dict[str, Rule]


class Unusual(Exception):
    """Raised where a node is not of the form that a function is for."""


def as_first(node: Node) -> np.dtype | None:
    """The dtype of the first input."""
    return given(node, 0).dtype


def register(
    types: Plain, *ops: str, since: int = 1, dtype: Callable[[Node], np.dtype | None] = as_first, without_rank: int = 0
) -> Callable[[Callable[[Node], list[Shape] | None]], Callable[[Node], list[Shape] | None]]:
    """Register the decorated function as the `shapes` of a Rule for operators."""

    def decorate(function: Callable[[Node], list[Shape] | None]) -> Callable[[Node], list[Shape] | None]:
        types.update((op, Rule(since, function, dtype, without_rank)) for op in ops)
        return function

    return decorate


def given(node: Node, index: int) -> Value:
    """An input that has to be there."""
    v = node.inputs[index]
    if v is None:
        raise Unusual
    return v


def shape(node: Node, index: int = 0, rank: int = 0) -> tuple[Dim, ...]:
    """The shape of an input that has to be there, of at least `rank` dims."""
    found = given(node, index).shape
    if found is None or len(found) < rank:
        raise Unusual
    return found


def ints(node: Node, index: int, attribute: str | None = None) -> list[int] | None:
    """The numbers of a constant input, or of the attribute it was in older versions; None where it is absent."""
    v = node.input(index)
    if v is None:
        found = node.attrs.get(attribute) if attribute is not None else None
        return None if found is None else list(found)
    if v.const is None or len(v.const.shape) > 1 or v.const.dtype.kind != "i":
        raise Unusual
    values: Any = v.const.numpy().reshape(-1).tolist()
    return values


def axes_of(values: Sequence[int], rank: int) -> list[int]:
    """Axes counted from the front; each may be named once."""
    axes = [a + rank if a < 0 else a for a in values]
    if len(set(axes)) != len(axes) or any(not 0 <= a < rank for a in axes):
        raise Unusual
    return axes


def broadcast(shapes: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """The broadcast shape: a number above 1 wins, one symbol stays, different symbols leave a dim open."""
    first = shapes[0]
    if shapes.count(first) == len(shapes) and None not in first:
        return first
    rank = max(map(len, shapes))
    result: list[Dim] = []
    for dims in zip(*((1,) * (rank - len(s)) + s for s in shapes), strict=True):
        several = {d for d in dims if d != 1}
        numbers = [d for d in several if isinstance(d, int)]
        if len(numbers) > 1:
            raise Unusual
        result.append(numbers[0] if numbers else 1 if not several else several.pop() if len(several) == 1 else None)
    return tuple(result)
