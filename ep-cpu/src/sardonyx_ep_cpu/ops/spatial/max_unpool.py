"""MaxUnpool."""

from __future__ import annotations

from math import prod

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import check_size, transpose_windows
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.spatial.pool_nd import check_rank

__all__ = ["max_unpool", "ops"]

ops = KernelSet()


@ops.add("MaxUnpool", since=9, host=(2,))
def max_unpool(xp, x, i, output_shape=None, *, kernel_shape, pads=None, strides=None):
    """Put X [N, C, *D] at the flat positions I of a tensor of zeros.

    I counts in the shape that strides, kernel_shape and pads give; a larger `output_shape` adds zeros after it.
    """
    check_rank(x)
    if x.shape != i.shape:
        raise NodeError(f"MaxUnpool needs X and I of one shape, got {x.shape} and {i.shape}")
    natural = (*x.shape[:2], *transpose_windows(x.shape[2:], kernel_shape, strides=strides, pads=pads).out)
    if i.size and not (int(i.min()) >= 0 and int(i.max()) < prod(natural)):
        raise NodeError(f"indices of MaxUnpool must be in [0, {prod(natural)}) for shape {natural}, got {i.min()} to {i.max()}")
    check_size(natural, x.itemsize)
    y = xp.zeros(natural, x.dtype)
    y.reshape(-1)[i.reshape(-1)] = x.reshape(-1)
    if output_shape is None:
        return y
    wanted = tuple(int(n) for n in output_shape)
    if len(wanted) != x.ndim or wanted[:2] != natural[:2] or any(w < n for w, n in zip(wanted, natural, strict=True)):
        raise NodeError(f"output_shape {wanted} of MaxUnpool must be at least {natural}, with the same N and C")
    if wanted == natural:
        return y
    check_size(wanted, x.itemsize)
    larger = xp.zeros(wanted, x.dtype)
    larger[tuple(slice(n) for n in natural)] = y
    return larger
