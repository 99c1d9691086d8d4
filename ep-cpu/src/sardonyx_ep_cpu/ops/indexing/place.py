"""Operators that write by index: Scatter, TensorScatter, OneHot."""

from __future__ import annotations

from math import prod

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.ep.shape_kernels.scatter import scatter_elements_11
from sardonyx.ep.shapes import check_size, normalize_axis
from sardonyx.errors import NodeError

__all__ = ["ops"]

ops = KernelSet()


@ops.add("Scatter", since=9)
def scatter(xp, data, indices, updates, *, axis=0):
    """The deprecated name of ScatterElements-11."""
    return scatter_elements_11(xp, data, indices, updates, axis=axis)


@ops.add("TensorScatter", since=24, host=(2,))
def tensor_scatter(xp, past_cache, update, write_indices=None, *, axis=-2, mode="linear"):
    """The cache with `update` written along the sequence axis, from write_indices[b] (int64, zeros by default) in batch entry b.

    `circular` wraps around at the end of the cache; `linear` must not reach beyond it (NodeError).
    """
    axis = normalize_axis(axis, past_cache.ndim)
    shape, length = past_cache.shape, update.shape[axis] if update.ndim == past_cache.ndim else -1
    if axis == 0 or length > shape[axis] or update.shape != (*shape[:axis], length, *shape[axis + 1 :]):
        raise NodeError(
            f"update {update.shape} must have the cache's shape {shape} but for at most {shape[axis]} entries in axis {axis} > 0"
        )
    if mode not in ("linear", "circular"):
        raise NodeError(f"mode {mode!r} is neither linear nor circular")
    starts = [0] * shape[0] if write_indices is None else write_indices.tolist()
    if len(starts) != shape[0]:
        raise NodeError(f"write_indices has {len(starts)} entries for a batch of {shape[0]}")
    capacity = shape[axis]
    present = past_cache.copy(order="C")
    before = (slice(None),) * (axis - 1)
    for batch, start in enumerate(starts):
        if mode == "circular" and capacity:
            start %= capacity
        elif start < 0 or start + length > capacity:
            raise NodeError(f"write index {start} and {length} entries exceed the cache's {capacity} in batch entry {batch}")
        fits = min(length, capacity - start)
        present[(batch, *before, slice(start, start + fits))] = update[(batch, *before, slice(0, fits))]
        present[(batch, *before, slice(0, length - fits))] = update[(batch, *before, slice(fits, length))]
    return present


def _one_hot(xp, indices, depth, values, axis, negative):
    if depth.size != 1 or values.shape != (2,):
        raise NodeError(f"depth must hold one value and values two ([off, on]), not shapes {depth.shape} and {values.shape}")
    count = int(depth.item())
    if count < 0:
        raise NodeError(f"depth {count} is negative")
    axis = normalize_axis(axis, indices.ndim + 1)
    shape = (*indices.shape[:axis], count, *indices.shape[axis:])
    check_size(shape, values.itemsize)
    output = xp.empty(shape, values.dtype)
    output[...] = values[0]
    if indices.dtype == np.uint64:
        indices = xp.minimum(indices, count)
    wanted = indices.astype(np.int64).reshape(-1)
    inner = prod(indices.shape[axis:])
    outer, rest = xp.divmod(xp.arange(wanted.size), max(inner, 1))
    valid = (wanted >= (-count if negative else 0)) & (wanted < count)
    wanted = xp.where(wanted < 0, wanted + count, wanted)
    output.reshape(-1)[((outer * count + wanted) * inner + rest)[valid]] = values[1]
    return output


@ops.add("OneHot", since=9, host=(1,))
def one_hot_9(xp, indices, depth, values, *, axis=-1):
    """values[1] where a new dim of size `depth` at `axis` meets the index, values[0] elsewhere and for indices outside [0, depth)."""
    return _one_hot(xp, indices, depth, values, axis, False)


@ops.add("OneHot", since=11, host=(1,))
def one_hot_11(xp, indices, depth, values, *, axis=-1):
    """As OneHot-9 with negative indices counted from the back; those outside [-depth, depth - 1] give values[0] only."""
    return _one_hot(xp, indices, depth, values, axis, True)
