"""Element types: ONNX's enumeration, numpy's dtypes (ml_dtypes for the small ones) and their names.

A dtype is a numpy dtype everywhere in Sardonyx. Strings are object arrays of `str`. Sub-byte types are unpacked, one
element per byte, in memory; they are packed only in files (`PACKED_BITS`).
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

__all__ = ["FROM_ONNX", "PACKED_BITS", "STRING", "TO_ONNX", "dtype_name", "from_name", "from_onnx", "is_float", "to_onnx"]

STRING = np.dtype(object)

# ONNX TensorProto.DataType code, name in type strings ("tensor(float)"), numpy dtype
_TABLE = (
    (1, "float", np.float32),
    (2, "uint8", np.uint8),
    (3, "int8", np.int8),
    (4, "uint16", np.uint16),
    (5, "int16", np.int16),
    (6, "int32", np.int32),
    (7, "int64", np.int64),
    (8, "string", object),
    (9, "bool", np.bool_),
    (10, "float16", np.float16),
    (11, "double", np.float64),
    (12, "uint32", np.uint32),
    (13, "uint64", np.uint64),
    (14, "complex64", np.complex64),
    (15, "complex128", np.complex128),
    (16, "bfloat16", ml_dtypes.bfloat16),
    (17, "float8e4m3fn", ml_dtypes.float8_e4m3fn),
    (18, "float8e4m3fnuz", ml_dtypes.float8_e4m3fnuz),
    (19, "float8e5m2", ml_dtypes.float8_e5m2),
    (20, "float8e5m2fnuz", ml_dtypes.float8_e5m2fnuz),
    (21, "uint4", ml_dtypes.uint4),
    (22, "int4", ml_dtypes.int4),
    (23, "float4e2m1", ml_dtypes.float4_e2m1fn),
    (24, "float8e8m0", ml_dtypes.float8_e8m0fnu),
    (25, "uint2", ml_dtypes.uint2),
    (26, "int2", ml_dtypes.int2),
    (27, "float6e2m3", ml_dtypes.float6_e2m3fn),
    (28, "float6e3m2", ml_dtypes.float6_e3m2fn),
)

FROM_ONNX: dict[int, np.dtype] = {code: np.dtype(t) for code, _, t in _TABLE}
TO_ONNX: dict[np.dtype, int] = {d: code for code, d in FROM_ONNX.items()}
_NAMES: dict[np.dtype, str] = {np.dtype(t): name for _, name, t in _TABLE}
_BY_NAME: dict[str, np.dtype] = {name: np.dtype(t) for _, name, t in _TABLE}
PACKED_BITS: dict[np.dtype, int] = {
    FROM_ONNX[21]: 4,
    FROM_ONNX[22]: 4,
    FROM_ONNX[23]: 4,
    FROM_ONNX[25]: 2,
    FROM_ONNX[26]: 2,
    FROM_ONNX[27]: 6,
    FROM_ONNX[28]: 6,
}
_SMALL_FLOATS = frozenset(FROM_ONNX[c] for c in (16, 17, 18, 19, 20, 23, 24, 27, 28))


def from_onnx(code: int) -> np.dtype:
    """The numpy dtype of ONNX's TensorProto.DataType `code`; KeyError for a code ONNX does not define."""
    if code not in FROM_ONNX:
        raise KeyError(f"{code} is the number of no ONNX element type; use a value of TensorProto.DataType")
    return FROM_ONNX[code]


def to_onnx(dtype: np.dtype | type) -> int:
    """ONNX's TensorProto.DataType code of a numpy dtype; any numpy string dtype counts as string."""
    dtype = np.dtype(dtype)
    if dtype.kind in "US":
        return 8
    return TO_ONNX[dtype.newbyteorder("=")]


def dtype_name(dtype: np.dtype | None) -> str:
    """The name used in ONNX type strings: `float` for float32, `double` for float64, `string` for object."""
    if dtype is None:
        return "?"
    return _NAMES.get(np.dtype(dtype)) or ("string" if np.dtype(dtype).kind in "US" else str(dtype))


def from_name(name: str) -> np.dtype:
    """The dtype of an ONNX type-string name such as `float` or `bfloat16`."""
    return _BY_NAME[name]


def is_float(dtype: np.dtype) -> bool:
    """Whether `dtype` is a real floating-point type, including bfloat16, float8, float6 and float4."""
    return dtype.kind == "f" or dtype in _SMALL_FLOATS
