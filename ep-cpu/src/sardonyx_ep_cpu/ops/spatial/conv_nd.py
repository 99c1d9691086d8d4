"""Convolution of any rank through matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.spatial.conv_plan import ConvPlan, Run, Shifts, plan_conv
from sardonyx_ep_cpu.precision import working_dtype

__all__ = ["ConvWeights", "conv_nd", "prepare_weights"]

Finish = Callable[[Any, tuple[slice, ...]], None]


@dataclass(frozen=True, slots=True)
class ConvWeights:
    """A constant W [M, C/group, *K] as the products take it: `matrix` [group, M/group, C/group * taps] in the dtype computed in."""

    matrix: Any


def prepare_weights(xp: Any, w: Any, group: int) -> ConvWeights:
    """Weights for `conv_nd(prepared=)`."""
    if w.ndim < 3 or group < 1 or w.shape[0] % group:
        raise NodeError(f"W {w.shape} has no M = W.shape[0] that group {group} divides")
    matrix = xp.ascontiguousarray(w, dtype=working_dtype(w.dtype)).reshape(group, w.shape[0] // group, prod(w.shape[1:]))
    return ConvWeights(matrix)


def conv_nd(
    xp: Any,
    x: Any,
    w: Any,
    b: Any = None,
    *,
    strides: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
    group: int = 1,
    prepared: ConvWeights | None = None,
    finish: Finish | None = None,
) -> Any:
    """Convolve X [N, C, *D] with W [M, C/group, *K] and add B [M]; the result [N, M, *out] is a fresh array of X's dtype.

    float16 and bfloat16 are computed in float32. `finish(block, index)` is called on each finished part of the result,
    as [samples, groups, M/group, positions] in the dtype computed in, while it is still in cache; `index` is where the
    part lies in the result reshaped to [N, group, M/group, positions]. It may change the block in place.
    """
    dtype = working_dtype(x.dtype)
    plan = plan_conv(
        x.shape,
        w.shape,
        group,
        tuple(strides) if strides else None,
        tuple(pads) if pads else None,
        tuple(dilations) if dilations else None,
        auto_pad,
        dtype.itemsize,
    )
    matrix = (prepared or prepare_weights(xp, w, group)).matrix
    y = xp.empty(plan.out_shape, dtype)
    if y.size == 0:
        return y.astype(x.dtype, copy=False)
    bias = None if b is None else xp.asarray(b, dtype=dtype).reshape(group, -1, 1)
    result = y.reshape(x.shape[0], group, -1, prod(plan.windows.out))
    x_ = x if x.dtype == dtype else x.astype(dtype)
    if matrix.shape[2] == 0:
        result[...] = 0
        _finish(result, (slice(None),) * 4, bias, finish)
    elif plan.pointwise:
        _pointwise(xp, x_, matrix, bias, result, plan, finish)
    else:
        _by_columns(xp, x_, matrix, bias, result, plan, finish)
    return y if y.dtype == x.dtype else y.astype(x.dtype)


def _finish(block: Any, index: tuple[slice, ...], bias: Any, finish: Finish | None) -> None:
    if bias is not None:
        block += bias[index[1]]
    if finish is not None:
        finish(block, index)


def _pointwise(xp: Any, x: Any, matrix: Any, bias: Any, result: Any, plan: ConvPlan, finish: Finish | None) -> None:
    if plan.strided:
        x = xp.ascontiguousarray(x[(..., *(slice(None, None, s) for s in plan.windows.strides))])
    xp.matmul(matrix, x.reshape(x.shape[0], plan.group, -1, result.shape[3]), out=result)
    _finish(result, (slice(None),) * 4, bias, finish)


def _by_columns(xp: Any, x: Any, matrix: Any, bias: Any, result: Any, plan: ConvPlan, finish: Finish | None) -> None:
    fill = (_strided_columns if plan.shifts is None else _shifted_columns)(xp, x, plan)
    windows, group, rows = plan.windows, plan.group, plan.rows
    width = prod(windows.out[1:])
    channels = x.shape[1] // group
    buffer = xp.empty((plan.batch, plan.groups, channels, prod(windows.kernel), rows * width), x.dtype)
    for n in range(0, x.shape[0], plan.batch):
        for g in range(0, group, plan.groups):
            for r in range(0, windows.out[0], rows):
                index = (
                    slice(n, min(n + plan.batch, x.shape[0])),
                    slice(g, min(g + plan.groups, group)),
                    slice(None),
                    slice(r * width, min(r + rows, windows.out[0]) * width),
                )
                samples, groups, count = index[0].stop - n, index[1].stop - g, index[3].stop - r * width
                part = buffer
                if count < rows * width:
                    part = buffer.reshape(-1)[: samples * groups * channels * prod(windows.kernel) * count]
                    part = part.reshape(samples, groups, channels, prod(windows.kernel), count)
                else:
                    part = buffer[:samples, :groups]
                fill(part, index[0], index[1], r, r + count // width)
                block = result[index]
                xp.matmul(matrix[index[1]], part.reshape(samples, groups, -1, count), out=block)
                _finish(block, index, bias, finish)


def _strided_columns(xp: Any, x: Any, plan: ConvPlan) -> Callable[..., None]:
    """Columns copied from a view of the padded input that repeats elements."""
    windows = plan.windows
    if windows.padded:
        full = tuple(n + low + high for n, low, high in zip(x.shape[2:], windows.begin, windows.end, strict=True))
        padded = xp.zeros((*x.shape[:2], *full), x.dtype)
        padded[(..., *(slice(low, low + n) for n, low in zip(x.shape[2:], windows.begin, strict=True)))] = x
        x = padded
    inner = x.strides[2:]
    view = xp.lib.stride_tricks.as_strided(
        x,
        (x.shape[0], plan.group, x.shape[1] // plan.group, *windows.kernel, *windows.out),
        (
            x.strides[0],
            x.strides[1] * (x.shape[1] // plan.group),
            x.strides[1],
            *(d * s for d, s in zip(windows.dilations, inner, strict=True)),
            *(d * s for d, s in zip(windows.strides, inner, strict=True)),
        ),
    )
    row_axis = (slice(None),) * (1 + len(windows.kernel))

    def fill(part: Any, n: slice, g: slice, first: int, last: int) -> None:
        source = view[(n, g, *row_axis, slice(first, last))]
        part.reshape(source.shape)[...] = source

    return fill


def _shifted_columns(xp: Any, x: Any, plan: ConvPlan) -> Callable[..., None]:
    """Columns copied as long runs from shifted planes; what is outside the input is then set to 0."""
    windows, shifts = plan.windows, plan.shifts
    assert shifts is not None
    width = prod(windows.out[1:])
    length = windows.out[0] * width
    views = [_shifted_view(xp, x, plan, shifts, run, length) for run in shifts.runs]
    first_axis = (slice(None),) * 3

    def fill(part: Any, n: slice, g: slice, first: int, last: int) -> None:
        flat = part.reshape(*part.shape[:3], *windows.kernel, -1)
        for run, view in zip(shifts.runs, views, strict=True):
            flat[(*first_axis, *run.kernel)] = view[n, g, ..., first * width : last * width]
        for t, (low, high) in enumerate(shifts.rows):
            if low > first:
                flat[(*first_axis, t, ..., slice(0, (low - first) * width))] = 0
            if high < last:
                flat[(*first_axis, t, ..., slice(max(0, high - first) * width, None))] = 0
        if shifts.edges:
            shaped = flat.reshape(*flat.shape[:-1], last - first, *windows.out[1:])
            for edge in shifts.edges:
                shaped[edge] = 0

    return fill


def _shifted_view(xp: Any, x: Any, plan: ConvPlan, shifts: Shifts, run: Run, length: int) -> Any:
    """The view [N, group, C / group, *run.shape, length] of the plane that the run reads, with room before and after it."""
    windows = plan.windows
    source = x[(..., *(slice(p, None, s) for p, s in zip(run.phase, windows.strides, strict=True)))]
    source = source[(..., *(slice(n) for n in windows.out[1:]))] if x.ndim > 3 else source
    shape = (*source.shape[:3], *windows.out[1:])
    buffer = xp.empty(shifts.before + prod(shape) + shifts.after, x.dtype)
    plane = buffer[shifts.before : shifts.before + prod(shape)].reshape(shape)
    plane[(..., *(slice(n) for n in source.shape[3:]))] = source
    channels, pitch, item = x.shape[1] // plan.group, prod(shape[2:]) * x.itemsize, x.itemsize
    return xp.lib.stride_tricks.as_strided(
        buffer[shifts.before + run.shift :],
        (x.shape[0], plan.group, channels, *run.shape, length),
        (x.shape[1] * pitch, channels * pitch, pitch, *(step * item for step in run.steps), item),
    )
