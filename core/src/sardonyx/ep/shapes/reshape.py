"""Target shapes of Reshape."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sardonyx.errors import NodeError

__all__ = ["reshape_shape"]


def reshape_shape(shape: tuple[int, ...], target: Sequence[int], allowzero: int = 0) -> tuple[int, ...]:
    """The shape that Reshape's `target` means for a tensor of `shape`: 0 copies a dim (unless `allowzero`), -1 is inferred.

    A -1 beside a copied dim of size 0 is inferred from the dims that are not copied, so [0, -1] flattens an empty batch.
    NodeError if there are several -1, other negative values, a 0 without a dim to copy, or element counts that differ.
    """
    if any(dim < -1 for dim in target):
        raise NodeError(f"target shape {list(target)} has a value below -1")
    if target.count(-1) > 1:
        raise NodeError(f"target shape {list(target)} has more than one -1")
    result = list(target)
    copied: set[int] = set()
    if not allowzero:
        copied = {i for i, dim in enumerate(target) if dim == 0}
        if copied and max(copied) >= len(shape):
            raise NodeError(f"target shape {list(target)} copies dim {max(copied)}, but the input has shape {shape}")
        for i in copied:
            result[i] = shape[i]
    elif 0 in target and -1 in target:
        raise NodeError(f"target shape {list(target)} has both 0 and -1 with allowzero=1, so the -1 cannot be inferred")
    if -1 in target:
        unknown = result.index(-1)
        known = prod(dim for dim in result if dim != -1)
        total = prod(shape)
        if known == 0:
            known = prod(dim for i, dim in enumerate(result) if dim != -1 and i not in copied)
            total = prod(dim for i, dim in enumerate(shape) if i not in copied)
        if known and total % known == 0:
            result[unknown] = total // known
    if -1 in result or prod(result) != prod(shape):
        raise NodeError(f"a tensor of shape {shape} ({prod(shape)} elements) cannot be reshaped to {list(target)}")
    return tuple(result)
