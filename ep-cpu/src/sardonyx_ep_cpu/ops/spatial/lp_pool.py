"""LpPool and GlobalLpPool."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import pool_windows
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.spatial.pool_nd import check_rank, combine_windows
from sardonyx_ep_cpu.precision import widen

__all__ = ["global_lp_pool", "lp_pool", "ops"]

ops = KernelSet()


@ops.add("LpPool", since=1)
def lp_pool_1(xp, x, *, auto_pad="NOTSET", kernel_shape=None, p=2.0, pads=None, strides=None):
    """X [N, C, *D] -> [N, C, *out] with a real exponent."""
    if kernel_shape is None:
        raise NodeError("LpPool needs kernel_shape")
    return lp_pool(xp, x, auto_pad=auto_pad, kernel_shape=kernel_shape, p=p, pads=pads, strides=strides)


@ops.add("LpPool", since=2)
def lp_pool_2(xp, x, *, auto_pad="NOTSET", kernel_shape, p=2, pads=None, strides=None):
    """X [N, C, *D] -> [N, C, *out]."""
    return lp_pool(xp, x, auto_pad=auto_pad, kernel_shape=kernel_shape, p=p, pads=pads, strides=strides)


@ops.add("LpPool", since=18)
def lp_pool(xp, x, *, auto_pad="NOTSET", ceil_mode=0, dilations=None, kernel_shape, p=2, pads=None, strides=None):
    """The p-norm of every window of X [N, C, *D] -> [N, C, *out]; float16 and bfloat16 in float32."""
    check_rank(x)
    windows = pool_windows(
        x.shape[2:], kernel_shape, strides=strides, pads=pads, dilations=dilations, auto_pad=auto_pad, ceil_mode=ceil_mode
    )
    y = combine_windows(xp, _power(xp, widen(x), p), windows, xp.add, 0)
    return _root(xp, y, p).astype(x.dtype, copy=False)


@ops.add("GlobalLpPool", since=1)
def global_lp_pool_1(xp, x, *, p=2.0):
    """X [N, C, *D] -> [N, C, 1, ...] with a real exponent."""
    return global_lp_pool(xp, x, p=p)


@ops.add("GlobalLpPool", since=2)
def global_lp_pool(xp, x, *, p=2):
    """The p-norm over all spatial axes of X [N, C, *D] -> [N, C, 1, ...]."""
    check_rank(x)
    y = _power(xp, widen(x), p).sum(axis=tuple(range(2, x.ndim)), keepdims=True)
    return _root(xp, y, p).astype(x.dtype, copy=False)


def _power(xp: Any, x: Any, p: float) -> Any:
    """A fresh array of |x| ** p."""
    if p <= 0:
        raise NodeError(f"the p of a p-norm must be positive, got {p}")
    if p == 2:
        return xp.square(x)
    return xp.abs(x) if p == 1 else xp.abs(x) ** x.dtype.type(p)


def _root(xp: Any, y: Any, p: float) -> Any:
    if p == 2:
        return xp.sqrt(y, out=y)
    return y if p == 1 else xp.power(y, y.dtype.type(1 / p), out=y)
