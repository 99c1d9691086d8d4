"""GlobalAveragePool and GlobalMaxPool."""

from __future__ import annotations

from math import prod

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.spatial.pool_nd import check_rank, spatial_sums
from sardonyx_ep_cpu.precision import widen

__all__ = ["global_average_pool", "global_max_pool", "ops"]

ops = KernelSet()


@ops.add("GlobalAveragePool", since=1)
def global_average_pool(xp, x):
    """The mean over all spatial axes of X [N, C, *D] -> [N, C, 1, ...]; float16 and bfloat16 are summed in float32."""
    check_rank(x)
    y = spatial_sums(xp, widen(x))
    y /= prod(x.shape[2:])
    return y.astype(x.dtype, copy=False)


@ops.add("GlobalMaxPool", since=1)
def global_max_pool(xp, x):
    """The maximum over all spatial axes of X [N, C, *D] -> [N, C, 1, ...]; NaN propagates."""
    check_rank(x)
    if all(x.shape[:2]) and not all(x.shape[2:]):
        raise NodeError(f"GlobalMaxPool of X {list(x.shape)} has no elements to take the maximum of")
    if not x.size:
        return xp.empty((*x.shape[:2], *(1,) * (x.ndim - 2)), x.dtype)
    y = widen(x).reshape(*x.shape[:2], prod(x.shape[2:])).max(axis=2)
    return y.reshape(*x.shape[:2], *(1,) * (x.ndim - 2)).astype(x.dtype, copy=False)
