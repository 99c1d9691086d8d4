"""Convolution of any rank through matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.spatial.columns import column_filler
from sardonyx_ep_cpu.ops.spatial.conv_plan import ConvPlan, plan_conv
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
        x = x[(..., *(slice(None, None, s) for s in plan.windows.strides))]
    xp.matmul(matrix, xp.ascontiguousarray(x).reshape(x.shape[0], plan.group, -1, result.shape[3]), out=result)
    _finish(result, (slice(None),) * 4, bias, finish)


def _by_columns(xp: Any, x: Any, matrix: Any, bias: Any, result: Any, plan: ConvPlan, finish: Finish | None) -> None:
    fill = column_filler(xp, x, plan)
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
