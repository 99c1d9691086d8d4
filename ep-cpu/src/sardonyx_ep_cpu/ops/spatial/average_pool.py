"""AveragePool in all its versions."""

from __future__ import annotations

from math import prod
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import Windows, pool_windows, window_counts
from sardonyx_ep_cpu.ops.spatial.pool_nd import check_rank, combine_windows, require_elements, spatial_sums
from sardonyx_ep_cpu.precision import widen

__all__ = ["average_pool", "average_windows", "ops"]

ops = KernelSet()


@ops.add("AveragePool", since=1)
def average_pool_1(xp, x, *, auto_pad="NOTSET", kernel_shape, pads=None, strides=None):
    """X [N, C, *D] -> [N, C, *out]; padding is not counted."""
    return average_pool(xp, x, auto_pad=auto_pad, kernel_shape=kernel_shape, pads=pads, strides=strides)


@ops.add("AveragePool", since=7)
def average_pool_7(xp, x, *, auto_pad="NOTSET", count_include_pad=0, kernel_shape, pads=None, strides=None):
    """X [N, C, *D] -> [N, C, *out]."""
    return average_pool(
        xp, x, auto_pad=auto_pad, count_include_pad=count_include_pad, kernel_shape=kernel_shape, pads=pads, strides=strides
    )


@ops.add("AveragePool", since=10)
def average_pool_10(xp, x, *, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0, kernel_shape, pads=None, strides=None):
    """X [N, C, *D] -> [N, C, *out]."""
    return average_pool(
        xp,
        x,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )


@ops.add("AveragePool", since=19)
def average_pool(
    xp,
    x,
    *,
    auto_pad="NOTSET",
    ceil_mode=0,
    count_include_pad=0,
    dilations=None,
    kernel_shape,
    pads=None,
    strides=None,
):
    """X [N, C, *D] -> [N, C, *out]; float16 and bfloat16 are summed in float32.

    With `count_include_pad` the padding counts as zeros; what a window of `ceil_mode` reaches beyond it never counts.
    """
    check_rank(x)
    windows = pool_windows(
        x.shape[2:], kernel_shape, strides=strides, pads=pads, dilations=dilations, auto_pad=auto_pad, ceil_mode=ceil_mode
    )
    return average_windows(xp, widen(x), windows, count_include_pad).astype(x.dtype, copy=False)


def average_windows(xp: Any, x: Any, windows: Windows, count_include_pad: int) -> Any:
    """Averages of the windows of a float X [N, C, *D] -> [N, C, *out]."""
    size = x.shape[2:]
    if windows.padded and not count_include_pad:
        require_elements(windows, size)
    if prod(windows.out) == 1 and all(k - low >= n for k, low, n in zip(windows.extent, windows.begin, size, strict=True)):
        y = spatial_sums(xp, x)
    else:
        y = combine_windows(xp, x, windows, xp.add, 0)
        if y is x:
            return x
    factor = 1
    for a, counts in enumerate(window_counts(windows, size, bool(count_include_pad))):
        if counts.size and (counts == counts[0]).all():
            factor = factor * int(counts[0])
        else:
            factor = factor * xp.asarray(counts, dtype=y.dtype).reshape((-1,) + (1,) * (len(size) - 1 - a))
    y /= factor
    return y
