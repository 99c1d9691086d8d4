"""Operators that write elements by index into a copy: ScatterElements, ScatterND.

Without a reduction the last of several updates of one element wins. 16-bit floats are reduced in float32.
"""

from __future__ import annotations

from math import prod

import numpy as np

from sardonyx.ep.kernels import KernelSet
from sardonyx.ep.shape_kernels.gather import linear_elements, linear_index
from sardonyx.errors import NodeError

__all__ = ["ops"]

ops = KernelSet()

_REDUCTIONS = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}


def _update(xp, output, rows, updates, reduction):
    """Write (or reduce) `updates` [n, width] into rows of `output` [rows, width], in place."""
    if reduction == "none":
        output[rows] = updates
        return output
    if reduction not in _REDUCTIONS:
        raise NodeError(f"reduction {reduction!r} is not one of none, {', '.join(_REDUCTIONS)}")
    ufunc = getattr(xp, _REDUCTIONS[reduction])
    dtype = output.dtype
    if dtype.itemsize == 2 and dtype.kind in "fV":
        output, updates = output.astype(np.float32), updates.astype(np.float32)
    width = output.shape[1]
    if width > 1:
        rows = (rows[:, None] * width + xp.arange(width)).reshape(-1)
    # One-dimensional operands take ufunc.at's fast path.
    ufunc.at(output.reshape(-1), rows, updates.reshape(-1))
    return output.astype(dtype, copy=False)


def _scatter_elements(xp, data, indices, updates, axis, reduction="none"):
    if updates.shape != indices.shape:
        raise NodeError(f"updates of shape {updates.shape} must have the shape of indices, {indices.shape}")
    linear = linear_elements(xp, indices, data.shape, axis).reshape(-1)
    output = data.copy(order="C").reshape(-1, 1)
    return _update(xp, output, linear, updates.reshape(-1, 1), reduction).reshape(data.shape)


@ops.add("ScatterElements", since=11)
def scatter_elements_11(xp, data, indices, updates, *, axis=0):
    """`data` with each update written where its index points along `axis`; indices and updates have one shape."""
    return _scatter_elements(xp, data, indices, updates, axis)


@ops.add("ScatterElements", since=16)
def scatter_elements_16(xp, data, indices, updates, *, axis=0, reduction="none"):
    """As ScatterElements-11; `reduction` (none, add, mul, max, min) combines with the value that is there."""
    return _scatter_elements(xp, data, indices, updates, axis, reduction)


def _scatter_nd(xp, data, indices, updates, reduction="none"):
    if indices.ndim == 0 or data.ndim == 0 or indices.shape[-1] > data.ndim:
        raise NodeError(f"indices of shape {indices.shape} do not fit data of shape {data.shape}")
    depth = indices.shape[-1]
    dims, rest = data.shape[:depth], data.shape[depth:]
    if updates.shape != indices.shape[:-1] + rest:
        raise NodeError(
            f"updates must have shape {indices.shape[:-1] + rest} for data {data.shape} and indices {indices.shape}, not {updates.shape}"
        )
    rows = linear_index(xp, indices, dims).reshape(-1)
    output = data.copy(order="C").reshape(prod(dims), prod(rest))
    return _update(xp, output, rows, updates.reshape(rows.size, prod(rest)), reduction).reshape(data.shape)


@ops.add("ScatterND", since=11)
def scatter_nd_11(xp, data, indices, updates):
    """`data` with slices replaced by updates [indices[:-1] + data[depth:]] at the coordinates in the last dim of indices."""
    return _scatter_nd(xp, data, indices, updates)


@ops.add("ScatterND", since=16)
def scatter_nd_16(xp, data, indices, updates, *, reduction="none"):
    """As ScatterND-11; `reduction` (none, add, mul, max, min) combines with the values that are there."""
    return _scatter_nd(xp, data, indices, updates, reduction)
