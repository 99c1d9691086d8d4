"""MaxPool in all its versions."""

from __future__ import annotations

from math import prod
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import Windows, pool_windows
from sardonyx_ep_cpu.ops.spatial.pool_nd import argmax_windows, check_rank, combine_windows, lowest, require_elements
from sardonyx_ep_cpu.precision import widen

__all__ = ["max_pool", "ops"]

ops = KernelSet()


@ops.add("MaxPool", since=1)
def max_pool_1(xp, x, *, auto_pad="NOTSET", kernel_shape, pads=None, strides=None):
    """X [N, C, *D] -> [N, C, *out]; one output, no dilation."""
    check_rank(x)
    return _values(xp, x, pool_windows(x.shape[2:], kernel_shape, strides=strides, pads=pads, auto_pad=auto_pad))


@ops.add("MaxPool", since=8)
def max_pool_8(xp, x, *, auto_pad="NOTSET", kernel_shape, pads=None, storage_order=0, strides=None, n_outputs=1):
    """X [N, C, *D] -> (Y, Indices int64), both [N, C, *out]."""
    return max_pool(
        xp,
        x,
        auto_pad=auto_pad,
        kernel_shape=kernel_shape,
        pads=pads,
        storage_order=storage_order,
        strides=strides,
        n_outputs=n_outputs,
    )


@ops.add("MaxPool", since=10)
def max_pool(
    xp,
    x,
    *,
    auto_pad="NOTSET",
    ceil_mode=0,
    dilations=None,
    kernel_shape,
    pads=None,
    storage_order=0,
    strides=None,
    n_outputs=1,
):
    """X [N, C, *D] -> (Y, Indices int64), both [N, C, *out].

    NaN propagates. Indices are flat positions in X, spatial axes counted in column-major order with `storage_order` 1;
    of equal maxima the first in row-major order is meant.
    """
    check_rank(x)
    windows = pool_windows(
        x.shape[2:], kernel_shape, strides=strides, pads=pads, dilations=dilations, auto_pad=auto_pad, ceil_mode=ceil_mode
    )
    if n_outputs < 2:
        return (_values(xp, x, windows),)
    require_elements(windows, x.shape[2:])
    y, where = argmax_windows(xp, widen(x), windows)
    size = x.shape[2:]
    indices = xp.arange(prod(x.shape[:2])).reshape(*x.shape[:2], *(1,) * len(size)) * prod(size)
    for a, coordinate in enumerate(where):
        indices = indices + coordinate * (prod(size[:a]) if storage_order else prod(size[a + 1 :]))
    return y.astype(x.dtype, copy=False), indices


def _values(xp: Any, x: Any, windows: Windows) -> Any:
    if windows.padded:
        require_elements(windows, x.shape[2:])
    y = combine_windows(xp, widen(x), windows, xp.maximum, lowest(xp, widen(x[:0]).dtype))
    return y.astype(x.dtype, copy=False)
