"""Axis numbers as ONNX writes them: negative ones count from the back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sardonyx.errors import NodeError

__all__ = ["normalize_axes", "normalize_axis", "reduction_axes"]


def normalize_axis(axis: int, rank: int) -> int:
    """`axis` in [0, rank); NodeError if it lies outside [-rank, rank - 1]."""
    if 0 <= axis < rank:
        return axis
    if -rank <= axis < 0:
        return axis + rank
    allowed = f"[{-rank}, {rank - 1}]" if rank else "an empty range"
    raise NodeError(f"axis {axis} is outside {allowed} for a tensor of rank {rank}")


def normalize_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """All `axes` in [0, rank), in the order given; NodeError if one is out of range or named twice."""
    result = tuple([normalize_axis(axis, rank) for axis in axes])
    if len(result) > 1 and len(set(result)) != len(result):
        raise NodeError(f"axes {list(axes)} name an axis twice for a tensor of rank {rank}")
    return result


def reduction_axes(axes: Any, rank: int, noop_with_empty_axes: int = 0) -> tuple[int, ...] | None:
    """The axes a Reduce operator works on: None for all of them, () for none, else a tuple in [0, rank).

    `axes` is None, a list of ints or an integer array. A tensor of rank 0 is its own reduction over any axis.
    """
    if rank == 0:
        return None
    given = axes if axes is None or isinstance(axes, list) else axes.ravel().tolist()
    if not given:
        return () if noop_with_empty_axes else None
    return normalize_axes(given, rank)
