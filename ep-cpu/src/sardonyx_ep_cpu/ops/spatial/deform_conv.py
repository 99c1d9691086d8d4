"""DeformConv."""

from __future__ import annotations

from math import prod
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import Windows, conv_windows
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.spatial.conv import check_kernel_shape
from sardonyx_ep_cpu.ops.spatial.sampling import linear_taps, sample
from sardonyx_ep_cpu.precision import widen

__all__ = ["deform_conv", "ops"]

ops = KernelSet()


@ops.add("DeformConv", since=19)
def deform_conv(
    xp, x, w, offset, b=None, mask=None, *, dilations=None, group=1, kernel_shape=None, offset_group=1, pads=None, strides=None
):
    """X [N, C, *D] convolved with W [M, C/group, *K], each tap of each window moved by `offset` and scaled by `mask`.

    offset is [N, offset_group * taps * r, *out] with the axis innermost of the three, mask [N, offset_group * taps, *out].
    Between elements the input is interpolated linearly, outside it is 0. Computed in float32 or, for float64, float64.
    """
    rank = x.ndim - 2
    if rank < 1 or w.ndim != x.ndim or group < 1 or w.shape[0] % group or x.shape[1] != w.shape[1] * group:
        raise NodeError(f"DeformConv takes X [N, C, D1, ...] and W [M, C/group, K1, ...], got {x.shape}, {w.shape}, group {group}")
    check_kernel_shape(kernel_shape, w)
    windows = conv_windows(x.shape[2:], w.shape[2:], strides=strides, pads=pads, dilations=dilations)
    taps, out = prod(windows.kernel), windows.out
    _check(x, "offset", offset, (x.shape[0], offset_group * taps * rank, *out), offset_group)
    if mask is not None:
        _check(x, "mask", mask, (x.shape[0], offset_group * taps, *out), offset_group)
    source = widen(x)
    matrix = widen(w).reshape(group, w.shape[0] // group, -1)
    y = xp.empty((x.shape[0], group, w.shape[0] // group, prod(out)), source.dtype)
    base = _tap_positions(xp, windows, source.dtype)
    per_group = x.shape[1] // offset_group
    columns = xp.empty((x.shape[1], taps * prod(out)), source.dtype)
    for n in range(x.shape[0] if y.size else 0):
        moved = widen(offset[n]).reshape(offset_group, taps, rank, prod(out))
        for g in range(offset_group):
            axes = [linear_taps(xp, (base[a] + moved[g, :, a]).reshape(-1)) for a in range(rank)]
            part = columns[g * per_group : (g + 1) * per_group]
            part[...] = sample(xp, source[n, g * per_group : (g + 1) * per_group], axes)
            if mask is not None:
                part *= widen(mask[n]).reshape(offset_group, -1)[g]
        xp.matmul(matrix, columns.reshape(group, -1, prod(out)), out=y[n])
    y = y.reshape(x.shape[0], w.shape[0], *out)
    if b is not None:
        y += b.reshape(-1, *(1,) * rank)
    return y.astype(x.dtype, copy=False)


def _check(x: Any, name: str, value: Any, wanted: tuple[int, ...], offset_group: int) -> None:
    if offset_group < 1 or x.shape[1] % offset_group or value.shape != wanted:
        raise NodeError(f"{name} of DeformConv must be {wanted} for X {x.shape} and offset_group {offset_group}, got {value.shape}")


def _tap_positions(xp: Any, windows: Windows, dtype: Any) -> list[Any]:
    """For each axis where every tap of every window lies without offsets, [taps, positions]."""
    rank = len(windows.out)
    result = []
    for a in range(rank):
        taps = xp.arange(windows.kernel[a], dtype=dtype) * windows.dilations[a] - windows.begin[a]
        starts = xp.arange(windows.out[a], dtype=dtype) * windows.strides[a]
        shaped = taps.reshape((-1,) + (1,) * (rank - 1 - a) + (1,) * rank) + starts.reshape((-1,) + (1,) * (rank - 1 - a))
        result.append(xp.broadcast_to(shaped, (*windows.kernel, *windows.out)).reshape(prod(windows.kernel), prod(windows.out)))
    return result
