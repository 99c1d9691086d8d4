"""What the models of ai.onnx.ml share at their borders: feature rows in, labels out."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput

__all__ = ["as_rows", "label_array", "parallel"]


def as_rows(xp: Any, x: np.ndarray) -> np.ndarray:
    """`x` as floating rows [N, F]: one row if its rank is 1. float16 becomes float32, integers become float64.

    Raises InvalidInput for any rank but 1 and 2.
    """
    if x.ndim == 1:
        x = x[None]
    if x.ndim != 2:
        raise InvalidInput(f"the input must have shape [N, F] or [F], not {x.shape}")
    if x.dtype in (xp.float32, xp.float64):
        return x
    return x.astype(xp.float32 if x.dtype.itemsize <= 2 else xp.float64)


def label_array(ints: Sequence[int] | None, strings: Sequence[str] | None) -> np.ndarray:
    """The class labels as an array: strings as objects where given, else int64. Raises InvalidInput where neither is."""
    if strings is not None and len(strings):
        labels = np.empty(len(strings), object)
        labels[:] = strings
        return labels
    if ints is not None and len(ints):
        return np.asarray(ints, np.int64)
    raise InvalidInput("the node has no class labels: set the integer or the string classlabels attribute")


def parallel(**lists: Sized | None) -> int:
    """The common length of attributes that are fields of one sequence of tuples; InvalidInput where lengths differ."""
    lengths = {name: 0 if values is None else len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInput("attributes of unequal length: " + ", ".join(f"{name} {n}" for name, n in lengths.items()))
    return next(iter(lengths.values()))
