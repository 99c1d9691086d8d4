"""com.microsoft operators that are older or wider forms of standard ones: Trilu, Unique, Pad, ExpandDims, Range, GatherND."""

from __future__ import annotations

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.ep.shape_kernels.gather import gather_nd
from sardonyx.ep.shape_kernels.generate import arange
from sardonyx.ep.shapes import normalize_axis, pad_widths
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.indexing.pad import pad as pad_any
from sardonyx_ep_cpu.ops.indexing.select import trilu as standard_trilu
from sardonyx_ep_cpu.ops.indexing.select import unique_flat

__all__ = ["ops"]

ops = KernelSet("com.microsoft")


@ops.add("Trilu", host=(1,))
def trilu(xp, X, k=None, *, upper=1):
    """As ai.onnx Trilu."""
    return standard_trilu(xp, X, k, upper=upper)


@ops.add("Unique")
def unique(xp, x):
    """(distinct elements of the rank-1 `x` by first occurrence, place of each element in them, counts)."""
    if x.ndim != 1:
        raise NodeError(f"Unique takes rank 1, not shape {x.shape}")
    first, inverse, counts = unique_flat(xp, x, False)
    return x[first], inverse, counts


@ops.add("Pad", host=(1,))
def pad(xp, data, pads, value=None, *, mode="constant"):
    """As ai.onnx Pad; `pads` has shape [2 * rank] or [1, 2 * rank]."""
    widths = pad_widths(pads.reshape(-1).tolist(), data.ndim)
    return pad_any(xp, data, widths, mode, value if value is None else value.reshape(()))


@ops.add("ExpandDims", host=(1,))
def expand_dims(xp, X, axis):
    """X with a dim of size 1 at `axis` (one int32), which counts in the output."""
    place = normalize_axis(int(axis.item()), X.ndim + 1)
    return X.reshape((*X.shape[:place], 1, *X.shape[place:]))


@ops.add("Range", host=(0, 1, 2))
def range_(xp, start, limit, delta=None):
    """As ai.onnx Range; `delta` is 1 by default."""
    return arange(xp, start, limit, np.ones((), start.dtype) if delta is None else delta)


@ops.add("GatherND")
def gather_nd_1(xp, data, indices):
    """As ai.onnx GatherND-11; the indices may be int32."""
    return gather_nd(xp, data, indices)
