"""The memory that arrays hold, told part by part, so that what several executables hold counts once."""

from __future__ import annotations

import mmap
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

__all__ = ["held_by", "where_it_lies"]


def held_by(arrays: Iterable[Any], kind: str = "weights") -> dict[str, dict[Hashable, int]]:
    """For `Executable.memory`: `mapped`, the arrays that lie in a file or in bytes that were given, and `kind`, the others.
    Each part has a key of its own, the same wherever the same memory is told, and its bytes."""
    parts: dict[str, dict[Hashable, int]] = {"mapped": {}, kind: {}}
    for array in arrays:
        root = where_it_lies(array)
        if isinstance(root, np.ndarray):
            parts[kind][id(root)] = root.nbytes
        else:
            place = (np.asarray(array).__array_interface__["data"][0], array.nbytes)
            parts["mapped" if isinstance(root, (mmap.mmap, bytes)) else kind][place] = array.nbytes
    return parts


def where_it_lies(array: Any) -> Any:
    """The object whose memory an array shows: an array, a mapped file, bytes."""
    while isinstance(array, (np.ndarray, memoryview)):
        base = array.obj if isinstance(array, memoryview) else array.base
        if base is None:
            break
        array = base
    return array
