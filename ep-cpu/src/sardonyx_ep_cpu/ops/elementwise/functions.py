"""Exponential, logarithm, trigonometric and hyperbolic functions and their inverses, Erf, Reciprocal, IsNaN, IsInf.

float16 and bfloat16 are computed in float32 and rounded once.
"""

from __future__ import annotations

from sardonyx.ep import KernelSet
from sardonyx_ep_cpu.ops.elementwise import special
from sardonyx_ep_cpu.ops.elementwise.blocks import in_blocks, in_single

__all__ = ["ops"]

ops = KernelSet()


@ops.add("Exp", since=6)
def exp(xp, x):
    return in_single(xp, xp.exp, x)


@ops.add("Log", since=6)
def log(xp, x):
    """Natural logarithm: -inf at 0, NaN below."""
    return in_single(xp, xp.log, x)


@ops.add("Sin", since=7)
def sin(xp, x):
    return in_single(xp, xp.sin, x)


@ops.add("Cos", since=7)
def cos(xp, x):
    return in_single(xp, xp.cos, x)


@ops.add("Tan", since=7)
def tan(xp, x):
    return in_single(xp, xp.tan, x)


@ops.add("Asin", since=7)
def asin(xp, x):
    return in_single(xp, xp.arcsin, x)


@ops.add("Acos", since=7)
def acos(xp, x):
    return in_single(xp, xp.arccos, x)


@ops.add("Atan", since=7)
def atan(xp, x):
    return in_single(xp, xp.arctan, x)


@ops.add("Sinh", since=9)
def sinh(xp, x):
    return in_single(xp, xp.sinh, x)


@ops.add("Cosh", since=9)
def cosh(xp, x):
    return in_single(xp, xp.cosh, x)


@ops.add("Tanh", since=6)
def tanh(xp, x):
    return in_single(xp, xp.tanh, x)


@ops.add("Asinh", since=9)
def asinh(xp, x):
    return in_single(xp, xp.arcsinh, x)


@ops.add("Acosh", since=9)
def acosh(xp, x):
    return in_single(xp, xp.arccosh, x)


@ops.add("Atanh", since=9)
def atanh(xp, x):
    return in_single(xp, xp.arctanh, x)


@ops.add("Reciprocal", since=6)
def reciprocal(xp, x):
    return in_single(xp, xp.reciprocal, x)


@ops.add("Erf", since=9)
def erf(xp, x):
    """The error function; of integers (opset 9) it is cut toward zero."""
    if x.dtype.kind in "iu":
        return in_blocks(xp, special.erf, x.astype(xp.float64)).astype(x.dtype)
    return in_blocks(xp, special.erf, x)


@ops.add("IsNaN", since=9)
def is_nan(xp, x):
    return xp.isnan(x)


@ops.add("IsInf", since=10)
def is_inf(xp, x, *, detect_negative=1, detect_positive=1):
    """Where x is infinite, of the signs asked for."""
    infinite = xp.isinf(x)
    if detect_negative and detect_positive:
        return infinite
    if not (detect_negative or detect_positive):
        return xp.zeros(x.shape, xp.bool_)
    return infinite & (x > 0 if detect_positive else x < 0)
