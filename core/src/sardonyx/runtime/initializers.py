"""SessionOptions.add_initializer: other values for constants of a model."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput
from sardonyx.ir.graph import Value
from sardonyx.ir.tensor import Tensor

__all__ = ["replace_initializers"]

_given = itertools.count()


def replace_initializers(values: dict[str, Value], given: dict[str, Any]) -> None:
    """Give constants among a model's `values` others, by name. InvalidInput for an unknown name, another dtype or shape."""
    for name, value in given.items():
        try:
            array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
        except Exception as e:
            raise InvalidInput(f"initializer {name!r}: the {type(value).__name__} given for it is no array: {e}") from e
        target = values.get(name)
        if target is None or target.const is None:
            raise InvalidInput(f"the model has no initializer {name!r} to replace")
        if array.dtype != target.const.dtype or array.shape != target.const.shape:
            have, want = f"{array.dtype}{list(array.shape)}", f"{target.const.dtype}{list(target.const.shape)}"
            raise InvalidInput(f"initializer {name!r} is {want}; it cannot be replaced by {have}")
        # The caller may change it later: no other session shares it.
        target.const = Tensor.of(array, f"given {next(_given)}")
