"""Places for the nodes of a graph: layers from top to bottom, few crossings, straight chains.

The layered method of K. Sugiyama, S. Tagawa and M. Toda, "Methods for visual understanding of hierarchical system structures"
(1981): layers by the longest path, order within a layer by the mean of the neighbours' places, then coordinates that keep it.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["layout"]

SWEEPS = 8
LONGEST_BEND = 12
WIDTH, HEIGHT = 1.0, 1.0
BEND = 0.35
LIGHT = 0.02


def layout(count: int, edges: Sequence[tuple[int, int]]) -> tuple[list[tuple[float, float]], dict[int, list[tuple[float, float]]]]:
    """Coordinates in units of one column and one layer for `count` nodes, and by edge index the points that an edge over
    several layers passes. Edges lead from lower to higher layers; those that would close a cycle, and edges of a node to itself,
    are ignored. Long edges have no points of their own."""
    below: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        if a < b:
            below[a].append(b)
    layer = [0] * count
    for a in range(count):
        for b in below[a]:
            layer[b] = max(layer[b], layer[a] + 1)
    _sink_sources(layer, below)
    sizes = [WIDTH] * count
    up: list[list[int]] = [[] for _ in range(count)]
    down: list[list[int]] = [[] for _ in range(count)]
    bends: dict[int, list[int]] = {}
    for k, (a, b) in enumerate(edges):
        if a >= b:
            continue
        chain = [a]
        if layer[b] - layer[a] <= LONGEST_BEND:
            for at in range(layer[a] + 1, layer[b]):
                layer.append(at)
                sizes.append(BEND)
                up.append([])
                down.append([])
                chain.append(len(layer) - 1)
            bends[k] = chain[1:]
            for p, q in zip(chain, [*chain[1:], b], strict=True):
                down[p].append(q)
                up[q].append(p)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for i, at in enumerate(layer):
        rows[at].append(i)
    x = _columns(rows, up, down, sizes)
    places = [(x[i], layer[i] * HEIGHT) for i in range(count)]
    return places, {k: [(x[i], layer[i] * HEIGHT) for i in points] for k, points in bends.items() if points}


def _sink_sources(layer: list[int], below: list[list[int]]) -> None:
    """A node that reads nothing stands just above its first reader."""
    fed = {b for readers in below for b in readers}
    for a, readers in enumerate(below):
        if a not in fed and readers:
            layer[a] = min(layer[b] for b in readers) - 1


def _columns(rows: list[list[int]], up: list[list[int]], down: list[list[int]], sizes: list[float]) -> list[float]:
    x = [0.0] * len(sizes)
    for row in rows:
        for k, i in enumerate(row):
            x[i] = float(k)
    for sweep in range(SWEEPS):
        going_down = sweep % 2 == 0
        near = up if going_down else down
        for row in rows if going_down else reversed(rows):
            wish = {i: _mean(near[i], x, sizes, x[i]) for i in row}
            # The order settles in the first half; then only the places move.
            if sweep < SWEEPS // 2:
                row.sort(key=lambda i: wish[i])
            for i, place in zip(row, _spread([wish[i] for i in row], [sizes[i] for i in row]), strict=True):
                x[i] = place
    least = min(x, default=0.0)
    return [v - least for v in x]


def _mean(near: list[int], x: list[float], sizes: list[float], alone: float) -> float:
    """The mean place of the neighbours; a bend of an edge counts little, so that chains of nodes stay straight."""
    weights = [1.0 if sizes[j] == WIDTH else LIGHT for j in near]
    return sum(w * x[j] for w, j in zip(weights, near, strict=True)) / sum(weights) if near else alone


def _spread(wishes: list[float], sizes: list[float]) -> list[float]:
    """Places in this order, as near to the wishes as they can be (least squares, bends lightly) with room for all."""
    offsets, total = [], 0.0
    for k, size in enumerate(sizes):
        total += (sizes[k - 1] + size) / 2 if k else 0.0
        offsets.append(total)
    blocks: list[tuple[float, float, int]] = []
    for wish, offset, size in zip(wishes, offsets, sizes, strict=True):
        mean, weight, n = wish - offset, 1.0 if size == WIDTH else LIGHT, 1
        while blocks and blocks[-1][0] > mean:
            other, more, m = blocks.pop()
            mean, weight, n = (mean * weight + other * more) / (weight + more), weight + more, n + m
        blocks.append((mean, weight, n))
    means = [mean for mean, _, n in blocks for _ in range(n)]
    return [m + o for m, o in zip(means, offsets, strict=True)]
