"""Operators that make tensors from shapes, attributes and scalars: Shape, Size, Range, Constant, ConstantOfShape."""

from __future__ import annotations

from math import ceil, prod

import numpy as np

from sardonyx.ep.kernels import KernelSet
from sardonyx.ep.shapes import check_size
from sardonyx.errors import NodeError
from sardonyx.ir.dtypes import from_onnx, is_float

__all__ = ["arange", "ops"]

ops = KernelSet()


@ops.add("Shape", since=1, host_outputs=(0,))
def shape_1(xp, data):
    """The shape as int64 [rank]."""
    return np.array(data.shape, np.int64)


@ops.add("Shape", since=15, host_outputs=(0,))
def shape_15(xp, data, *, start=0, end=None):
    """Dims `start` to `end` (exclusive) of the shape; both count from the back when negative and are clamped."""
    return np.array(data.shape[start:end], np.int64)


@ops.add("Size", host_outputs=(0,))
def size(xp, data):
    """The number of elements as an int64 scalar."""
    return np.array(prod(data.shape), np.int64)


@ops.add("Constant", since=1)
def constant_1(xp, *, value):
    """The tensor `value`."""
    return value


@ops.add("Constant", since=11)
def constant_11(xp, *, sparse_value=None, value=None):
    """`value`, or `sparse_value`, which arrives as a dense array."""
    return constant_12(xp, sparse_value=sparse_value, value=value)


@ops.add("Constant", since=12)
def constant_12(
    xp,
    *,
    sparse_value=None,
    value=None,
    value_float=None,
    value_floats=None,
    value_int=None,
    value_ints=None,
    value_string=None,
    value_strings=None,
):
    """The one attribute that is given, as a tensor: float32, int64 or string for the value_* forms."""
    if value is not None:
        return value
    if sparse_value is not None:
        return sparse_value
    forms = ((np.float32, value_float, value_floats), (np.int64, value_int, value_ints), (object, value_string, value_strings))
    for dtype, scalar, vector in forms:
        if scalar is not None:
            return xp.array(scalar, dtype)
        if vector is not None:
            return xp.array(vector, dtype)
    raise NodeError("Constant has no value: give one of its attributes")


@ops.add("ConstantOfShape", since=9, host=(0,))
def constant_of_shape(xp, input, *, value=None):
    """A tensor of shape `input` filled with the one element of `value`, float32 0 by default."""
    shape = input.ravel().tolist()
    if min(shape, default=0) < 0:
        raise NodeError(f"shape {shape} has a negative dim")
    check_size(shape, 4 if value is None else value.itemsize)
    if value is None:
        return xp.zeros(shape, np.float32)
    if value.size != 1:
        raise NodeError(f"value must have one element, not shape {value.shape}")
    output = xp.empty(shape, value.dtype)
    output[...] = value.reshape(())
    return output


def arange(xp, start, limit, delta, stash=None):
    """start, start + delta, ... below (above, if delta < 0) limit, in the dtype of the scalar array `start`.

    Integers are exact; floats are computed as start + i * delta in float64, or in the dtype `stash` for 16-bit types.
    """
    dtype = start.dtype
    if not is_float(dtype):
        first, last, step = int(start.item()), int(limit.item()), int(delta.item())
        if step == 0:
            raise NodeError("Range has delta 0")
        count = max(0, -((first - last) // step))
        check_size((count,), 8)
        if max(abs(first), abs(last), abs(step)) < 1 << 62:
            return xp.arange(first, last, step).astype(dtype, copy=False)
        # numpy's own counts in float64; products that wrap around still sum up to what lies within the dtype.
        wrapped = [xp.asarray(v % (1 << 64), xp.uint64) for v in (first, step)]
        return (xp.arange(count, dtype=xp.uint64) * wrapped[1] + wrapped[0]).astype(xp.int64).astype(dtype, copy=False)
    if dtype.itemsize > 2 or stash is None:
        stash = np.dtype(np.float64)
    origin, end, stride = (float(v.astype(stash).item()) for v in (start, limit, delta))
    if stride == 0:
        raise NodeError("Range has delta 0")
    length = (end - origin) / stride
    if not length < 1 << 62:
        raise NodeError(f"Range from {origin} to {end} by {stride} has no end")
    count = ceil(max(0.0, length))
    check_size((count, 3), 8)
    steps = xp.arange(count).astype(stash)
    return (steps * stash.type(stride) + stash.type(origin)).astype(dtype, copy=False)


@ops.add("Range", since=11, host=(0, 1, 2))
def range_11(xp, start, limit, delta):
    """start + i * delta for i in 0 .. ceil((limit - start) / delta) - 1; scalars in, rank 1 out, same dtype."""
    return arange(xp, start, limit, delta)


@ops.add("Range", since=27, host=(0, 1, 2))
def range_27(xp, start, limit, delta, *, stash_type=1):
    """As Range-11; float16 and bfloat16 are computed in the type `stash_type`, float32 by default."""
    return arange(xp, start, limit, delta, from_onnx(stash_type))
