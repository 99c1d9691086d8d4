"""Dictionaries over whole arrays: where is each element in a list of keys?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput
from sardonyx.ir.dtypes import dtype_name

__all__ = ["Lookup", "string_array"]


def string_array(values: Sequence[str]) -> np.ndarray:
    """An object array [n] of the strings."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


class Lookup:
    """Finds elements in `keys`, a list of strings or an array of numbers.

    A repeated key stands for its last position, NaN equals NaN, and -0.0 equals 0.0.
    """

    def __init__(self, keys: Sequence[str] | np.ndarray):
        self.size = len(keys)
        self._strings: dict[str, int] | None = None
        array = np.asarray(keys)
        if self.size and array.dtype.kind in "OUS":
            self._strings = {key: position for position, key in enumerate(keys)}
        elif self.size:
            # np.unique keeps the first of equal keys, so it is given them from the last one on
            self._sorted, last = np.unique(array[::-1], return_index=True)
            self._position = self.size - 1 - last

    def __call__(self, xp: Any, x: np.ndarray) -> np.ndarray:
        """The position of each element of `x` among the keys, -1 where it is none of them; int64, shaped as `x`.

        Raises InvalidInput for strings among numbers and numbers among strings.
        """
        if not self.size:
            return xp.full(x.shape, -1, xp.int64)
        if (x.dtype == object) != (self._strings is not None):
            raise InvalidInput(f"the keys are {'numbers' if self._strings is None else 'strings'}, but the input is {dtype_name(x.dtype)}")
        if self._strings is not None:
            get = self._strings.get
            return np.fromiter((get(value, -1) for value in x.ravel().tolist()), np.int64, x.size).reshape(x.shape)
        slot = xp.searchsorted(self._sorted, x)
        slot = xp.minimum(slot, self._sorted.size - 1)
        found = self._sorted[slot]
        same = found == x
        if x.dtype.kind == "f" and self._sorted.dtype.kind == "f":
            same |= xp.isnan(found) & xp.isnan(x)
        return xp.where(same, self._position[slot], -1)
