"""A forest with its votes: from rows to scores, and from scores to labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput
from sardonyx_ep_cpu.ops.ml.forest import Forest
from sardonyx_ep_cpu.ops.ml.forest_layout import Nodes, lay_out
from sardonyx_ep_cpu.ops.ml.inputs import as_rows
from sardonyx_ep_cpu.ops.ml.post_transform import post_transform as transform
from sardonyx_ep_cpu.ops.ml.post_transform import two_columns
from sardonyx_ep_cpu.ops.ml.tree_attributes import Leaves
from sardonyx_ep_cpu.ops.ml.votes import Votes

__all__ = ["Ensemble", "classify", "regress"]


@dataclass(frozen=True, slots=True)
class Ensemble:
    """A forest with its votes and base values ([targets], or [1] for a classifier of two classes, or empty).

    `double` tells that weights are doubles, so that scores are summed in double precision whatever the rows are.
    `labels` are a classifier's class labels, `voted` the classes that votes go to, `positive` whether no weight is negative.
    """

    forest: Forest
    votes: Votes
    base: np.ndarray
    double: bool
    labels: np.ndarray
    voted: np.ndarray
    positive: bool

    @classmethod
    def build(
        cls, nodes: Nodes, leaves: Leaves, targets: int, aggregate: str, *, base: np.ndarray, double: bool, labels: np.ndarray
    ) -> Ensemble:
        """Lay the nodes out for walking; InvalidInput where the model contradicts itself."""
        if targets < 1:
            raise InvalidInput(f"the number of targets or classes must be positive, not {targets}")
        if base.size not in (0, targets) and not (base.size == 1 and labels.size == 2):
            raise InvalidInput(f"base_values has {base.size} values for {targets} targets or classes")
        forest, leaf = lay_out(nodes)
        votes = Votes.build(leaf, nodes.mode.size, leaves, targets, aggregate)
        return cls(forest, votes, base, double, labels, np.unique(leaves[1]), bool((leaves[2] >= 0).all()))

    def scores(self, xp: Any, x: np.ndarray) -> np.ndarray:
        """The aggregated votes [N, targets] of x [N, F] or [F], without base values; float64 for double rows or weights, else float32."""
        rows = as_rows(xp, x)
        if rows.shape[1] < self.forest.width:
            raise InvalidInput(f"the trees look at feature {self.forest.width - 1}, but the input has shape {x.shape}")
        double = self.double or x.dtype == xp.float64
        return self.votes.scores(xp, self.forest, rows, np.dtype(np.float64 if double else np.float32))


def regress(xp: Any, x: np.ndarray, ensemble: Ensemble, post_transform: str) -> np.ndarray:
    """The scores of rows x with base values added, transformed: [N, targets]."""
    scores = ensemble.scores(xp, x)
    if ensemble.base.size:
        scores += ensemble.base
    return transform(xp, scores, post_transform)


def classify(xp: Any, x: np.ndarray, ensemble: Ensemble, post_transform: str) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores; with one or two classes by the convention of onnxruntime, on which converters rely.

    Two classes, and votes for only one of them: a row belongs to the second class if the sum of its votes is above 1/2,
    or above 0 where weights may be negative. Votes for class 0 then make both scores (`two_columns`).
    One class: the label is 1 if the score is positive, else 0, and only PROBIT changes the score.
    """
    scores, labels, voted = ensemble.scores(xp, x), ensemble.labels, ensemble.voted
    base = ensemble.base if ensemble.base.size else xp.zeros(1)
    if labels.size == 1:
        scores += base
        best = (scores[:, 0] > 0).astype(xp.int64)
        best = best if labels.dtype != object else np.array(["0", "1"], object)[best]
        return best, transform(xp, scores, "PROBIT" if post_transform == "PROBIT" else "NONE").astype(xp.float32, copy=False)
    if labels.size == 2 and voted.size == 1 and base.size == 1:
        score = scores[:, voted[0]]
        score += base
        best = labels[(score > (0.5 if ensemble.positive else 0)).astype(np.intp)]
        if voted[0] == 0:
            scores = two_columns(xp, score, post_transform, probability=ensemble.positive)
        else:
            scores = transform(xp, scores, post_transform)
        return best, scores.astype(xp.float32, copy=False)
    if base.size == labels.size:
        scores += base
        best = scores.argmax(axis=1)
    elif ensemble.base.size:
        scores[:, 0] += base
        best = scores.argmax(axis=1)
    else:
        best = voted[scores[:, voted].argmax(axis=1)] if voted.size else xp.zeros(len(scores), np.intp)
    return labels[best], transform(xp, scores, post_transform).astype(xp.float32, copy=False)
