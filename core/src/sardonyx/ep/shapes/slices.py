"""Slices by ONNX's rules: any integer is a legal start or end, and is clamped to the dim."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx.ep.shapes.axes import normalize_axis
from sardonyx.errors import NodeError

__all__ = ["clamp_slice", "slice_index"]

_ALL = slice(None)


def clamp_slice(start: int, end: int, step: int, dim: int) -> tuple[int, int, int]:
    """(first index, step, number of elements) of one sliced axis (Slice-10 and later); NodeError if step is 0."""
    if step == 0:
        raise NodeError("a slice step is 0; it must be a positive or negative integer")
    if start < 0:
        start += dim
    if end < 0:
        end += dim
    if step > 0:
        start, end = min(max(start, 0), dim), min(max(end, 0), dim)
        count = -(-(end - start) // step)
    else:
        start, end = min(max(start, 0), dim - 1), min(max(end, -1), dim - 1)
        count = -((end - start) // -step)
    return start, step, max(count, 0)


def slice_index(
    shape: tuple[int, ...],
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
) -> tuple[slice, ...]:
    """The slices, one per dim of `shape`, that an ONNX Slice with these values stands for.

    NodeError if the lists' lengths differ, an axis is out of range or named twice, or a step is 0.
    """
    rank = len(shape)
    index = [_ALL] * rank
    if axes is None:
        axes = range(len(starts))
    if not len(starts) == len(ends) == len(axes) or (steps is not None and len(steps) != len(starts)):
        lengths = [len(starts), len(ends), len(axes), len(starts) if steps is None else len(steps)]
        raise NodeError(f"starts, ends, axes and steps must have one length, not {lengths}")
    for i, axis in enumerate(axes):
        if not 0 <= axis < rank:
            axis = normalize_axis(axis, rank)
        if index[axis] is not _ALL:
            raise NodeError(f"axes {list(axes)} name axis {axis} twice")
        step = 1 if steps is None else steps[i]
        if step > 0:
            # Python clamps a forward slice just as ONNX does.
            index[axis] = slice(starts[i], ends[i], step)
        else:
            first, step, count = clamp_slice(starts[i], ends[i], step, shape[axis])
            stop = first + step * count
            index[axis] = slice(first, None if stop < 0 else stop, step) if count else slice(0, 0)
    return tuple(index)
