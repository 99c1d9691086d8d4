"""The column matrix of a convolution: for every output position the input elements under the kernel."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from sardonyx_ep_cpu.ops.spatial.conv_plan import ConvPlan, Run, Shifts

__all__ = ["column_filler"]

Fill = Callable[[Any, slice, slice, int, int], None]


def column_filler(xp: Any, x: Any, plan: ConvPlan) -> Fill:
    """A function fill(part, n, g, first, last) that writes the columns of some samples, groups and rows of X [N, C, *D].

    `part` is [samples, groups, C / group, taps, positions], contiguous; rows count along the first output axis.
    """
    return _strided_columns(xp, x, plan) if plan.shifts is None else _shifted_columns(xp, x, plan, plan.shifts)


def _strided_columns(xp: Any, x: Any, plan: ConvPlan) -> Fill:
    """Columns copied from a view of the padded input that repeats elements."""
    windows, channels = plan.windows, x.shape[1] // plan.group
    if windows.padded:
        full = tuple(n + low + high for n, low, high in zip(x.shape[2:], windows.begin, windows.end, strict=True))
        padded = xp.zeros((*x.shape[:2], *full), x.dtype)
        padded[(..., *(slice(low, low + n) for n, low in zip(x.shape[2:], windows.begin, strict=True)))] = x
        x = padded
    outer, inner = x.strides[:2], x.strides[2:]
    taps = tuple(d * s for d, s in zip(windows.dilations, inner, strict=True))
    steps = tuple(d * s for d, s in zip(windows.strides, inner, strict=True))
    view = xp.lib.stride_tricks.as_strided(
        x,
        (x.shape[0], plan.group, channels, *windows.kernel, *windows.out),
        (outer[0], outer[1] * channels, outer[1], *taps, *steps),
    )
    row_axis = (slice(None),) * (1 + len(windows.kernel))

    def fill(part: Any, n: slice, g: slice, first: int, last: int) -> None:
        source = view[(n, g, *row_axis, slice(first, last))]
        part.reshape(source.shape)[...] = source

    return fill


def _shifted_columns(xp: Any, x: Any, plan: ConvPlan, shifts: Shifts) -> Fill:
    """Columns copied as long runs from shifted planes; what is outside the input is then set to 0."""
    windows = plan.windows
    width = prod(windows.out[1:])
    views = [_shifted_view(xp, x, plan, shifts, run, windows.out[0] * width) for run in shifts.runs]
    every = (slice(None),) * 3

    def fill(part: Any, n: slice, g: slice, first: int, last: int) -> None:
        flat = part.reshape(*part.shape[:3], *windows.kernel, -1)
        for run, view in zip(shifts.runs, views, strict=True):
            if shifts.by_rows:
                for i, t in enumerate(range(windows.kernel[0])[run.kernel[0]]):
                    low, high = max(first, shifts.rows[t][0]), min(last, shifts.rows[t][1])
                    if low < high:
                        target = flat[(*every, t, *run.kernel[1:], slice((low - first) * width, (high - first) * width))]
                        target[...] = view[n, g, :, i, ..., low * width : high * width]
            else:
                flat[(*every, *run.kernel)] = view[n, g, ..., first * width : last * width]
        for t, (low, high) in enumerate(shifts.rows):
            if low > first:
                flat[(*every, t, ..., slice(0, (low - first) * width))] = 0
            if high < last:
                flat[(*every, t, ..., slice(max(0, high - first) * width, None))] = 0
        if shifts.edges:
            shaped = flat.reshape(*flat.shape[:-1], last - first, *windows.out[1:])
            for edge in shifts.edges:
                shaped[edge] = 0

    return fill


def _shifted_view(xp: Any, x: Any, plan: ConvPlan, shifts: Shifts, run: Run, length: int) -> Any:
    """The view [N, group, C / group, *run.shape, length] of the plane that the run reads, with room before and after it."""
    windows, channels = plan.windows, x.shape[1] // plan.group
    source = x
    if plan.strided:
        source = x[(..., *(slice(p, None, s) for p, s in zip(run.phase, windows.strides, strict=True)))]
        source = source[(..., slice(None), *(slice(n) for n in windows.out[1:]))]
    shape = (*source.shape[:3], *windows.out[1:])
    buffer = xp.empty(shifts.before + prod(shape) + shifts.after, x.dtype)
    plane = buffer[shifts.before : shifts.before + prod(shape)].reshape(shape)
    plane[(..., *(slice(n) for n in source.shape[3:]))] = source
    item = x.itemsize
    pitch = prod(shape[2:]) * item
    view = (x.shape[0], plan.group, channels, *run.shape, length)
    strides = (x.shape[1] * pitch, channels * pitch, pitch, *(step * item for step in run.steps), item)
    start = shifts.before + run.shift
    if xp is np:
        # The constructor is several times faster than as_strided, which counts for small convolutions.
        return np.ndarray(view, x.dtype, buffer, start * item, strides)
    return xp.lib.stride_tricks.as_strided(buffer[start:], view, strides)
