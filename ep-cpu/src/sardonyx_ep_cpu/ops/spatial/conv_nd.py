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
from sardonyx_ep_cpu.tiny_weights import without_tiny

__all__ = ["ConvWeights", "conv_nd", "pack_weights", "prepare_weights"]

Finish = Callable[[Any, tuple[slice, ...]], None]


@dataclass(frozen=True, slots=True)
class ConvWeights:
    """W [M, C/group, *K] as the products take it: `matrix` [group, M/group, C/group * taps] in the dtype computed in.

    Where most filters are repetitions, the matrix has each once, and row `places[m]` of it is the m-th filter. Channels of
    equal filters are then equal to the last bit, which a product does not promise: it may sum each tile in another order.
    """

    matrix: Any
    places: Any = None


def prepare_weights(xp: Any, w: Any, group: int) -> ConvWeights:
    """Constant weights for `conv_nd(prepared=)`, looked through once for numbers that are slow and cannot be seen."""
    return pack_weights(xp, without_tiny(xp, xp.ascontiguousarray(w, dtype=working_dtype(w.dtype))), group)


def pack_weights(xp: Any, w: Any, group: int) -> ConvWeights:
    """Weights for `conv_nd(prepared=)`, number by number as they are. Raises NodeError if `group` does not divide them."""
    if w.ndim < 3 or group < 1 or w.shape[0] % group:
        raise NodeError(f"W {w.shape} has no M = W.shape[0] that group {group} divides")
    w = xp.ascontiguousarray(w, dtype=working_dtype(w.dtype))
    matrix = w.reshape(group, w.shape[0] // group, prod(w.shape[1:]))
    if group == 1 and matrix.size and 2 * len(xp.unique(matrix[0, :, 0])) <= len(w):
        distinct: dict[bytes, int] = {}
        places = [distinct.setdefault(row.tobytes(), len(distinct)) for row in matrix[0]]
        if 2 * len(distinct) <= len(w):
            first = [places.index(row) for row in range(len(distinct))]
            return ConvWeights(matrix[:, first], xp.asarray(places))
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
    weights = prepared or pack_weights(xp, w, group)
    y = xp.empty(plan.out_shape, dtype)
    if y.size == 0:
        return y.astype(x.dtype, copy=False)
    bias = None if b is None else xp.asarray(b, dtype=dtype).reshape(group, -1, 1)
    result = y.reshape(x.shape[0], group, -1, prod(plan.windows.out))
    x_ = x if x.dtype == dtype else x.astype(dtype)
    if weights.matrix.shape[2] == 0:
        result[...] = 0
        _finish(result, (slice(None),) * 4, bias, finish)
    elif plan.pointwise:
        _pointwise(xp, x_, weights, bias, result, plan, finish)
    else:
        _by_columns(xp, x_, weights, bias, result, plan, finish)
    return y if y.dtype == x.dtype else y.astype(x.dtype)


def _finish(block: Any, index: tuple[slice, ...], bias: Any, finish: Finish | None) -> None:
    if bias is not None:
        block += bias[index[1]]
    if finish is not None:
        finish(block, index)


def _multiply(xp: Any, weights: ConvWeights, groups: slice, columns: Any, out: Any) -> None:
    if weights.places is None:
        xp.matmul(weights.matrix[groups], columns, out=out)
    else:
        out[...] = xp.matmul(weights.matrix, columns)[:, :, weights.places]


def _pointwise(xp: Any, x: Any, weights: ConvWeights, bias: Any, result: Any, plan: ConvPlan, finish: Finish | None) -> None:
    if plan.strided:
        x = x[(..., *(slice(None, None, s) for s in plan.windows.strides))]
    _multiply(xp, weights, slice(None), xp.ascontiguousarray(x).reshape(x.shape[0], plan.group, -1, result.shape[3]), result)
    _finish(result, (slice(None),) * 4, bias, finish)


def _by_columns(xp: Any, x: Any, weights: ConvWeights, bias: Any, result: Any, plan: ConvPlan, finish: Finish | None) -> None:
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
                _multiply(xp, weights, index[1], part.reshape(samples, groups, -1, count), block)
                _finish(block, index, bias, finish)
