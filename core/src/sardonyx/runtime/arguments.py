"""Checks of what callers give: each returns the argument as it is used, or raises an error that says what belongs there.

`what` is how the caller knows the argument, e.g. "SessionOptions.intra_op_num_threads".
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput, InvalidType, OutOfMemory, did_you_mean
from sardonyx.ir.dtypes import FROM_ONNX, TO_ONNX

__all__ = ["element_type", "flag", "instance", "member", "names", "new_array", "number", "path", "shape", "shown", "text", "whole"]


def shown(value: Any) -> str:
    """A value in a message: as Python writes it, not at any length."""
    written = repr(value)
    return written if len(written) <= 80 else f"{written[:77]}..."


def instance(what: str, value: Any, kind: type | tuple[type, ...], form: str) -> Any:
    """An object of a class; `form` says in words what is taken."""
    if not isinstance(value, kind):
        raise InvalidType(f"{what} is {form}, not {type(value).__name__} {shown(value)}")
    return value


def text(what: str, value: Any) -> str:
    """A str."""
    return str(instance(what, value, str, "text (str)"))


def flag(what: str, value: Any) -> bool:
    """True or False; a number and None count as in Python."""
    return bool(instance(what, value, (bool, int, np.bool_, type(None)), "True or False"))


def whole(what: str, value: Any, *, least: int | None = None, bits: int = 32) -> int:
    """A whole number, `least` or more, that fits a signed integer of so many bits; InvalidType for one that does not."""
    try:
        n = operator.index(value)
    except TypeError:
        raise InvalidType(f"{what} is a whole number, not {type(value).__name__} {shown(value)}") from None
    if not -(1 << (bits - 1)) <= n < 1 << (bits - 1):
        raise InvalidType(f"{what} is a whole number of {bits} bits, not {shown(value)}")
    if least is not None and n < least:
        raise InvalidInput(f"{what} is a whole number, {least} or more, not {n}")
    return n


def number(what: str, value: Any, *, least: float = 0.0) -> float:
    """A finite number, `least` or more."""
    if isinstance(value, (str, bytes, bool)) or not hasattr(value, "__float__"):
        raise InvalidType(f"{what} is a number, not {type(value).__name__} {shown(value)}")
    try:
        x = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidType(f"{what} is a number, not {type(value).__name__} {shown(value)}") from None
    if not math.isfinite(x) or x < least:
        raise InvalidInput(f"{what} is a finite number, {least:g} or more, not {x:g}")
    return x


def member(what: str, value: Any, known: Iterable[str]) -> str:
    """One of the names that are known."""
    known = list(dict.fromkeys(known))
    if text(what, value) not in known:
        raise InvalidInput(f"{what} is one of {', '.join(known)}, not {shown(value)}{did_you_mean(value, known)}")
    return str(value)


def names(what: str, value: Any) -> list[str]:
    """A list (or tuple, set, ...) of names."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise InvalidType(f"{what} is a list of names, not {type(value).__name__} {shown(value)}")
    return [text(f"each of {what}", v) for v in value]


def path(what: str, value: Any) -> str:
    """The path of a file: str or os.PathLike, not empty, without NUL."""
    instance(what, value, (str, os.PathLike), "the path of a file (str or os.PathLike)")
    found = text(what, os.fspath(value))
    if not found:
        raise InvalidInput(f"{what} is empty: it is the path of a file")
    if "\0" in found:
        raise InvalidInput(f"{what} {found!r} has a NUL character, which no path has")
    return found


def shape(what: str, value: Any) -> tuple[int, ...]:
    """A shape without symbols: whole numbers, 0 or more."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise InvalidType(f"{what} is a list of sizes, not {type(value).__name__} {shown(value)}")
    return tuple(whole(f"each dimension of {what}", d, least=0, bits=64) for d in value)


def element_type(what: str, value: Any) -> np.dtype:
    """The dtype that a numpy dtype (or what numpy makes one of) or a code of ONNX's TensorProto.DataType stands for."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value not in FROM_ONNX:
            raise InvalidInput(f"{what}: {value} is no element type of ONNX; the codes are 1 to {max(FROM_ONNX)}")
        return FROM_ONNX[value]
    try:
        dtype = np.dtype(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} is a numpy dtype or a code of ONNX's TensorProto.DataType, not {shown(value)}") from None
    if dtype.kind not in "US" and dtype.newbyteorder("=") not in TO_ONNX:
        raise InvalidInput(f"{what}: ONNX has no element type like numpy's {dtype}")
    return dtype


def new_array(what: str, dims: Any, dtype: Any) -> np.ndarray:
    """An uninitialised array of a shape and element type that are checked; OutOfMemory where there is no room for it."""
    sizes, kind = shape(f"the shape of {what}", dims), element_type(f"the element type of {what}", dtype)
    if kind.kind in "OUS":
        raise InvalidInput(f"{what}: a tensor of strings cannot be uninitialised; make it from a numpy array")
    try:
        return np.empty(sizes, kind)
    except (MemoryError, ValueError) as e:
        raise OutOfMemory(f"{what} of {kind}{list(sizes)} would take {math.prod(sizes) * kind.itemsize:,} bytes: {e}") from None
