"""The process-wide weight store: sessions of one model share their packed weights."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sardonyx.ir.fork import ForkLock
from sardonyx.ir.tensor import Tensor

__all__ = ["Shared", "WeightStore", "aligned"]


def aligned(tensor: Tensor) -> np.ndarray:
    """The tensor's values as an aligned array: a view where the bytes happen to be aligned, else a copy. Pages of a
    mapped file that were only read to be copied are given back."""
    view = tensor.numpy()
    if view.flags.aligned:
        return view
    copy = view.copy()
    copy.flags.writeable = False
    tensor.release()
    return copy


class Shared:
    """What was made of constants, for every session that makes the same of the same: keep it as long as you use `value`."""

    __slots__ = ("__weakref__", "_buffers", "value")

    def __init__(self, value: Any, buffers: list[Any]):
        # An identity by address holds as long as the buffer does.
        self.value, self._buffers = value, buffers


class WeightStore:
    """Packed weights by (what the values are, packing). Values are held weakly: they live as long as a session uses them."""

    def __init__(self) -> None:
        self._values: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()
        self._lock = ForkLock()

    def get(self, tensor: Tensor, packing: str, make: Callable[[Tensor], Any]) -> Any:
        """make(tensor), or the same object as another session made of the same values (of one file, or one bytes object)
        with the same `packing`. An array is shared if its memory is numpy's own, not a mapped file's."""
        if tensor.identity is None:
            return make(tensor)
        key = (tensor.identity, packing)
        with self._lock:
            value = self._values.get(key)
            if value is None:
                value = make(tensor)
                if isinstance(value, np.ndarray) and _owns(value):
                    self._values[key] = value
                    if tensor.region is not None and isinstance(tensor.region[0], bytes):
                        # The identity is by address, and so holds as long as the buffer does.
                        weakref.finalize(value, _release, tensor.region[0]).atexit = False
        return value

    def array(self, tensor: Tensor) -> np.ndarray:
        """The tensor's values as an aligned, read-only array, one for all sessions; the tensor lets go of its own."""
        array = self.get(tensor, "aligned", aligned)
        tensor.adopt(array)
        return array

    def share(self, tensors: Sequence[Tensor | None], recipe: str, make: Callable[[], Any]) -> Shared:
        """make(), or what another session made by the same `recipe` of tensors of the same values. What is shared must not
        be written to. Nothing is shared where no tensor is large."""
        parts = ["absent" if t is None else t.identity or _bytes(t) for t in tensors]
        if None in parts or not any(t is not None and t.identity is not None for t in tensors):
            return Shared(make(), [])
        key = (recipe, *parts)
        with self._lock:
            found = self._values.get(key)
            if found is None:
                buffers = [t.region[0] for t in tensors if t is not None and t.region is not None and isinstance(t.region[0], bytes)]
                found = self._values[key] = Shared(make(), buffers)
        return found


def _bytes(tensor: Tensor) -> str | None:
    """A small tensor's values, as text; None for strings."""
    return None if tensor.dtype.hasobject else f"{tensor.dtype} {tensor.shape} {tensor.numpy().tobytes().hex()}"


def _owns(array: np.ndarray) -> bool:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base is None


def _release(buffer: Any) -> None:
    """Called with the buffer when its packed weights are gone; until then the callback keeps it."""
