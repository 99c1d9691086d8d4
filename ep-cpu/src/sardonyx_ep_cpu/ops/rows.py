"""Reductions of float arrays over their last axis."""

from __future__ import annotations

from typing import Any

__all__ = ["row_dots", "row_sums"]

# From this size on a product with a column of ones is cheaper than a reduction.
_BLAS_SUM = 4096
# Longer rows are summed pairwise: BLAS adds them up one after another and loses digits.
_LONG_ROW = 1 << 16


def row_sums(xp: Any, x: Any) -> Any:
    """Sums of a float array (..., N) over its last axis, shape (..., 1); x should be contiguous.

    BLAS, multiplying by a column of ones, sums many short rows several times faster than a reduction does.
    """
    size = x.shape[-1]
    if x.size < _BLAS_SUM or size > _LONG_ROW:
        return x.sum(axis=-1, keepdims=True)
    return xp.matmul(x.reshape(-1, size), xp.ones((size, 1), x.dtype)).reshape(*x.shape[:-1], 1)


def row_dots(xp: Any, x: Any, y: Any) -> Any:
    """Dot products of float arrays (..., N) along the last axis, shape (..., 1)."""
    if x.shape[-1] > _LONG_ROW:
        return (x * y).sum(axis=-1, keepdims=True)
    return xp.matmul(x[..., None, :], y[..., :, None])[..., 0]
