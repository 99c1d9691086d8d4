"""From real numbers to a quantized dtype and back: the arithmetic that all quantized operators share."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from sardonyx.ep.shape_kernels.cast import convert
from sardonyx.ir.dtypes import is_float

__all__ = ["dequantize", "quantize", "requantize", "saturate", "to_integers"]

_BLOCK = 16384  # elements that stay in cache between the steps


def saturate(xp: Any, real: Any, zero: Any, dtype: np.dtype) -> None:
    """Overwrite `real` (float32 or float64) with saturate(round(real) + zero), the values that `dtype` will hold.

    Rounds to nearest even; NaN stays. `zero` broadcasts to `real` or is None.
    """
    xp.rint(real, out=real)
    if zero is not None:
        real += zero
    low, high = _range(dtype)
    xp.clip(real, low, high, out=real)


def to_integers(xp: Any, real: Any, zero: Any, dtype: np.dtype) -> Any:
    """saturate(round(real) + zero) as `dtype`; NaN becomes 0. `real` is overwritten (see `saturate`)."""
    saturate(xp, real, zero, dtype)
    return real.astype(dtype)


def requantize(xp: Any, total: Any, multiplier: Any, zero: Any, dtype: np.dtype) -> Any:
    """saturate(round(total * multiplier) + zero) as `dtype` for whole numbers `total`; a float32 total is overwritten.

    The multiplier, of float32, and the zero point (or None) broadcast to the total.
    """
    real = xp.asarray(total, dtype=xp.float32)
    real *= multiplier
    return to_integers(xp, real, zero, dtype)


def quantize(xp: Any, x: Any, scale: Any, zero: Any, dtype: np.dtype, saturating: bool = True, precision: np.dtype | None = None) -> Any:
    """x / scale, divided in `precision` (the scale's own by default), rounded, shifted by `zero` and saturated, as `dtype`.

    Integers are rounded to nearest even before the shift. float8 follows Cast's rules and `saturating`; the smaller floats
    always saturate. scale and zero broadcast to x; zero may be None.
    """
    if precision is None:
        precision = scale.dtype if is_float(scale.dtype) and scale.dtype.itemsize > 1 else np.dtype(np.float32)
    working = np.float64 if precision.itemsize == 8 else np.float32
    scale = scale.astype(precision).astype(working)
    zero = None if zero is None or not zero.any() else zero.astype(working)
    if x.dtype == working == precision and scale.ndim == 0 and dtype.itemsize == 1 and not is_float(dtype):
        return _per_tensor(xp, x, scale, zero, dtype)
    real = xp.asarray(x.astype(precision).astype(working, copy=False) / scale)
    if precision.itemsize == 2:
        real = real.astype(precision).astype(working)
    if not is_float(dtype):
        return to_integers(xp, real, zero, dtype)
    if zero is not None:
        real = real + zero
    return convert(xp, real, dtype, saturating)


def _per_tensor(xp, x, scale, zero, dtype):
    y = xp.empty(x.shape, dtype)
    source, target = x.reshape(-1), y.reshape(-1)
    for start in range(0, source.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        target[part] = to_integers(xp, source[part] / scale, zero, dtype)
    return y


def dequantize(xp: Any, x: Any, scale: Any, zero: Any, dtype: np.dtype) -> Any:
    """(x - zero) * scale as `dtype`, computed in float32 (from int32 in float64) and rounded once; zero may be None."""
    working = xp.float64 if x.dtype.itemsize >= 4 else xp.float32
    real = x.astype(working)
    if zero is not None:
        real -= zero.astype(working)
    real *= scale.astype(working)
    return real.astype(dtype, copy=False)


@functools.cache
def _range(dtype: np.dtype) -> tuple[float, float]:
    info: Any = ml_dtypes.iinfo(dtype)
    return float(info.min), float(info.max)
