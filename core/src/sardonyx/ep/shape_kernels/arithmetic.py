"""Elementwise arithmetic: Add, Sub, Mul, Div, Mod, Pow, Min, Max, Clip, Abs, Neg, Sign, Sqrt and the roundings.

All broadcast like numpy. Integers wrap around (two's complement); dividing an integer by zero gives 0.
"""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from sardonyx.ep.kernels import KernelSet
from sardonyx.ir.dtypes import is_float

__all__ = ["ops"]

ops = KernelSet()


@ops.add("Add", since=7)
def add(xp, a, b):
    return xp.add(a, b)


@ops.add("Sub", since=7)
def sub(xp, a, b):
    return xp.subtract(a, b)


@ops.add("Mul", since=7)
def mul(xp, a, b):
    return xp.multiply(a, b)


@ops.add("Div", since=7)
def div(xp, a, b):
    """Quotient; of integers it is cut toward zero."""
    if a.dtype.kind not in "iu":
        return xp.divide(a, b)
    quotient = xp.floor_divide(a, b)
    if a.dtype.kind == "u":
        return quotient
    return quotient + ((quotient < 0) & (quotient * b != a)).astype(quotient.dtype)


@ops.add("Mod", since=10)
def mod(xp, a, b, *, fmod=0):
    """Remainder with the sign of `b`, or with fmod=1 that of `a`; any dtype in both forms (opset 28)."""
    function = xp.fmod if fmod else xp.remainder
    if a.dtype.kind != "V":
        return function(a, b)
    return function(a.astype(xp.float32), b.astype(xp.float32)).astype(a.dtype)


@ops.add("Neg", since=6)
def neg(xp, x):
    return xp.negative(x)


@ops.add("Abs", since=6)
def abs_(xp, x):
    return xp.absolute(x)


@ops.add("Sign", since=9)
def sign(xp, x):
    """-1, 0 or 1; NaN stays NaN."""
    return xp.sign(x)


@ops.add("Min", since=8)
def min_(xp, *xs):
    """Least of all inputs, NaN if any is NaN."""
    return _reduce(xp.minimum, xs)


@ops.add("Max", since=8)
def max_(xp, *xs):
    """Greatest of all inputs, NaN if any is NaN."""
    return _reduce(xp.maximum, xs)


def _reduce(function: Any, xs: tuple[Any, ...]) -> Any:
    result = xs[0]
    for x in xs[1:]:
        result = function(result, x)
    return result


@ops.add("Pow", since=7)
def pow_(xp, x, y):
    """x to the power y in x's dtype; an integer result that is no integer is cut toward zero, one not finite is 0."""
    if x.dtype.kind in "iu":
        return _pow_integer(xp, x, y)
    if y.size == 1 and y.ndim <= x.ndim:
        exponent = float(y.reshape(()))
        if exponent == 2:
            return xp.multiply(x, x)
        if exponent == 3 and x.dtype.itemsize >= 4:
            return x * x * x
    if x.dtype == y.dtype and x.dtype.kind == "f":
        return _pow_float(xp, x, y)
    wide = xp.float64 if x.dtype.itemsize == 8 or y.dtype.itemsize >= 4 else xp.float32
    return _pow_float(xp, x.astype(wide), y.astype(wide)).astype(x.dtype)


def _pow_float(xp, x, y):
    power = xp.power(x, y)
    roots = y == 0.5
    if not roots.any():
        return power
    # numpy takes the square root for an exponent of 0.5 that is repeated, but C's pow(-inf, 0.5) is inf, and pow(-0.0, 0.5) is 0.
    power = xp.where(roots & (x == 0), xp.zeros((), power.dtype), power)
    return xp.where(roots & (x == -xp.inf), xp.full((), xp.inf, power.dtype), power)


def _pow_integer(xp, x, y):
    if is_float(y.dtype):
        power = xp.power(x.astype(xp.float64), y.astype(xp.float64))
        return xp.where(xp.abs(power) < 2.0**63, power, 0).astype(x.dtype)
    negative = y < 0
    whole = xp.power(x.astype(xp.uint64), xp.where(negative, 0, y).astype(xp.uint64)).astype(x.dtype)
    if y.dtype.kind == "u" or not negative.any():
        return whole
    inverse = xp.where(y & 1, xp.where(xp.abs(x) == 1, x, 0), xp.abs(x) == 1).astype(x.dtype)
    return xp.where(negative, inverse, whole)


@ops.add("Sqrt", since=6)
def sqrt(xp, x):
    return xp.sqrt(x)


@ops.add("Floor", since=6)
def floor(xp, x):
    return xp.floor(x)


@ops.add("Ceil", since=6)
def ceil(xp, x):
    return xp.ceil(x)


@ops.add("Round", since=11)
def round_(xp, x):
    """Nearest integer, ties to even."""
    return xp.rint(x)


@ops.add("Clip", since=11)
def clip(xp, x, min=None, max=None):
    """min(max, max(min, x)); NaN stays. An absent bound is the dtype's least or greatest finite value."""
    lowest, highest = _limits(x.dtype)
    low = lowest if min is None else min.reshape(())
    high = highest if max is None else max.reshape(())
    if x.dtype.kind == "V":
        # numpy's clip would give bfloat16 back as float32.
        return xp.minimum(xp.maximum(x, low), high)
    return xp.clip(x, low, high)


@functools.cache
def _limits(dtype: np.dtype) -> tuple[Any, Any]:
    info: Any = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.finfo(dtype)
    return dtype.type(info.min), dtype.type(info.max)
