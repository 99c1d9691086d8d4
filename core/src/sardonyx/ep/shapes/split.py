"""Sizes of the pieces of Split."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx.errors import NodeError

__all__ = ["even_split", "split_sizes"]


def even_split(dim: int, parts: int, *, exact: bool = False, first: int | None = None) -> list[int]:
    """Sizes of `parts` pieces of `dim` elements, the last ones smaller; NodeError if `exact` and they are not all equal.

    `first` wants only so many of the sizes.
    """
    if parts <= 0:
        raise NodeError(f"cannot split into {parts} parts")
    if exact and dim % parts:
        raise NodeError(f"a dim of {dim} does not split into {parts} equal parts; give the sizes in `split`")
    size = -(-dim // parts)
    return [max(0, min(size, dim - i * size)) for i in range(parts if first is None else min(first, parts))]


def split_sizes(dim: int, sizes: Sequence[int]) -> Sequence[int]:
    """`sizes` after the check that they are not negative and add up to `dim` (NodeError)."""
    if sum(sizes) != dim or min(sizes, default=0) < 0:
        raise NodeError(f"split sizes {list(sizes)} must be non-negative and add up to {dim}")
    return sizes
