"""Piecewise linear activations: Relu, LeakyRelu, PRelu, HardSigmoid, HardSwish, ThresholdedRelu, Shrink."""

from __future__ import annotations

import math

from sardonyx.ep import KernelSet
from sardonyx.ep.shape_kernels.cast import convert
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.elementwise.blocks import in_blocks

__all__ = ["ops"]

ops = KernelSet()


@ops.add("Relu", since=6)
def relu(xp, x):
    return xp.maximum(x, 0)


@ops.add("LeakyRelu", since=6)
def leaky_relu(xp, x, *, alpha=0.009999999776482582):
    """x above 0, alpha x below."""
    if alpha == 0 or not math.isfinite(alpha):  # of inf, or with it, the product may be NaN
        return xp.where(x < 0, x * x.dtype.type(alpha), x)
    pick = xp.maximum if alpha <= 1 else xp.minimum

    def chain(xp, x, y):
        xp.multiply(x, alpha, out=y)
        pick(x, y, out=y)

    return in_blocks(xp, chain, x)


@ops.add("PRelu", since=7)
def prelu(xp, x, slope):
    """x above 0, slope x below; the slope broadcasts to x, never the other way (NodeError)."""
    result = xp.where(x < 0, slope * x, x)
    if result.shape != x.shape:
        raise NodeError(f"PRelu: slope of shape {slope.shape} does not broadcast to X of shape {x.shape}")
    return result


@ops.add("HardSigmoid", since=6)
def hard_sigmoid(xp, x, *, alpha=0.20000000298023224, beta=0.5):
    """alpha x + beta, kept within [0, 1]."""

    def chain(xp, x, y):
        xp.multiply(x, alpha, out=y)
        y += beta
        xp.maximum(y, 0, out=y)
        xp.minimum(y, 1, out=y)

    return in_blocks(xp, chain, x)


@ops.add("HardSwish", since=14)
def hard_swish(xp, x):
    """x times x / 6 + 1 / 2, the factor kept within [0, 1]."""
    return in_blocks(xp, _hard_swish, x)


def _hard_swish(xp, x, y):
    xp.multiply(x, 1 / 6, out=y)
    y += 0.5
    xp.maximum(y, 0, out=y)
    xp.minimum(y, 1, out=y)
    y *= x


@ops.add("ThresholdedRelu", since=10)
def thresholded_relu(xp, x, *, alpha=1.0):
    """x above alpha, 0 elsewhere, NaN included."""
    return xp.where(x > alpha, x, x.dtype.type(0))


@ops.add("Shrink", since=9)
def shrink(xp, x, *, bias=0.0, lambd=0.5):
    """x + bias below -lambd, x - bias above lambd, 0 elsewhere, NaN included; of integers as Cast would convert it."""
    if x.dtype.kind in "iu":
        return convert(xp, shrink(xp, x.astype(xp.float64), bias=bias, lambd=lambd), x.dtype)

    def chain(xp, x, y):
        y[...] = xp.where(x > lambd, x - bias, xp.where(x < -lambd, x + bias, 0))

    return in_blocks(xp, chain, x)
