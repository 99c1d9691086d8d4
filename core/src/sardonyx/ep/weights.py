"""The process-wide weight store: sessions of one model share their packed weights."""

from __future__ import annotations

import mmap
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from sardonyx.ir.tensor import Tensor

__all__ = ["WeightStore", "aligned"]


def aligned(tensor: Tensor) -> np.ndarray:
    """The tensor's values as an aligned array: a view where the bytes happen to be aligned, else a copy. Pages of a
    mapped file that were only read to be copied are given back."""
    view = tensor.numpy()
    if view.flags.aligned:
        return view
    copy = view.copy()
    copy.flags.writeable = False
    if tensor.region is not None and isinstance(tensor.region[0], mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapped, offset, length = tensor.region
        start = -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE
        end = (offset + length) // mmap.PAGESIZE * mmap.PAGESIZE
        if end > start:
            mapped.madvise(mmap.MADV_DONTNEED, start, end - start)
    return copy


class WeightStore:
    """Packed weights by (place in the model's buffer, packing). Values are held weakly: they live as long as a session
    uses them."""

    def __init__(self) -> None:
        self._values: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def get(self, tensor: Tensor, packing: str, make: Callable[[Tensor], Any]) -> Any:
        """make(tensor), or the same object as another session made of the same bytes with the same `packing`."""
        if tensor.region is None:
            return make(tensor)
        buffer, offset, length = tensor.region
        key = (id(buffer), offset, length, str(tensor.dtype), tensor.shape, packing)
        with self._lock:
            value = self._values.get(key)
            if value is None:
                value = make(tensor)
                if isinstance(value, np.ndarray) and value.base is None:
                    self._values[key] = value
        return value
