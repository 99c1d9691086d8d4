"""New weights made of old ones. Large ones are computed when somebody first reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from sardonyx.ir.graph import Value
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import TensorType
from sardonyx.passes.edit import constant

__all__ = ["channel_vector", "derived", "times", "wide"]

LARGE = 16 * 1024


def wide(array: np.ndarray) -> np.ndarray:
    """The array in a precision to compute in: float64 for float64, else float32."""
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)


def derived(
    value: Value,
    shape: tuple[int, ...],
    function: Callable[[np.ndarray], np.ndarray],
    name: str = "",
    recipe: Callable[[], str] | None = None,
) -> Value:
    """A constant of `shape` and the dtype of constant `value` that holds function(its array), computed lazily if large.
    Equal texts of `recipe`s, where given, mean equal functions, so that sessions of one file can share what they make."""
    tensor = value.const
    assert tensor is not None

    def read() -> np.ndarray:
        array = np.asarray(function(tensor.fresh())).astype(tensor.dtype, copy=False)
        tensor.release()
        return array

    if tensor.nbytes <= LARGE:
        return constant(read(), name or value.name)
    known = tensor.known_identity if recipe is not None else ""
    identity = f"{known} {recipe()} {shape}" if recipe is not None and known else None
    return Value(name or value.name, TensorType(tensor.dtype, shape), Tensor(tensor.dtype, shape, read=read, identity=identity))


def times(value: Value, factor: np.ndarray) -> Value:
    """A constant of value * factor, where the factor broadcasts into the value's shape."""
    assert value.const is not None

    def product(array: np.ndarray) -> np.ndarray:
        array = wide(array)
        return array * factor.astype(array.dtype)

    def recipe() -> str:
        digest = hashlib.sha256(np.ascontiguousarray(factor).tobytes()).hexdigest()
        return f"times {factor.dtype.num} {factor.shape} {digest}"

    return derived(value, value.const.shape, product, recipe=recipe)


def channel_vector(value: Value | None, rank: int | None, channels: int | None) -> np.ndarray | None:
    """A constant as one float64 per channel (axis 1 of `rank`), if broadcasting it against such a tensor means that; else None."""
    if value is None or value.const is None or rank is None or channels is None or value.const.dtype.kind not in "fV":
        return None
    shape = value.const.shape
    if value.const.size == 1 and len(shape) <= rank:
        return np.full(channels, float(value.const.numpy().reshape(-1)[0]))
    padded = (1,) * (rank - len(shape)) + shape
    if len(shape) > rank or padded != tuple(channels if i == 1 else 1 for i in range(rank)):
        return None
    return value.const.numpy().reshape(-1).astype(np.float64)
