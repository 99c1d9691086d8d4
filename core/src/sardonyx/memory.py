"""Planning sub-buffers: where in one arena each value lives, from its size and lifetime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Lifetime", "plan"]

ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A buffer of `size` bytes that is written at step `first` and read for the last time at step `last` (inclusive)."""

    size: int
    first: int
    last: int


def plan(lifetimes: Sequence[Lifetime], alignment: int = ALIGNMENT) -> tuple[list[int], int]:
    """Offsets (bytes, multiples of `alignment`) for all buffers, and the size of the arena that holds them.

    Two buffers that live at the same step do not overlap. Greedy by size: the largest buffer first, each into the
    tightest gap among those already placed that live at the same time (Pisarchyk & Lee, "Efficient Memory Management for
    Deep Neural Net Inference", 2020). Zero-sized buffers get offset 0.
    """
    offsets = [0] * len(lifetimes)
    placed: list[tuple[int, int, Lifetime]] = []
    total = 0
    order = sorted(range(len(lifetimes)), key=lambda i: (-lifetimes[i].size, lifetimes[i].first))
    for i in order:
        life = lifetimes[i]
        size = -(-life.size // alignment) * alignment
        if size == 0:
            continue
        best, best_gap, cursor = None, None, 0
        for start, end, other in placed:
            if other.last < life.first or life.last < other.first:
                continue
            if start > cursor:
                gap = start - cursor
                if gap >= size and (best_gap is None or gap < best_gap):
                    best, best_gap = cursor, gap
            cursor = max(cursor, end)
        offset = cursor if best is None else best
        offsets[i] = offset
        total = max(total, offset + size)
        placed.append((offset, offset + size, life))
        placed.sort(key=lambda p: p[0])
    return offsets, total
