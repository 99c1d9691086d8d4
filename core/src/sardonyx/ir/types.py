"""Types of values: tensors, sequences, optionals and maps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx.ir.dtypes import dtype_name

__all__ = ["Dim", "MapType", "OptionalType", "SequenceType", "Shape", "TensorType", "ValueType", "type_string"]

Dim = int | str | None
Shape = tuple[Dim, ...] | None


@dataclass(frozen=True, slots=True)
class TensorType:
    """A dense tensor. `dtype` None: unknown. `shape` None: unknown rank; a dim is an int, a symbol, or None (unknown)."""

    dtype: np.dtype | None = None
    shape: Shape = None

    @property
    def rank(self) -> int | None:
        """Number of dimensions, or None."""
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every dimension is a number."""
        return self.shape is not None and all(isinstance(d, int) for d in self.shape)


@dataclass(frozen=True, slots=True)
class SequenceType:
    """A sequence: a Python list at the border."""

    elem: ValueType


@dataclass(frozen=True, slots=True)
class OptionalType:
    """An optional: None, or a value of the element type."""

    elem: ValueType


@dataclass(frozen=True, slots=True)
class MapType:
    """A map: a Python dict at the border."""

    key: np.dtype
    value: ValueType


ValueType = TensorType | SequenceType | OptionalType | MapType | None


def type_string(t: ValueType) -> str:
    """ONNX's spelling of a type, e.g. `tensor(float)`, `seq(map(int64,tensor(float)))`."""
    if isinstance(t, SequenceType):
        return f"seq({type_string(t.elem)})"
    if isinstance(t, OptionalType):
        return f"optional({type_string(t.elem)})"
    if isinstance(t, MapType):
        return f"map({dtype_name(t.key)},{type_string(t.value)})"
    return f"tensor({dtype_name(t.dtype) if t is not None else '?'})"
