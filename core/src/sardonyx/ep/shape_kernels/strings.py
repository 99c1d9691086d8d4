"""Numbers to strings and back, element by element (the rules stand in `cast`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sardonyx.ir.dtypes import is_float

__all__ = ["format_numbers", "parse_numbers"]

_SPECIAL = {"nan": "NaN", "inf": "INF", "-inf": "-INF"}


def format_numbers(x: np.ndarray) -> np.ndarray:
    """Object array of the decimal forms of a float, integer or bool array."""
    if x.dtype.kind == "b":
        x = x.astype(np.int8)
    texts = x.astype(np.str_).ravel().tolist()
    if is_float(x.dtype):
        texts = [_plain(value, text) for value, text in zip(x.ravel(), texts, strict=True)]
    return _shaped(texts, np.dtype(object), x.shape)


def _plain(value: np.floating[Any], text: str) -> str:
    """The decimal form of a float that numpy writes as `text`; without an exponent where Python writes none."""
    number = float(value)
    if not number or not 1e-4 <= abs(number) < 1e16:
        return _SPECIAL.get(text, text.removesuffix(".0"))
    if number.is_integer():
        return str(int(number))
    return np.format_float_positional(value, trim="-") if "e" in text else text


def parse_numbers(x: np.ndarray, dtype: np.dtype, convert: Callable[..., Any]) -> np.ndarray:
    """Array of `dtype` read from strings; `convert` is cast's, for what is read as a float first.

    Takes decimal and scientific notation, and inf, +inf, -inf, nan in any case. Raises ValueError for anything else.
    """
    texts = [str(text) for text in x.ravel().tolist()]
    if not is_float(dtype) and dtype.kind != "b":
        low_bits = _shaped([_integer(text) & 0xFFFFFFFFFFFFFFFF for text in texts], np.dtype(np.uint64), x.shape)
        return convert(np, low_bits, dtype)
    return convert(np, _shaped([_number(text) for text in texts], np.dtype(np.float64), x.shape), dtype)


def _number(text: str) -> float:
    try:
        if "_" not in text:
            return float(text)
    except ValueError:
        pass
    raise ValueError(f"Cast: the string {text!r} is not a number")


def _integer(text: str) -> int:
    if text.removeprefix("-").isdecimal():
        return int(text)
    number = _number(text)
    return math.trunc(number) if math.isfinite(number) else 0


def _shaped(values: list[Any], dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    return np.array(values, dtype=dtype).reshape(shape)
