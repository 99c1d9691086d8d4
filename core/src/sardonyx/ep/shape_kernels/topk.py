"""TopK: the k greatest or least elements along an axis, equal ones by lower index, NaN greater than any number."""

from __future__ import annotations

import numpy as np

from sardonyx.ep.kernels import KernelSet
from sardonyx.ep.shapes import normalize_axis
from sardonyx.errors import NodeError

__all__ = ["ops"]

ops = KernelSet()


def _sorted_indices(xp, keys, largest):
    """Stable order of the last dim, greatest first if `largest`."""
    if not largest:
        return xp.argsort(keys, axis=-1, kind="stable")
    return keys.shape[-1] - 1 - xp.argsort(keys[..., ::-1], axis=-1, kind="stable")[..., ::-1]


def _candidates(xp, keys, k, largest):
    """Indices, ascending, of the k greatest (least) of each row of `keys` [rows, n], found by partition in O(n)."""
    n = keys.shape[1]
    place = n - k if largest else k - 1
    threshold = xp.partition(keys, place, axis=1)[:, place, None]
    better = keys > threshold if largest else keys < threshold
    equal = keys == threshold
    wanted = k - xp.add.reduce(better, 1, np.intp, keepdims=True)
    equal &= xp.cumsum(equal, axis=1, dtype=np.intp) <= wanted
    better |= equal
    return xp.nonzero(better)[1].reshape(-1, k)


def _topk(xp, x, k, axis, largest=1):
    axis = normalize_axis(axis, x.ndim)
    n = x.shape[axis]
    if k.size != 1:
        raise NodeError(f"K must hold one value, not shape {k.shape}")
    count = int(k.item())
    if not 0 <= count <= n:
        raise NodeError(f"K = {count} must lie between 0 and the size of axis {axis}, {n}")
    last = axis == x.ndim - 1
    rows = x if last else xp.moveaxis(x, axis, -1)
    keys = rows.astype(np.float32) if x.dtype.itemsize <= 2 and x.dtype.kind in "fV" else rows
    if 0 < count <= n // 4 and n >= 64 and not (keys.dtype.kind == "f" and xp.isnan(xp.add.reduce(keys, None))):
        chosen = _candidates(xp, keys.reshape(-1, n), count, largest).reshape((*rows.shape[:-1], count))
        order = _sorted_indices(xp, xp.take_along_axis(keys, chosen, -1), largest)
        indices = xp.take_along_axis(chosen, order, -1)
    else:
        indices = _sorted_indices(xp, keys, largest)[..., :count].astype(np.int64, copy=False)
    values = xp.take_along_axis(rows, indices, -1)
    return (values, indices) if last else (xp.moveaxis(values, -1, axis), xp.moveaxis(indices, -1, axis))


@ops.add("TopK", since=1)
def topk_1(xp, X, *, k, axis=-1):
    """The `k` greatest elements along `axis`, greatest first, and their int64 indices."""
    return _topk(xp, X, np.array(k), axis)


@ops.add("TopK", since=10, host=(1,))
def topk_10(xp, X, K, *, axis=-1):
    """As TopK-1 with `K` as a tensor of one element."""
    return _topk(xp, X, K, axis)


@ops.add("TopK", since=11, host=(1,))
def topk_11(xp, X, K, *, axis=-1, largest=1, sorted=1):
    """The K greatest (or least) elements along `axis` and their int64 indices, in order also where `sorted` is 0."""
    return _topk(xp, X, K, axis, largest)
