"""DLPack, bfloat16 included: numpy neither gives nor takes it, so it passes as uint16 and the capsule's type is changed.

Structures: DLPack's dlpack.h, https://dmlc.github.io/dlpack/latest/c_api.html.
"""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["Capsule", "from_dlpack", "to_dlpack"]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
UINT, BFLOAT = 1, 4
HOST = 1


class _Head(ctypes.Structure):
    """The beginning of a DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


# Where the DLTensor begins in what a capsule of this name points at.
OFFSETS = {b"dltensor": 0, b"dltensor_versioned": 32}


class Capsule:
    """A bare DLPack capsule of the host, as numpy takes it."""

    def __init__(self, capsule: Any):
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (HOST, 0)


def to_dlpack(array: np.ndarray, **request: Any) -> Any:
    """A capsule of the array, which shares its memory. Raises BufferError for a dtype that DLPack does not have."""
    if array.dtype != BFLOAT16:
        return array.__dlpack__(**request)
    capsule = array.view(np.uint16).__dlpack__(**request)
    _head(capsule).code = BFLOAT
    return capsule


def from_dlpack(data: Any) -> np.ndarray:
    """An array over the memory of an exporter or of a bare capsule. Raises what numpy raises for what it cannot hold."""
    source = data if hasattr(data, "__dlpack__") else Capsule(data)
    try:
        return np.from_dlpack(source)
    except (RuntimeError, BufferError):
        capsule = source.__dlpack__()
        head = _head(capsule)
        if (head.device, head.code, head.bits, head.lanes) != (HOST, BFLOAT, 16, 1):
            raise
    head.code = UINT
    return np.from_dlpack(Capsule(capsule)).view(BFLOAT16)


def _head(capsule: Any) -> _Head:
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = api.PyCapsule_GetName(capsule)
    return _Head.from_address(api.PyCapsule_GetPointer(capsule, name) + OFFSETS[name])
