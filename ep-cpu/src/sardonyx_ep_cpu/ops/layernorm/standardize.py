"""The two statistics of layer normalisations, over the trailing axes."""

from __future__ import annotations

import math
from typing import Any

from sardonyx.ep.shapes import normalize_axis
from sardonyx_ep_cpu.ops.rows import row_dots, row_sums

__all__ = ["layer_norm", "rms_norm", "trailing_rows"]


def trailing_rows(x: Any, axis: int) -> tuple[Any, tuple[int, ...]]:
    """`x` seen as rows of everything from `axis` on, and the shape of one number per row (1 from `axis` on).

    Raises NodeError for an axis that x does not have.
    """
    if axis == -1 or axis == x.ndim - 1:
        return x, (*x.shape[:-1], 1)
    axis = normalize_axis(axis, x.ndim)
    lead = x.shape[:axis]
    return x.reshape(*lead, math.prod(x.shape[axis:])), (*lead, *(1,) * (x.ndim - axis))


def layer_norm(xp: Any, x: Any, scale: Any, bias: Any, epsilon: float, axis: int = -1) -> tuple[Any, Any, Any]:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias for float32 or float64 x, with the mean and 1 / deviation.

    scale and bias broadcast to x and may be None.
    """
    rows, stat_shape = trailing_rows(x, axis)
    size = rows.shape[-1]
    mean = row_sums(xp, rows)
    mean /= size
    y = rows - mean
    inverse = row_dots(xp, y, y)
    _inverse_root(xp, inverse, size, epsilon)
    y *= inverse
    y = y.reshape(x.shape)
    if scale is not None:
        y *= scale
    if bias is not None:
        y += bias
    return y, mean.reshape(stat_shape), inverse.reshape(stat_shape)


def rms_norm(xp: Any, x: Any, scale: Any, epsilon: float, axis: int = -1) -> tuple[Any, Any]:
    """x / sqrt(mean(x * x) + epsilon) * scale for float32 or float64 x, with that reciprocal root."""
    rows, stat_shape = trailing_rows(x, axis)
    inverse = row_dots(xp, rows, rows)
    _inverse_root(xp, inverse, rows.shape[-1], epsilon)
    y = (rows * inverse).reshape(x.shape)
    if scale is not None:
        y *= scale
    return y, inverse.reshape(stat_shape)


def _inverse_root(xp: Any, squares: Any, size: int, epsilon: float) -> None:
    """1 / sqrt(squares / size + epsilon), in place."""
    squares /= size
    squares += epsilon
    xp.sqrt(squares, out=squares)
    xp.reciprocal(squares, out=squares)
