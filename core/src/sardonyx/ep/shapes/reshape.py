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
    result = list(target)
    unknown, known, copied = -1, 1, 1
    for i, dim in enumerate(target):
        if dim == 0 and not allowzero:
            if i >= len(shape):
                raise NodeError(f"target shape {list(target)} copies dim {i}, but the input has shape {shape}")
            result[i] = shape[i]
            copied *= shape[i]
        elif dim >= 0:
            known *= dim
        elif dim < -1 or unknown >= 0:
            raise NodeError(f"target shape {list(target)} has {'a value below -1' if dim < -1 else 'more than one -1'}")
        else:
            unknown = i
    total = prod(shape)
    if unknown >= 0:
        rest = total // copied if copied else prod(shape[i] for i in range(len(shape)) if i >= len(target) or target[i])
        if known and rest % known == 0:
            result[unknown] = rest // known
        elif known == 0 and allowzero:
            raise NodeError(f"target shape {list(target)} has both 0 and -1 with allowzero=1, so the -1 cannot be inferred")
    if -1 in result or known * copied * (result[unknown] if unknown >= 0 else 1) != total:
        raise NodeError(f"a tensor of shape {shape} ({total} elements) cannot be reshaped to {list(target)}")
    return tuple(result)
