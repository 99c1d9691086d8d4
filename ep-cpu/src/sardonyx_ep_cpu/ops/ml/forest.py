"""Decision forests as flat arrays, walked for all rows and trees at once.

A node's two successors are neighbours: a row at node n goes on to first[n], or to first[n] + 1 if
lower[n] <= value <= upper[n]. Every comparison is written in that form. A leaf's interval is empty (its upper end is
NaN) and its successor is the leaf itself, so a row that has arrived stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Forest"]

# rows times trees of one block: temporaries stay in the cache
_BLOCK = 1 << 15
# a level's rows are gathered anew once so many of them have arrived
_COMPACT_BELOW = 0.6
# ... but not where so few are left that calls cost more than elements
_SMALL = 512


@dataclass(frozen=True, slots=True)
class Forest:
    """Nodes in arrays [M]; the roots of the trees come first, in order.

    `upper` and `lower` hold the interval's ends by dtype of the rows; `lower` is None if all are -inf. `nan_to_second`
    tells where NaN goes on to first + 1; None if nowhere. `width` is the least number of features a row must have.
    """

    trees: int
    width: int
    feature: np.ndarray
    first: np.ndarray
    upper: dict[np.dtype, np.ndarray]
    lower: dict[np.dtype, np.ndarray] | None
    nan_to_second: np.ndarray | None

    def leaves(self, xp: Any, x: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """The leaves that rows x [N, F] (float32 or float64) reach: blocks of rows, and for each their nodes [trees, rows]."""
        x = xp.ascontiguousarray(x) if x.shape[1] else xp.zeros((x.shape[0], 1), x.dtype)
        nan_to_second = self.nan_to_second
        if nan_to_second is not None and not xp.isnan(x).any():
            nan_to_second = None
        step = max(1, _BLOCK // max(self.trees, 1))
        for start in range(0, x.shape[0], step):
            block = x[start : start + step]
            yield slice(start, start + len(block)), self._walk(xp, block, nan_to_second)

    def _walk(self, xp: Any, x: np.ndarray, nan_to_second: np.ndarray | None) -> np.ndarray:
        rows, width = x.shape
        values = x.ravel()
        upper = self.upper[x.dtype]
        lower = None if self.lower is None else self.lower[x.dtype]
        node = xp.repeat(xp.arange(self.trees), rows)
        offset = xp.tile(xp.arange(0, rows * width, width), self.trees)
        arrived, pending = node, None
        while node.size:
            index = self.feature.take(node)
            index += offset
            value = values.take(index)
            inside = value <= upper.take(node)
            if lower is not None:
                inside &= value >= lower.take(node)
            if nan_to_second is not None:
                inside |= xp.isnan(value) & nan_to_second.take(node)
            following = self.first.take(node)
            following += inside
            moved = following != node
            moving = int(xp.count_nonzero(moved))
            node = following
            if moving > _COMPACT_BELOW * node.size or 0 < moving <= _SMALL:
                continue
            if pending is None:
                arrived = node
            else:
                arrived[pending] = node
            kept = xp.flatnonzero(moved)
            pending = kept if pending is None else pending.take(kept)
            node, offset = node.take(kept), offset.take(kept)
        return arrived.reshape(self.trees, rows)
