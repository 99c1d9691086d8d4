"""The logistic, error and normal distribution functions, fast in float32 and exact to the last digits in float64.

Each function writes `out` from the flat array `x` of float32 or float64 (see `blocks.in_blocks`). The float32 forms are
rational approximations, fitted here by iterated, weighted least squares (Sanathanan-Koerner with Lawson's weights).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["erf", "logistic", "times_normal_cdf"]

_SHORT = 1024  # elements up to which scipy's element-wise loop beats some twenty calls

# erf(x) / x = P(x²) / Q(x²) for |x| <= 3.925, beyond which float32's erf is ±1; relative error 2e-8
_ERF_LIMIT = 3.925
_ERF_P = (1.1283791065, 0.19059474766, 0.052769433707, 0.0037725942675, 0.00028484480572, 2.0460233827e-06)
_ERF_Q = (1.0, 0.5022429228, 0.11418313533, 0.014983285218, 0.0011638690485, 3.8047801354e-05)

# Φ(-z) exp(z²/2) = P(z) / Q(z) for 0 <= z <= 14; relative error 6e-9
_TAIL_LIMIT = 14.0
_TAIL_P = (0.5, 0.43725210428, 0.18246275187, 0.040372870862, 0.0040776589885)
_TAIL_Q = (1.0, 1.6723891497, 1.1992944479, 0.4674315155, 0.10120658577, 0.010221046396)


def logistic(xp: Any, x: Any, out: Any) -> None:
    """1 / (1 + exp(-x)). Here x may be of any shape and strides, and `out` may be x."""
    # Not by numpy's `negative`, which is wrong in place for strides of 16 bytes (float32) and 64 (float64).
    xp.multiply(x, -1, out=out)
    xp.exp(out, out=out)
    out += 1
    xp.reciprocal(out, out=out)


def erf(xp: Any, x: Any, out: Any) -> None:
    """The error function, within 7 units in the last place in float32."""
    if x.dtype.itemsize == 8 or x.size <= _SHORT:
        from scipy import special

        special.erf(x, out=out)
        return
    xp.minimum(x, _ERF_LIMIT, out=out)
    xp.maximum(out, -_ERF_LIMIT, out=out)
    square = out * out
    out *= _polynomial(_ERF_P, square)
    out /= _polynomial(_ERF_Q, square)
    xp.minimum(out, 1.0, out=out)
    xp.maximum(out, -1.0, out=out)


def times_normal_cdf(xp: Any, x: Any, out: Any) -> None:
    """x Φ(x), Φ the distribution function of the standard normal; no digits are lost where Φ is small."""
    if x.dtype.itemsize == 8 or x.size <= _SHORT:
        from scipy import special

        special.ndtr(x, out=out)
        out *= x
        return
    z = xp.minimum(xp.abs(x), _TAIL_LIMIT)
    tail = z * z
    tail *= -0.5
    xp.exp(tail, out=tail)
    tail *= z
    tail *= _polynomial(_TAIL_P, z)
    tail /= _polynomial(_TAIL_Q, z)
    xp.maximum(x, 0, out=out)
    out -= tail


def _polynomial(coefficients: Sequence[float], x: Any) -> Any:
    result = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        result += coefficient
        result *= x
    result += coefficients[0]
    return result
