"""Smooth activations: Sigmoid, Swish, SwiGLU, Gelu, Mish, Softplus, Softsign, Elu, Selu, Celu.

Every formula keeps its relative accuracy where the function is near zero, and overflows nowhere but where its value does.
"""

from __future__ import annotations

import math

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.elementwise import special
from sardonyx_ep_cpu.ops.elementwise.blocks import in_blocks
from sardonyx_ep_cpu.precision import widen

__all__ = ["ops"]

ops = KernelSet()


@ops.add("Sigmoid", since=6)
def sigmoid(xp, x):
    """1 / (1 + exp(-x))."""
    return in_blocks(xp, special.logistic, x)


@ops.add("Swish", since=24)
def swish(xp, x, *, alpha=1.0):
    """x sigmoid(alpha x)."""

    def chain(xp, x, y):
        xp.multiply(x, -alpha, out=y)
        xp.exp(y, out=y)
        y += 1
        xp.divide(x, y, out=y)

    return in_blocks(xp, chain, x)


@ops.add("SwiGLU", since=28)
def swiglu(xp, a, b, *, alpha=1.0):
    """Swish(a) b for a and b of one shape; raises NodeError otherwise."""
    if a.shape != b.shape:
        raise NodeError(f"SwiGLU: A has shape {a.shape}, B {b.shape}; they must be equal")
    return (swish(xp, widen(a), alpha=alpha) * widen(b)).astype(a.dtype, copy=False)


@ops.add("Gelu", since=20)
def gelu(xp, x, *, approximate="none"):
    """x Φ(x), Φ the normal distribution function; approximate="tanh" uses x sigmoid(2 sqrt(2/π) (x + 0.044715 x³))."""
    if approximate == "tanh":
        return in_blocks(xp, _gelu_tanh, x)
    if approximate != "none":
        raise NodeError(f"Gelu: approximate={approximate!r}; use none or tanh")
    return in_blocks(xp, special.times_normal_cdf, x)


def _gelu_tanh(xp, x, y):
    scale = -2.0 * math.sqrt(2.0 / math.pi)
    xp.multiply(x, x, out=y)
    y *= scale * 0.044715
    y += scale
    y *= x
    xp.exp(y, out=y)
    y += 1
    xp.divide(x, y, out=y)


@ops.add("Mish", since=18)
def mish(xp, x):
    """x tanh(softplus(x)), by tanh(ln(1 + e)) = n / (n + 2) with n = e (e + 2)."""
    return in_blocks(xp, _mish, x)


def _mish(xp, x, y):
    xp.minimum(x, 20.0, out=y)
    xp.exp(y, out=y)
    ratio = y + 2
    ratio *= y
    xp.add(ratio, 2, out=y)
    ratio /= y
    xp.multiply(x, ratio, out=y)


@ops.add("Softplus")
def softplus(xp, x):
    """ln(1 + exp(x)) as max(x, 0) + ln(1 + exp(-|x|))."""
    return in_blocks(xp, _softplus, x)


def _softplus(xp, x, y):
    small = xp.abs(x)
    xp.negative(small, out=small)
    xp.exp(small, out=small)
    # the logarithm of the rounded sum, and to first order what the rounding lost
    total = small + 1
    xp.subtract(total, 1, out=y)
    small -= y
    small /= total
    xp.log(total, out=total)
    total += small
    xp.maximum(x, 0, out=y)
    y += total


@ops.add("Softsign")
def softsign(xp, x):
    """x / (1 + |x|)."""
    return in_blocks(xp, _softsign, x)


def _softsign(xp, x, y):
    xp.abs(x, out=y)
    y += 1
    xp.divide(x, y, out=y)


@ops.add("Elu", since=6)
def elu(xp, x, *, alpha=1.0):
    """x above 0, alpha (exp(x) - 1) below."""
    return _exponential_unit(xp, x, 1.0, alpha, 1.0)


@ops.add("Selu", since=6)
def selu(xp, x, *, alpha=1.6732631921768188, gamma=1.0507010221481323):
    """gamma x above 0, gamma alpha (exp(x) - 1) below."""
    return _exponential_unit(xp, x, gamma, alpha, 1.0)


@ops.add("Celu", since=12)
def celu(xp, x, *, alpha=1.0):
    """x above 0, alpha (exp(x / alpha) - 1) below."""
    return _exponential_unit(xp, x, 1.0, alpha, alpha)


def _exponential_unit(xp, x, gain, alpha, width):
    """gain (max(x, 0) + alpha (exp(v) - 1)) with v = min(x, 0) / width, by exp(v) - 1 = tanh(v / 2) (exp(v) + 1)."""

    narrowing = 0.5 / width if width else math.copysign(math.inf, width)
    keeps_zero = math.isfinite(alpha) or width != 1  # else alpha times the 0 that stands for x above 0 is NaN

    def chain(xp, x, y):
        xp.minimum(x, 0, out=y)
        y *= narrowing
        power = y * 2
        xp.exp(power, out=power)
        power += 1
        xp.tanh(y, out=y)
        y *= power
        y *= alpha
        if keeps_zero:
            y += xp.maximum(x, 0)
        else:
            xp.copyto(y, x, where=~(x < 0))
        if gain != 1:
            y *= gain

    return in_blocks(xp, chain, x)
