"""LRN, MeanVarianceNormalization and LpNormalization."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import normalize_axes, normalize_axis
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.precision import widen

__all__ = ["lp_normalization", "lrn", "mean_variance_normalization", "ops"]

ops = KernelSet()


@ops.add("LRN", since=1)
def lrn(xp, x, *, alpha=1e-4, beta=0.75, bias=1.0, size):
    """X [N, C, *D] divided by (bias + alpha / size * sum of squares of `size` neighbouring channels) ** beta."""
    if x.ndim < 2 or size < 1:
        raise NodeError(f"LRN takes X [N, C, ...] and a size of at least 1, got X {x.shape} and size {size}")
    wide = widen(x)
    squares = xp.square(wide)
    total = squares.copy()
    channels = x.shape[1]
    for shift in range(-min((size - 1) // 2, channels - 1), min(size // 2, channels - 1) + 1):
        if shift:
            total[:, max(0, -shift) : channels - max(0, shift)] += squares[:, max(0, shift) : channels - max(0, -shift)]
    total *= wide.dtype.type(alpha / size)
    total += wide.dtype.type(bias)
    return (wide / _power(xp, total, beta)).astype(x.dtype, copy=False)


@ops.add("MeanVarianceNormalization", since=9)
def mean_variance_normalization(xp, x, *, axes=(0, 2, 3)):
    """(X - mean) / (standard deviation + 1e-9) over `axes`; the small term is that of ONNX's function body."""
    over = normalize_axes(axes, x.ndim)
    wide = widen(x)
    y = wide - wide.mean(axis=over, keepdims=True)
    deviation = xp.sqrt(xp.square(y).mean(axis=over, keepdims=True))
    deviation += 1e-9
    y /= deviation
    return y.astype(x.dtype, copy=False)


@ops.add("LpNormalization", since=1)
def lp_normalization(xp, input, *, axis=-1, p=2):
    """Input divided by its p-norm (p is 1 or 2) along `axis`; 0 where the norm is 0."""
    if p not in (1, 2):
        raise NodeError(f"LpNormalization knows p = 1 and p = 2, got {p}")
    axis = normalize_axis(axis, input.ndim)
    wide = widen(input)
    if p == 1:
        norm = xp.abs(wide).sum(axis=axis, keepdims=True)
    else:
        norm = xp.sqrt(xp.square(wide).sum(axis=axis, keepdims=True))
    norm[norm == 0] = 1
    return (wide / norm).astype(input.dtype, copy=False)


def _power(xp: Any, x: Any, exponent: float) -> Any:
    """x ** exponent in place; the usual 0.75 through two square roots, far cheaper than the general power."""
    if exponent != 0.75:
        return xp.power(x, x.dtype.type(exponent), out=x)
    xp.sqrt(x, out=x)
    x *= xp.sqrt(x)
    return x
