"""Pad widths of the Pad operator."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx.ep.shapes.axes import normalize_axes
from sardonyx.errors import NodeError

__all__ = ["pad_widths"]


def pad_widths(pads: Sequence[int], rank: int, axes: Sequence[int] | None = None) -> list[tuple[int, int]]:
    """(before, after) for each of `rank` dims from ONNX's [x1_begin, x2_begin, ..., x1_end, x2_end, ...] for `axes`.

    Widths may be negative (they crop). NodeError if `pads` does not have two values per axis.
    """
    named = range(rank) if axes is None else normalize_axes(axes, rank)
    count = len(named)
    if len(pads) != 2 * count:
        raise NodeError(f"pads has {len(pads)} values, but {count} axes of a tensor of rank {rank} need {2 * count}")
    widths = [(0, 0)] * rank
    for i, axis in enumerate(named):
        widths[axis] = (pads[i], pads[i + count])
    return widths
