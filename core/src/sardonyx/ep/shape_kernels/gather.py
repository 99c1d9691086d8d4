"""Operators that pick elements by index: Gather, GatherElements, GatherND, NonZero.

Negative indices count from the back; an index outside [-size, size - 1] raises NodeError.
"""

from __future__ import annotations

from math import prod

import numpy as np

from sardonyx.ep.kernels import KernelSet
from sardonyx.ep.shapes import normalize_axis
from sardonyx.errors import NodeError

__all__ = ["checked", "gather_nd", "linear_elements", "linear_index", "ops"]

ops = KernelSet()


def checked(xp, indices, size, axis):
    """`indices` with negative ones counted from the back; NodeError naming the first index outside a dim of `size`."""
    if indices.size == 0:
        return indices
    low, high = indices.min(), indices.max()
    if high >= size or low < -size:
        bad = high if high >= size else low
        raise NodeError(f"index {bad} is out of range for axis {axis} of size {size}: allowed are {-size} to {size - 1}")
    return xp.where(indices < 0, indices + size, indices) if low < 0 else indices


@ops.add("Gather", since=1)
def gather(xp, data, indices, *, axis=0):
    """Slices of `data` along `axis`: shape data[:axis] + indices + data[axis + 1:]."""
    axis = normalize_axis(axis, data.ndim)
    try:
        if indices.ndim == 0:
            return data[(*(slice(None),) * axis, indices.item(), ...)]
        if data.flags.c_contiguous:
            return data.take(indices, axis)
        # take() would first copy all of an array that is not contiguous.
        return data[(*(slice(None),) * axis, indices)]
    except IndexError:
        checked(xp, indices, data.shape[axis], axis)
        raise


def linear_elements(xp, indices, shape, axis):
    """Positions in a raveled array of `shape` of the elements that `indices` (same rank) name along `axis`."""
    if indices.ndim != len(shape) or not shape:
        raise NodeError(f"indices of shape {indices.shape} must have the rank of data, {shape}, at least 1")
    axis = normalize_axis(axis, len(shape))
    for i, (n, dim) in enumerate(zip(indices.shape, shape, strict=True)):
        if i != axis and n > dim:
            raise NodeError(f"indices of shape {indices.shape} exceed data of shape {shape} in dim {i}")
    linear = checked(xp, indices, shape[axis], axis)
    stride = prod(shape[axis + 1 :])
    linear = linear.astype(np.intp) if stride == 1 else xp.multiply(linear, stride, dtype=np.intp)
    step = 1
    for i in reversed(range(len(shape))):
        if i != axis and indices.shape[i] > 1:
            linear += (xp.arange(indices.shape[i]) * step).reshape((-1,) + (1,) * (len(shape) - 1 - i))
        step *= shape[i]
    return linear


@ops.add("GatherElements", since=11)
def gather_elements(xp, data, indices, *, axis=0):
    """For each position of `indices` the element of `data` there, with the coordinate along `axis` replaced by the index."""
    return data.reshape(-1).take(linear_elements(xp, indices, data.shape, axis))


def linear_index(xp, indices, dims):
    """Row numbers into an array whose leading dims are `dims`, for coordinates along the last dim of `indices`."""
    linear = None
    for i, dim in enumerate(dims):
        column = checked(xp, indices[..., i], dim, i).astype(np.intp, copy=False)
        linear = column if linear is None else linear * dim + column
    return xp.zeros(indices.shape[:-1], np.intp) if linear is None else linear


def gather_nd(xp, data, indices, batch_dims=0):
    """Slices of `data` named by the coordinates in the last dim of `indices`, after `batch_dims` shared leading dims."""
    if indices.ndim == 0 or not 0 <= batch_dims < min(data.ndim, indices.ndim):
        raise NodeError(f"batch_dims {batch_dims} must be less than the ranks of data {data.shape} and indices {indices.shape}")
    depth = indices.shape[-1]
    end = batch_dims + depth
    batch, dims = data.shape[:batch_dims], data.shape[batch_dims:end]
    if end > data.ndim or indices.shape[:batch_dims] != batch:
        raise NodeError(f"indices of shape {indices.shape} do not fit data of shape {data.shape} with batch_dims {batch_dims}")
    rows = linear_index(xp, indices, dims)
    if batch_dims:
        offsets = xp.arange(prod(batch)).reshape(batch + (1,) * (rows.ndim - batch_dims))
        rows = rows + offsets * prod(dims)
    rest = data.shape[end:]
    return data.reshape((prod(data.shape[:end]), *rest)).take(rows.reshape(-1), 0).reshape(rows.shape + rest)


@ops.add("GatherND", since=11)
def gather_nd_11(xp, data, indices):
    """Slices of `data` named by the coordinates in the last dim of `indices`: shape indices[:-1] + data[depth:]."""
    return gather_nd(xp, data, indices)


@ops.add("GatherND", since=12)
def gather_nd_12(xp, data, indices, *, batch_dims=0):
    """As GatherND-11 within each entry of the first `batch_dims` dims, which data and indices share."""
    return gather_nd(xp, data, indices, batch_dims)


@ops.add("NonZero", since=9)
def non_zero(xp, X):
    """Coordinates of the non-zero elements in row-major order, int64 [rank, count]."""
    if X.ndim == 0:
        return xp.zeros((0, int(bool(X))), np.int64)
    return xp.array(xp.nonzero(X), np.int64)
