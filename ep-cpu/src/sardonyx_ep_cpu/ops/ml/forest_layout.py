"""From decision nodes as ONNX lists them to the arrays of a Forest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx.errors import InvalidInput
from sardonyx_ep_cpu.ops.ml.forest import Forest

__all__ = ["LEAF", "MODES", "Nodes", "lay_out"]

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF = range(8)


@dataclass(slots=True)
class Nodes:
    """Nodes as a model lists them, arrays [n]: `true` and `false` are the indices of the successors (any, for a leaf).

    `mode` indexes MODES, `members` holds the sorted distinct members for each node of mode MEMBER.
    """

    mode: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    true: np.ndarray
    false: np.ndarray
    missing_true: np.ndarray
    roots: np.ndarray
    members: dict[int, np.ndarray]


def _reachable(nodes: Nodes, inner: np.ndarray) -> np.ndarray:
    reached = np.zeros(inner.size, bool)
    front = np.unique(nodes.roots)
    while front.size:
        reached[front] = True
        front = front[inner[front]]
        following = np.unique(np.concatenate((nodes.true[front], nodes.false[front])))
        front = following[~reached[following]]
    return reached


def _place(nodes: Nodes, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give every reachable node its slots, the successors (low, high) of a node side by side.

    Returns for each slot its node and its first successor's slot. A node that several others refer to (converters write
    a set of categories as a chain of tests with one common successor) has as many slots, but one pair of successors.
    Raises InvalidInput if following the nodes can go round in a circle.
    """
    inner = nodes.mode != LEAF
    sources = np.flatnonzero(_reachable(nodes, inner) & inner)
    waiting = np.bincount(np.concatenate((low[sources], high[sources])), minlength=inner.size)
    first_of = np.zeros(inner.size, np.int64)
    placed, count, done = [nodes.roots], nodes.roots.size, 0
    fresh = np.unique(nodes.roots)
    front = fresh[inner[fresh] & (waiting[fresh] == 0)]
    while front.size:
        done += front.size
        first_of[front] = count + 2 * np.arange(front.size)
        pair = np.stack((low[front], high[front]), axis=1).ravel()
        placed.append(pair)
        count += pair.size
        fresh, times = np.unique(pair, return_counts=True)
        waiting[fresh] -= times
        front = fresh[inner[fresh] & (waiting[fresh] == 0)]
    if done < sources.size:
        raise InvalidInput("the tree's nodes lead back to one another in a circle")
    node = np.concatenate(placed)
    return node, np.where(inner[node], first_of[node], np.arange(count))


def _intervals(nodes: Nodes) -> tuple[np.ndarray, ...]:
    """The comparisons as intervals: lower and upper end, whether true means outside, and whether NaN counts as inside."""
    mode, t = nodes.mode, nodes.threshold
    outside = (mode == GTE) | (mode == GT) | (mode == NEQ)
    strict = (mode == LT) | (mode == GTE)
    upper = np.where(strict, np.nextafter(t, -np.inf), t)
    upper[strict & (t == -np.inf)] = np.nan
    upper[((mode == GTE) | (mode == GT)) & np.isnan(t)] = np.inf
    upper[mode == LEAF] = np.nan
    lower = np.where((mode == EQ) | (mode == NEQ), t, -np.inf)
    nan_inside = np.where(outside, ~nodes.missing_true, nodes.missing_true)
    nan_inside &= (mode != NEQ) & (mode != LEAF)
    return lower, upper, outside, nan_inside


class _Search:
    """Nodes appended for tests of set membership: a binary search that ends in the node's own pair of successors."""

    def __init__(self, start: int):
        self.start = start
        self.rows: list[tuple[float, float, int, int, bool]] = []

    def pair(self) -> int:
        self.rows += [(0.0, 0.0, 0, 0, False)] * 2
        return self.start + len(self.rows) - 2


def _expand_members(columns: list[np.ndarray], slots: dict[int, np.ndarray]) -> list[np.ndarray]:
    """Rewrite MEMBER nodes; `columns` are lower, upper, feature, first, nan_inside by slot."""
    search = _Search(columns[0].size)
    for slot, members in slots.items():
        feature, ends, missing_true = int(columns[2][slot]), int(columns[3][slot]), bool(columns[4][slot])
        stack = [(slot, 0, len(members))]
        while stack:
            at, low, high = stack.pop()
            if high - low <= 1:
                value = float(members[low]) if high > low else np.nan
                row = (value, value, feature, ends, missing_true and high == len(members))
            else:
                middle = (low + high) // 2
                pair = search.pair()
                row = (-np.inf, float(members[middle - 1]), feature, pair, False)
                stack += [(pair, middle, high), (pair + 1, low, middle)]
            if at >= search.start:
                search.rows[at - search.start] = row
            else:
                for column, value in zip(columns, row, strict=True):
                    column[at] = value
    added = zip(*search.rows, strict=True) if search.rows else ((),) * len(columns)
    return [np.concatenate((column, np.array(rows, column.dtype))) for column, rows in zip(columns, added, strict=True)]


def _rounded(ends: np.ndarray, toward: float) -> dict[np.dtype, np.ndarray]:
    """Interval ends for rows of both dtypes; for float32 rounded inwards, so that every float32 compares as with the double."""
    with np.errstate(over="ignore"):
        single = ends.astype(np.float32)
    beyond = single > ends if toward < 0 else single < ends
    single[beyond] = np.nextafter(single[beyond], np.float32(toward))
    return {np.dtype(np.float32): single, np.dtype(np.float64): ends}


def lay_out(nodes: Nodes) -> tuple[Forest, np.ndarray]:
    """The forest, and for each of its nodes the index of the leaf in `nodes`, -1 where it is no leaf."""
    lower, upper, outside, nan_inside = _intervals(nodes)
    low, high = np.where(outside, nodes.true, nodes.false), np.where(outside, nodes.false, nodes.true)
    node, first = _place(nodes, low, high)
    leaf = np.where(nodes.mode[node] == LEAF, node, -1)
    columns = [lower[node], upper[node], nodes.feature[node], first, nan_inside[node]]
    members = {int(s): nodes.members[int(node[s])] for s in np.flatnonzero(nodes.mode[node] == MEMBER)}
    if members:
        columns = _expand_members(columns, members)
        leaf = np.concatenate((leaf, np.full(columns[0].size - leaf.size, -1)))
    lower, upper, feature, first, nan_inside = columns
    width = int(feature.max(initial=-1, where=leaf < 0)) + 1
    feature[leaf >= 0] = 0
    if feature.min(initial=0) < 0:
        raise InvalidInput("nodes_featureids must not be negative")
    forest = Forest(
        trees=nodes.roots.size,
        width=width,
        feature=feature.astype(np.intp),
        first=first.astype(np.intp),
        upper=_rounded(upper, -np.inf),
        lower=_rounded(lower, np.inf) if (lower > -np.inf).any() else None,
        nan_to_second=nan_inside if nan_inside.any() else None,
    )
    return forest, leaf
