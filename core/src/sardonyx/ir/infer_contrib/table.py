"""The table of contrib inference, and arithmetic on dims that may be unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.types import Dim, Shape, TensorType, ValueType

__all__ = ["Contrib", "add", "broadcast", "dims", "divide", "dtype", "multiply", "register", "same", "standard", "tensor"]

Infer = Callable[[Node], list[ValueType]]
Contrib = dict[tuple[str, str], Infer]


def register(types: Contrib, *ops: str, onnx_domain: bool = False) -> Callable[[Infer], Infer]:
    """Register the decorated function for operators of com.microsoft (`onnx_domain`: and in ONNX's own domain, which
    onnxruntime uses for a few private ones)."""

    def decorate(function: Infer) -> Infer:
        for op in ops:
            types["com.microsoft", op] = function
            if onnx_domain:
                types["", op] = function
        return function

    return decorate


def tensor(dtype: np.dtype | None, shape: Iterable[Dim] | None) -> TensorType:
    """A tensor type."""
    return TensorType(dtype, None if shape is None else tuple(shape))


def same(node: Node, index: int = 0) -> TensorType:
    """The type of an input."""
    return TensorType(dtype(node, index), dims(node, index))


def dtype(node: Node, index: int) -> np.dtype | None:
    """The element type of an input, None where it is absent or unknown."""
    v = node.input(index)
    return None if v is None else v.dtype


def dims(node: Node, index: int) -> Shape:
    """The shape of an input, None where it is absent or unknown."""
    v = node.input(index)
    return None if v is None else v.shape


def multiply(a: Dim, b: Dim) -> Dim:
    """a * b, None if unknown."""
    return a * b if isinstance(a, int) and isinstance(b, int) else a if b == 1 else b if a == 1 else None


def divide(a: Dim, b: Dim) -> Dim:
    """a // b, None if unknown."""
    return a // b if isinstance(a, int) and isinstance(b, int) and b else a if b == 1 else None


def add(a: Dim, b: Dim) -> Dim:
    """a + b, None if unknown."""
    return a + b if isinstance(a, int) and isinstance(b, int) else a if b == 0 else b if a == 0 else None


def broadcast(a: Shape, b: Shape) -> Shape:
    """The shape of an elementwise operation of two shapes."""
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    return tuple(x if x == y or y == 1 else y if x == 1 or isinstance(y, int) else x if isinstance(x, int) else None for x, y in pairs)


def standard(op: str, inputs: Iterable[TensorType], since: int, consts: dict[int, Any] | None = None, **attrs: Any) -> list[ValueType]:
    """What ONNX's operator gives for inputs of these types, of which some may be constants."""
    from sardonyx.ir.infer import infer_node
    from sardonyx.ir.tensor import Tensor

    values = [Value(f"i{i}", t) for i, t in enumerate(inputs)]
    for i, array in (consts or {}).items():
        values[i].const = Tensor.of(array)
    return infer_node(Node(op, values, [Value("o")], attrs, since=since))
