"""ArgMax, ArgMin and CumProd.

A NaN counts as the greatest and as the least element: the first NaN (the last with `select_last_index`) wins.
"""

from __future__ import annotations

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.ep.shape_kernels.reduce import accumulate
from sardonyx.ep.shapes import normalize_axis
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.precision import widen

__all__ = ["ops"]

ops = KernelSet()


def _arg(xp, name, data, axis, keepdims, select_last_index=0):
    if data.ndim == 0:
        return xp.zeros((), np.int64)
    axis = normalize_axis(axis, data.ndim)
    shape, size = data.shape, data.shape[axis]
    if size == 0:
        if 0 in (rest := (*shape[:axis], *shape[axis + 1 :])):
            return xp.zeros((*shape[:axis], 1, *shape[axis + 1 :]) if keepdims else rest, np.int64)
        raise NodeError(f"axis {axis} of shape {shape} is empty, so it has no greatest or least element")
    data = widen(data)
    if select_last_index:
        data = data[(*(slice(None),) * axis, slice(None, None, -1))]
    result = getattr(data, name)(axis, keepdims=bool(keepdims))
    return size - 1 - result if select_last_index else result


@ops.add("ArgMax", since=1)
def arg_max_1(xp, data, *, axis=0, keepdims=1):
    """Index (int64) of the first greatest element along `axis`."""
    return _arg(xp, "argmax", data, axis, keepdims)


@ops.add("ArgMax", since=12)
def arg_max_12(xp, data, *, axis=0, keepdims=1, select_last_index=0):
    """Index (int64) of the first greatest element along `axis`, or of the last with `select_last_index`."""
    return _arg(xp, "argmax", data, axis, keepdims, select_last_index)


@ops.add("ArgMin", since=1)
def arg_min_1(xp, data, *, axis=0, keepdims=1):
    """Index (int64) of the first least element along `axis`."""
    return _arg(xp, "argmin", data, axis, keepdims)


@ops.add("ArgMin", since=12)
def arg_min_12(xp, data, *, axis=0, keepdims=1, select_last_index=0):
    """Index (int64) of the first least element along `axis`, or of the last with `select_last_index`."""
    return _arg(xp, "argmin", data, axis, keepdims, select_last_index)


@ops.add("CumProd", since=26, host=(1,))
def cum_prod(xp, x, axis, *, exclusive=0, reverse=0):
    """Running products along `axis` (a scalar), same shape and dtype."""
    return accumulate(xp, xp.multiply, x, axis, 1, exclusive, reverse)
