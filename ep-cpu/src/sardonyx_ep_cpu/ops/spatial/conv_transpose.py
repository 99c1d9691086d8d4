"""ConvTranspose."""

from __future__ import annotations

from math import prod
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import check_size, transpose_windows
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.spatial.col2im import scatter_columns
from sardonyx_ep_cpu.ops.spatial.conv import check_kernel_shape
from sardonyx_ep_cpu.precision import widen, working_dtype
from sardonyx_ep_cpu.tiny_weights import without_tiny

__all__ = ["conv_transpose", "ops"]

ops = KernelSet()


def _prepare(xp: Any, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return None if inputs[1] is None else without_tiny(xp, _matrix(xp, inputs[1], attrs.get("group", 1)))


@ops.add("ConvTranspose", since=1, prepare=_prepare)
def conv_transpose(
    xp,
    x,
    w,
    b=None,
    *,
    auto_pad="NOTSET",
    dilations=None,
    group=1,
    kernel_shape=None,
    output_padding=None,
    output_shape=None,
    pads=None,
    strides=None,
    prepared=None,
):
    """X [N, C, *D] with W [C, M/group, *K] -> [N, M, *out] in X's dtype; float16 and bfloat16 in float32.

    One product per sample gives what each input element adds to its window; the windows are then added up.
    """
    if x.ndim < 3 or w.ndim != x.ndim or group < 1 or x.shape[1] != w.shape[0] or x.shape[1] % group:
        raise NodeError(f"ConvTranspose takes X [N, C, D1, ...] and W [C, M/group, K1, ...], got {x.shape}, {w.shape}, group {group}")
    check_kernel_shape(kernel_shape, w)
    windows = transpose_windows(
        x.shape[2:],
        w.shape[2:],
        strides=strides,
        pads=pads,
        dilations=dilations,
        auto_pad=auto_pad,
        output_padding=output_padding,
        output_shape=output_shape,
    )
    channels = group * w.shape[1]
    check_size((x.shape[0], channels, *windows.out), working_dtype(x.dtype).itemsize)
    y = xp.zeros((x.shape[0], channels, *windows.out), working_dtype(x.dtype))
    if x.size and y.size:
        matrix = _matrix(xp, w, group) if prepared is None else prepared
        flat = xp.ascontiguousarray(widen(x)).reshape(x.shape[0], group, -1, prod(x.shape[2:]))
        for n in range(x.shape[0]):
            columns = xp.matmul(matrix, flat[n])
            scatter_columns(y[n : n + 1], columns.reshape(1, channels, *windows.kernel, *x.shape[2:]), windows)
    if b is not None:
        y += b.reshape(-1, *(1,) * (x.ndim - 2))
    return y.astype(x.dtype, copy=False)


def _matrix(xp: Any, w: Any, group: int) -> Any:
    """W [C, M/group, *K] as [group, M/group * taps, C/group]."""
    return xp.ascontiguousarray(widen(w).reshape(group, w.shape[0] // group, prod(w.shape[1:])).swapaxes(1, 2))
