"""Cast, CastLike and BitCast between any two ONNX dtypes, and `convert`, which other kernels share.

The rules, where ONNX leaves a choice:

- Float to integer cuts toward zero; to a 2- or 4-bit integer it rounds to nearest, ties to even. What then lies outside
  the type keeps its low bits (two's complement), as between integers. NaN, infinities and |x| >= 2**63 become 0, except
  that uint64 covers its own range. So int8 of [300, nan, inf, -inf, 50, -50] is [44, 0, 0, 0, 50, -50] everywhere.
- Every rounding to a float type is a single one, to nearest even, also from float64 and int64.
- float4 and float6, which know neither NaN nor infinity, saturate, and NaN becomes -0.
- float8e8m0 of a negative number is NaN.
- A float becomes the shortest string that reads back as the same number ("0.1", "1e-07", "NaN", "INF", "-INF"), a whole
  one below 1e16 all its digits ("3", "65504"), a bool "0" or "1". A string that is no number raises ValueError.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from sardonyx.ep.kernels import KernelSet
from sardonyx.ep.shape_kernels.strings import format_numbers, parse_numbers
from sardonyx.errors import NodeError
from sardonyx.ir.dtypes import FROM_ONNX, PACKED_BITS, STRING, dtype_name, from_name, is_float

__all__ = ["convert", "ops"]

ops = KernelSet()

_E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)
_SATURATING = frozenset(
    np.dtype(t) for t in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz)
)
_SMALL_INTEGERS = frozenset(np.dtype(t) for t in (ml_dtypes.int2, ml_dtypes.uint2, ml_dtypes.int4, ml_dtypes.uint4))
_NATIVE = frozenset(np.dtype(t) for t in "?bBhHiIqQefd")
_Converter = Callable[[Any, Any], Any]


@ops.add("Cast", since=1)
def cast_1(xp, x, *, to):
    """Cast whose `to` is a type's name, such as "FLOAT"."""
    return convert(xp, x, from_name(to.lower()))


@ops.add("Cast", since=6)
def cast_6(xp, x, *, to):
    return convert(xp, x, _target(to))


@ops.add("Cast", since=19)
def cast_19(xp, x, *, to, saturate=1):
    return convert(xp, x, _target(to), bool(saturate))


@ops.add("Cast", since=24)
def cast_24(xp, x, *, to, saturate=1, round_mode="up"):
    return convert(xp, x, _target(to), bool(saturate), round_mode)


@ops.add("CastLike", since=15)
def cast_like_15(xp, x, target_type):
    return convert(xp, x, target_type.dtype)


@ops.add("CastLike", since=19)
def cast_like_19(xp, x, target_type, *, saturate=1):
    return convert(xp, x, target_type.dtype, bool(saturate))


@ops.add("CastLike", since=24)
def cast_like_24(xp, x, target_type, *, saturate=1, round_mode="up"):
    return convert(xp, x, target_type.dtype, bool(saturate), round_mode)


@ops.add("BitCast", since=26)
def bit_cast(xp, x, *, to):
    """The same bits read as another dtype of the same width; raises NodeError when the widths differ."""
    dtype = _target(to)
    if _bits(x.dtype) != _bits(dtype):
        raise NodeError(f"BitCast from {dtype_name(x.dtype)} to {dtype_name(dtype)}: the types differ in width")
    if dtype == np.bool_:
        return x.view(xp.uint8) != 0
    return x.view(dtype)


def _target(code: int) -> np.dtype:
    if code not in FROM_ONNX:
        raise NodeError(f"to={code} is no ONNX element type; use a value of TensorProto.DataType")
    return FROM_ONNX[code]


def _bits(dtype: np.dtype) -> int:
    return PACKED_BITS.get(dtype, dtype.itemsize * 8)


def convert(xp: Any, x: Any, dtype: np.dtype, saturate: bool = True, round_mode: str = "up") -> Any:
    """`x` cast to `dtype` (x itself if it has that dtype), by the rules of Cast and of this module's docstring.

    `saturate` matters for float8 targets, `round_mode` (up, down, nearest) for float8e8m0.
    """
    if x.dtype == dtype:
        return x
    return _converter(x.dtype, dtype, saturate, round_mode)(xp, x)


@functools.cache
def _converter(source: np.dtype, target: np.dtype, saturate: bool, round_mode: str) -> _Converter:
    if source.kind in "OUS":
        return lambda xp, x: parse_numbers(x, target, convert)
    if target == STRING:
        return lambda xp, x: format_numbers(x if source in _NATIVE else _widen(xp, x))
    if source in _NATIVE and target in _NATIVE and (target.kind == "f" or source.kind != "f"):
        return lambda xp, x: x.astype(target)
    if target.kind == "b":
        return lambda xp, x: _widen(xp, x) != 0
    if target.kind in "iu" or target in _SMALL_INTEGERS:
        return _to_integer(source, target)
    if target in _NATIVE:
        return lambda xp, x: _widen(xp, x).astype(target)
    if target == _E8M0:
        return lambda xp, x: _to_e8m0(xp, _widen(xp, x), saturate, round_mode)
    if target in _SATURATING and saturate:
        limit = float(ml_dtypes.finfo(target).max)
        return lambda xp, x: xp.clip(_single(xp, x), -limit, limit).astype(target)
    return lambda xp, x: _single(xp, x).astype(target)


def _to_integer(source: np.dtype, target: np.dtype) -> _Converter:
    if is_float(source):
        info: Any = ml_dtypes.iinfo(target)
        low, high = int(info.min) - 1, int(info.max) + 1
        return lambda xp, x: _float_to_integer(xp, _widen(xp, x), target, low, high)
    return lambda xp, x: x.astype(xp.int8).astype(target)


def _widen(xp, x):
    """x as float32 or float64, whichever holds its values (64-bit integers are rounded to float64)."""
    if x.dtype.kind == "f" and x.dtype.itemsize >= 4:
        return x
    if x.dtype in _SMALL_INTEGERS:
        x = x.astype(xp.int8)
    return x.astype(xp.float64 if x.dtype.kind in "iu" and x.dtype.itemsize >= 4 else xp.float32)


def _single(xp, x):
    """x as float32 for a later rounding to a shorter type: what does not fit is rounded to odd.

    Rounding to odd keeps the second rounding right (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
    proved algorithms using rounding to odd", IEEE Trans. Computers 57, 2008).
    """
    x = _widen(xp, x)
    if x.dtype.itemsize == 4:
        return x
    y = x.astype(xp.float32)
    bits = y.view(xp.int32) - (xp.abs(y) > xp.abs(x))
    return (bits | (y != x)).astype(xp.int32).view(xp.float32)


def _float_to_integer(xp, x, dtype, low: int, high: int):
    if dtype in _SMALL_INTEGERS:
        x = xp.rint(x)
    if x.size == 0 or (float(x.min()) > low and float(x.max()) < high):
        return x.astype(dtype)
    low_bits = xp.where(xp.abs(x) < 2.0**63, x, 0).astype(xp.int64)
    if dtype == np.uint64:
        upper = (x >= 2.0**63) & (x < 2.0**64)
        return xp.where(upper, xp.where(upper, x, 0).astype(xp.uint64), low_bits.astype(xp.uint64))
    return low_bits.astype(dtype)


def _to_e8m0(xp, x, saturate: bool, round_mode: str):
    """The power of two next to x; E8M0 stores its exponent plus 127, and 255 is NaN (OCP Microscaling Formats 1.0)."""
    fraction, exponent = xp.frexp(x)
    if round_mode == "up":
        exponent = exponent + (fraction > 0.5)
    elif round_mode == "nearest":
        exponent = exponent + (fraction >= 0.75)
    elif round_mode != "down":
        raise NodeError(f"round_mode={round_mode!r}: use up, down or nearest")
    biased = exponent + 126
    biased = xp.where(x == 0, -1, xp.where(xp.isposinf(x), 255, biased))
    if saturate:
        biased = xp.clip(biased, 0, 254)
    biased = xp.where((x < 0) | xp.isnan(x) | (biased < 0) | (biased > 254), 255, biased)
    return biased.astype(xp.uint8).view(_E8M0)
