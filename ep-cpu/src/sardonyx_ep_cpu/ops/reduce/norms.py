"""ReduceSumSquare, ReduceL1, ReduceL2, ReduceLogSum, ReduceLogSumExp.

With `noop_with_empty_axes` only the summing is left out: the square, absolute value, logarithm, ... still apply.
16-bit floats are computed in float32. Integers are summed in their own dtype (ReduceSumSquare, ReduceL1) or in float64
and rounded toward zero; what then lies outside the dtype becomes what Cast makes of it.
"""

from __future__ import annotations

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.ep.shape_kernels.cast import convert
from sardonyx.ep.shape_kernels.reduce import total
from sardonyx.ep.shapes import reduction_axes
from sardonyx_ep_cpu.precision import widen

__all__ = ["ops"]

ops = KernelSet()


def _widest(xp, x):
    """`x` in float32, or float64 if it is an integer or float64 tensor."""
    return x.astype(np.float64) if x.dtype.kind in "iu" else widen(x)


def _narrow(xp, result, dtype):
    return convert(xp, result, dtype) if dtype.kind in "iu" else result.astype(dtype, copy=False)


def _sum_square(xp, data, axes, keepdims):
    wide = widen(data)
    return _narrow(xp, total(xp, xp.add, wide * wide, axes, keepdims), data.dtype)


def _l1(xp, data, axes, keepdims):
    magnitude = data if data.dtype.kind == "u" else xp.abs(widen(data))
    return _narrow(xp, total(xp, xp.add, magnitude, axes, keepdims), data.dtype)


def _l2(xp, data, axes, keepdims):
    wide = _widest(xp, data)
    return _narrow(xp, xp.sqrt(total(xp, xp.add, wide * wide, axes, keepdims)), data.dtype)


def _log_sum(xp, data, axes, keepdims):
    with np.errstate(divide="ignore", invalid="ignore"):
        return _narrow(xp, xp.log(total(xp, xp.add, _widest(xp, data), axes, keepdims)), data.dtype)


def _log_sum_exp(xp, data, axes, keepdims):
    """log(sum(exp(x))) as m + log(sum(exp(x - m))) with m the greatest element, so that nothing overflows."""
    if axes == ():
        return data
    wide = _widest(xp, data)
    if wide.size == 0:
        return _log_sum(xp, data, axes, keepdims)
    top = xp.maximum.reduce(wide, axes, None, None, True)
    shift = xp.where(xp.isfinite(top), top, 0)
    wide = xp.asarray(wide - shift)
    result = xp.log(xp.add.reduce(xp.exp(wide, out=wide), axes, None, None, True)) + shift
    if not keepdims:
        result = result.reshape(()) if axes is None else result.squeeze(axes)
    return _narrow(xp, result, data.dtype)


@ops.add("ReduceSumSquare", since=1)
def reduce_sum_square_1(xp, data, *, axes=None, keepdims=1):
    """Sum of squares over `axes` (all by default)."""
    return _sum_square(xp, data, reduction_axes(axes, data.ndim), keepdims)


@ops.add("ReduceSumSquare", since=18, host=(1,))
def reduce_sum_square_18(xp, data, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """As ReduceSumSquare-1 with `axes` as a tensor."""
    return _sum_square(xp, data, reduction_axes(axes, data.ndim, noop_with_empty_axes), keepdims)


@ops.add("ReduceL1", since=1)
def reduce_l1_1(xp, data, *, axes=None, keepdims=1):
    """Sum of absolute values over `axes` (all by default)."""
    return _l1(xp, data, reduction_axes(axes, data.ndim), keepdims)


@ops.add("ReduceL1", since=18, host=(1,))
def reduce_l1_18(xp, data, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """As ReduceL1-1 with `axes` as a tensor."""
    return _l1(xp, data, reduction_axes(axes, data.ndim, noop_with_empty_axes), keepdims)


@ops.add("ReduceL2", since=1)
def reduce_l2_1(xp, data, *, axes=None, keepdims=1):
    """Square root of the sum of squares over `axes` (all by default)."""
    return _l2(xp, data, reduction_axes(axes, data.ndim), keepdims)


@ops.add("ReduceL2", since=18, host=(1,))
def reduce_l2_18(xp, data, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """As ReduceL2-1 with `axes` as a tensor."""
    return _l2(xp, data, reduction_axes(axes, data.ndim, noop_with_empty_axes), keepdims)


@ops.add("ReduceLogSum", since=1)
def reduce_log_sum_1(xp, data, *, axes=None, keepdims=1):
    """Logarithm of the sum over `axes` (all by default); -inf for an empty set."""
    return _log_sum(xp, data, reduction_axes(axes, data.ndim), keepdims)


@ops.add("ReduceLogSum", since=18, host=(1,))
def reduce_log_sum_18(xp, data, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """As ReduceLogSum-1 with `axes` as a tensor."""
    return _log_sum(xp, data, reduction_axes(axes, data.ndim, noop_with_empty_axes), keepdims)


@ops.add("ReduceLogSumExp", since=1)
def reduce_log_sum_exp_1(xp, data, *, axes=None, keepdims=1):
    """Logarithm of the sum of exponentials over `axes` (all by default), without overflow; -inf for an empty set."""
    return _log_sum_exp(xp, data, reduction_axes(axes, data.ndim), keepdims)


@ops.add("ReduceLogSumExp", since=18, host=(1,))
def reduce_log_sum_exp_18(xp, data, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """As ReduceLogSumExp-1 with `axes` as a tensor."""
    return _log_sum_exp(xp, data, reduction_axes(axes, data.ndim, noop_with_empty_axes), keepdims)
