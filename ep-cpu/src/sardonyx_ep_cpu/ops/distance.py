"""Distances between the rows of two matrices: com.microsoft CDist."""

from __future__ import annotations

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import InvalidInput

ops = KernelSet("com.microsoft")


@ops.add("CDist", since=1)
def cdist(xp, a, b, *, metric="sqeuclidean") -> np.ndarray:
    """a [M, K], b [N, K] -> [M, N] of their dtype: Euclidean distances of all rows, or their squares ("sqeuclidean")."""
    if metric not in ("sqeuclidean", "euclidean"):
        raise InvalidInput(f"metric is {metric!r}, but must be sqeuclidean or euclidean")
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise InvalidInput(f"CDist needs two matrices of equally long rows, not {a.shape} and {b.shape}")
    if a.dtype == xp.float64:
        from scipy.spatial.distance import cdist as exact_distances

        return exact_distances(a, b, metric)
    # the expanded square cancels, but in double precision to less than one unit of single precision
    a, b, dtype = a.astype(xp.float64), b.astype(xp.float64), a.dtype
    out = a @ b.T
    out *= -2
    out += xp.square(a).sum(axis=1)[:, None]
    out += xp.square(b).sum(axis=1)
    xp.maximum(out, 0, out=out)
    if metric == "euclidean":
        xp.sqrt(out, out=out)
    return out.astype(dtype)
