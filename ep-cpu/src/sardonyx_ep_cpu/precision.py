"""Half precision: float16 and bfloat16 tensors are computed in float32 and rounded once, at the end."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from sardonyx.errors import NodeError
from sardonyx.ir.dtypes import FROM_ONNX, is_float

__all__ = ["is_half", "named_dtype", "named_float", "stash_dtype", "widen", "working_dtype"]

_HALVES = frozenset({np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)})
_FLOAT32 = np.dtype(np.float32)


def is_half(dtype: np.dtype) -> bool:
    """Whether `dtype` is float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype in _HALVES


def working_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype to compute in: float32 for float16 and bfloat16, else `dtype` itself."""
    return _FLOAT32 if dtype.itemsize == 2 and dtype in _HALVES else dtype


def stash_dtype(stash_type: int) -> np.dtype:
    """The dtype that the attribute `stash_type` of a normalisation names; NodeError if it is no floating-point type."""
    return named_float("stash_type", stash_type)


def named_float(attribute: str, code: int) -> np.dtype:
    """The dtype that an attribute names by its ONNX number; NodeError if it is no floating-point type."""
    dtype = FROM_ONNX.get(code)
    if dtype is None or not is_float(dtype):
        raise NodeError(f"{attribute}={code} names no floating-point type; use a value of TensorProto.DataType such as 1, float")
    return dtype


def named_dtype(attribute: str, code: int) -> np.dtype:
    """The dtype that an attribute names by its ONNX number; NodeError if it is none."""
    if code not in FROM_ONNX:
        raise NodeError(f"{attribute}={code} names no element type; use a value of TensorProto.DataType")
    return FROM_ONNX[code]


def widen(x: Any) -> Any:
    """`x` as float32 if it is a float16 or bfloat16 array, else `x` itself (not a copy); None stays None."""
    if x is not None and x.dtype.itemsize == 2 and x.dtype in _HALVES:
        return x.astype(_FLOAT32)
    return x
