"""What the leaves of a forest add to the scores, and how the trees' contributions are combined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput
from sardonyx_ep_cpu.ops.ml.forest import Forest

__all__ = ["AGGREGATES", "Votes"]

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
# a leaf without a vote for a target is NaN for MIN and MAX, which fmin and fmax pass over
_COMBINE: dict[str, tuple[np.ufunc, float]] = {
    "AVERAGE": (np.add, 0.0),
    "SUM": (np.add, 0.0),
    "MIN": (np.fmin, np.nan),
    "MAX": (np.fmax, np.nan),
}
# a table of nodes x targets is used while it has not so many elements
_TABLE_LIMIT = 1 << 22


@dataclass(frozen=True, slots=True)
class Votes:
    """Weights of leaves by target, and the aggregate function.

    Either a table [nodes, targets], or lists: node n has the votes from start[n] up to start[n + 1], each with a target
    and a weight. Tables and weights are kept by dtype.
    """

    targets: int
    aggregate: str
    table: dict[np.dtype, np.ndarray] | None
    start: np.ndarray
    target: np.ndarray
    weight: dict[np.dtype, np.ndarray]

    @classmethod
    def build(cls, leaf: np.ndarray, leaves: int, votes: tuple[np.ndarray, np.ndarray, np.ndarray], targets: int, aggregate: str) -> Votes:
        """`leaf` [nodes] is each node's leaf or -1; `votes` are each vote's leaf in [0, leaves), target and weight.

        Raises InvalidInput for an unknown aggregate, and for a target outside [0, targets).
        """
        if aggregate not in AGGREGATES:
            raise InvalidInput(f"aggregate_function is {aggregate!r}, but must be one of {', '.join(AGGREGATES)}")
        where, target, weight = votes
        if target.size and (target.min() < 0 or target.max() >= targets):
            raise InvalidInput(f"votes go to the targets {target.min()} to {target.max()}, but the model has {targets}")
        order = np.argsort(where, kind="stable")
        bounds = np.searchsorted(where[order], np.arange(leaves + 1))
        count = np.where(leaf >= 0, np.diff(bounds, append=bounds[-1])[leaf], 0)
        start = np.concatenate(([0], np.cumsum(count)))
        votes_of = order[_spread(np.where(leaf >= 0, bounds[leaf], 0), count)]
        target, weight = target[votes_of].astype(np.intp), weight[votes_of]
        table = None
        if targets == 1 or (count.max(initial=0) > 1 and leaf.size * targets <= max(_TABLE_LIMIT, 4 * target.size)):
            table = cls._table(leaf.size, targets, aggregate, np.repeat(np.arange(leaf.size), count), target, weight)
        return cls(targets, aggregate, table, start, target, _by_dtype(weight))

    @staticmethod
    def _table(nodes: int, targets: int, aggregate: str, node: np.ndarray, target: np.ndarray, weight: np.ndarray) -> dict:
        combine, neutral = _COMBINE[aggregate]
        table = np.full((nodes, targets), neutral)
        combine.at(table, (node, target), weight)
        return _by_dtype(table)

    def scores(self, xp: Any, forest: Forest, x: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The aggregated votes of rows x [N, F]: [N, targets] of `dtype`, the sums taken in it, tree by tree.

        A target without any vote is 0.
        """
        out = xp.full((x.shape[0], self.targets), _COMBINE[self.aggregate][1], dtype)
        for rows, nodes in forest.leaves(xp, x):
            if self.table is not None:
                self._look_up(self.table[dtype], nodes, out[rows])
            else:
                self._scatter(xp, nodes, out[rows], dtype)
        if self.aggregate == "AVERAGE":
            out /= max(forest.trees, 1)
        elif self.aggregate != "SUM":
            out[xp.isnan(out)] = 0
        return out

    def _look_up(self, table: np.ndarray, nodes: np.ndarray, out: np.ndarray) -> None:
        combine, neutral = _COMBINE[self.aggregate]
        step = max(1, _TABLE_LIMIT // max(out.size, 1))
        for start in range(0, len(nodes), step):
            votes = table.take(nodes[start : start + step], axis=0)
            combine(out, combine.reduce(votes, axis=0, initial=neutral), out=out)

    def _scatter(self, xp: Any, nodes: np.ndarray, out: np.ndarray, dtype: np.dtype) -> None:
        trees, rows = nodes.shape
        base = xp.tile(xp.arange(0, rows * self.targets, self.targets), trees)
        flat = nodes.ravel()
        begin = self.start.take(flat)
        count = self.start.take(flat + 1) - begin
        if (count != 1).any():
            begin, base = _spread(begin, count), xp.repeat(base, count)
        index = self.target.take(begin)
        index += base
        _COMBINE[self.aggregate][0].at(out.reshape(-1), index, self.weight[dtype].take(begin))


def _spread(start: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The ranges from start[k] up to start[k] + count[k], one after the other."""
    shift = start - np.concatenate(([0], np.cumsum(count)[:-1])) if count.size else start
    return np.repeat(shift, count) + np.arange(count.sum())


def _by_dtype(weight: np.ndarray) -> dict[np.dtype, np.ndarray]:
    return {np.dtype(t): weight.astype(t) for t in (np.float32, np.float64)}
