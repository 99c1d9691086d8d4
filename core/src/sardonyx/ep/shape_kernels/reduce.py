"""The reductions that shape arithmetic uses: ReduceSum, ReduceProd, ReduceMean, ReduceMax, ReduceMin; CumSum.

16-bit floats are accumulated in float32 and rounded once. Integers wrap around.
"""

from __future__ import annotations

from math import prod

import ml_dtypes
import numpy as np

from sardonyx.ep.kernels import KernelSet
from sardonyx.ep.shapes import normalize_axis, reduction_axes

__all__ = ["accumulate", "extreme", "mean_of", "ops", "total"]

ops = KernelSet()


def total(xp, ufunc, x, axes, keepdims):
    """ufunc.reduce of `x` (add or multiply) over `axes` (None for all) in its own dtype, 16-bit floats by way of float32."""
    if axes == ():
        return x
    dtype = x.dtype
    if dtype.itemsize == 2 and dtype.kind in "fV":
        return ufunc.reduce(x, axes, np.float32, None, bool(keepdims)).astype(dtype)
    return ufunc.reduce(x, axes, dtype, None, bool(keepdims))


def lowest(dtype):
    """The least value of a dtype: -inf for floats, False for bool."""
    if dtype.kind == "b":
        return False
    return ml_dtypes.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def highest(dtype):
    """The greatest value of a dtype: inf for floats, True for bool."""
    if dtype.kind == "b":
        return True
    return ml_dtypes.iinfo(dtype).max if dtype.kind in "iu" else np.inf


def extreme(xp, ufunc, x, axes, keepdims, empty):
    """ufunc.reduce of `x` (maximum or minimum); `empty(dtype)` is the value of an empty set. NaN propagates."""
    if x.size:
        return ufunc.reduce(x, axes, None, None, bool(keepdims))
    dtype = x.dtype
    return ufunc.reduce(x, axes, dtype, None, bool(keepdims), initial=dtype.type(empty(dtype)))


def mean_of(xp, x, axes, keepdims):
    """The mean over `axes`; an integer mean is rounded toward zero. NaN (0 for integers) for an empty set."""
    if axes == ():
        return x
    dtype = x.dtype
    count = x.size if axes is None else prod([x.shape[axis] for axis in axes])
    if dtype.kind == "f" and dtype.itemsize > 2:
        result = xp.add.reduce(x, axes, None, None, bool(keepdims))
        result /= count
        return result
    if dtype.kind not in "iu":
        return (xp.add.reduce(x, axes, np.float32, None, bool(keepdims)) / np.float32(count)).astype(dtype)
    result = xp.add.reduce(x, axes, np.uint64 if dtype == np.uint64 else np.int64, None, bool(keepdims))
    magnitude = abs(result) // max(count, 1)
    return (magnitude if dtype.kind == "u" else xp.where(result < 0, -magnitude, magnitude)).astype(dtype)


@ops.add("ReduceSum", since=1)
def reduce_sum_1(xp, data, *, axes=None, keepdims=1):
    """Sum over `axes` (all by default); 0 for an empty set."""
    return total(xp, xp.add, data, reduction_axes(axes, data.ndim), keepdims)


@ops.add("ReduceSum", since=13, host=(1,))
def reduce_sum_13(xp, data, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """As ReduceSum-1 with `axes` as a tensor; absent or empty means all, or none with `noop_with_empty_axes`."""
    return total(xp, xp.add, data, reduction_axes(axes, data.ndim, noop_with_empty_axes), keepdims)


@ops.add("ReduceProd", since=1)
def reduce_prod_1(xp, data, *, axes=None, keepdims=1):
    """Product over `axes` (all by default); 1 for an empty set."""
    return total(xp, xp.multiply, data, reduction_axes(axes, data.ndim), keepdims)


@ops.add("ReduceProd", since=18, host=(1,))
def reduce_prod_18(xp, data, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """As ReduceProd-1 with `axes` as a tensor; absent or empty means all, or none with `noop_with_empty_axes`."""
    return total(xp, xp.multiply, data, reduction_axes(axes, data.ndim, noop_with_empty_axes), keepdims)


@ops.add("ReduceMean", since=1)
def reduce_mean_1(xp, data, *, axes=None, keepdims=1):
    """Mean over `axes` (all by default)."""
    return mean_of(xp, data, reduction_axes(axes, data.ndim), keepdims)


@ops.add("ReduceMean", since=18, host=(1,))
def reduce_mean_18(xp, data, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """As ReduceMean-1 with `axes` as a tensor; absent or empty means all, or none with `noop_with_empty_axes`."""
    return mean_of(xp, data, reduction_axes(axes, data.ndim, noop_with_empty_axes), keepdims)


@ops.add("ReduceMax", since=1)
def reduce_max_1(xp, data, *, axes=None, keepdims=1):
    """Maximum over `axes` (all by default); the dtype's least value for an empty set."""
    return extreme(xp, xp.maximum, data, reduction_axes(axes, data.ndim), keepdims, lowest)


@ops.add("ReduceMax", since=18, host=(1,))
def reduce_max_18(xp, data, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """As ReduceMax-1 with `axes` as a tensor; absent or empty means all, or none with `noop_with_empty_axes`."""
    return extreme(xp, xp.maximum, data, reduction_axes(axes, data.ndim, noop_with_empty_axes), keepdims, lowest)


@ops.add("ReduceMin", since=1)
def reduce_min_1(xp, data, *, axes=None, keepdims=1):
    """Minimum over `axes` (all by default); the dtype's greatest value for an empty set."""
    return extreme(xp, xp.minimum, data, reduction_axes(axes, data.ndim), keepdims, highest)


@ops.add("ReduceMin", since=18, host=(1,))
def reduce_min_18(xp, data, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """As ReduceMin-1 with `axes` as a tensor; absent or empty means all, or none with `noop_with_empty_axes`."""
    return extreme(xp, xp.minimum, data, reduction_axes(axes, data.ndim, noop_with_empty_axes), keepdims, highest)


def accumulate(xp, ufunc, x, axis, identity, exclusive, reverse):
    """Running ufunc (add or multiply) along `axis` (a scalar array) in the dtype of `x`, 16-bit floats by way of float32.

    `exclusive` leaves each element's own value out, so that the first is `identity`; `reverse` runs from the back.
    """
    axis = normalize_axis(int(axis.item()), x.ndim)
    dtype = x.dtype
    wide = np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind in "fV" else dtype
    if not (exclusive or reverse):
        result = ufunc.accumulate(x, axis, wide)
        return result if wide == dtype else result.astype(dtype)
    before = (slice(None),) * axis
    backwards = (*before, slice(None, None, -1))
    output = xp.empty(x.shape, wide)
    source, target = (x[backwards], output[backwards]) if reverse else (x, output)
    if exclusive:
        target[(*before, slice(0, 1))] = identity
        source, target = source[(*before, slice(None, -1))], target[(*before, slice(1, None))]
    ufunc.accumulate(source, axis, wide, target)
    return output if wide == dtype else output.astype(dtype)


@ops.add("CumSum", since=11, host=(1,))
def cumsum(xp, x, axis, *, exclusive=0, reverse=0):
    """Running sums along `axis` (a scalar), same shape and dtype."""
    return accumulate(xp, xp.add, x, axis, 0, exclusive, reverse)
