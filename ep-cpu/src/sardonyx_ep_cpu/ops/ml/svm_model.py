"""Support vector machines: kernel functions, one-against-one votes and coupled probabilities, in double precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput

__all__ = ["SvmKernel", "coupled_probabilities", "pair_scores", "pair_votes"]


@dataclass(frozen=True, slots=True)
class SvmKernel:
    """A kernel function between rows [N, F] and the vectors [S, F]: LINEAR, POLY, RBF or SIGMOID."""

    kind: str
    vectors: np.ndarray
    gamma: float = 0.0
    coef0: float = 0.0
    degree: float = 0.0

    @classmethod
    def from_attributes(cls, attrs: dict[str, Any], vectors: np.ndarray) -> SvmKernel:
        """Read kernel_type and kernel_params (gamma, coef0, degree)."""
        kind = attrs.get("kernel_type", "LINEAR")
        if kind not in ("LINEAR", "POLY", "RBF", "SIGMOID"):
            raise InvalidInput(f"kernel_type is {kind!r}, but must be LINEAR, POLY, RBF or SIGMOID")
        params = attrs.get("kernel_params") or []
        if len(params) not in (0, 3):
            raise InvalidInput(f"kernel_params must be gamma, coef0 and degree, but has {len(params)} values")
        return cls(kind, vectors, *map(float, params))

    def __call__(self, xp: Any, x: np.ndarray) -> np.ndarray:
        """The kernel of every row with every vector: float64 [N, S]."""
        if x.shape[1] != self.vectors.shape[1]:
            raise InvalidInput(f"rows have {x.shape[1]} features, but the model's vectors have {self.vectors.shape[1]}")
        dot = x @ self.vectors.T
        if self.kind == "LINEAR":
            return dot
        if self.kind == "RBF":
            dot *= -2
            dot += xp.square(x).sum(axis=1)[:, None]
            dot += xp.square(self.vectors).sum(axis=1)
            xp.maximum(dot, 0, out=dot)
            dot *= -self.gamma
            return xp.exp(dot, out=dot)
        dot *= self.gamma
        dot += self.coef0
        if self.kind == "SIGMOID":
            return xp.tanh(dot, out=dot)
        if self.degree == 3:
            return dot * dot * dot
        return dot**self.degree


def pair_scores(xp: Any, kernel: np.ndarray, coefficients: np.ndarray, starts: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """Decisions of the classifiers of each pair of classes i < j, in order: float64 [N, C(C-1)/2].

    `kernel` is [N, S] with the support vectors in order of their classes, class c from starts[c] up to starts[c + 1].
    `coefficients` is [C-1, S]: for a vector of class c, row r weighs it against class r (r < c) or r + 1 (r >= c).
    """
    classes = starts.size - 1
    part = xp.empty((classes, kernel.shape[0], classes - 1), kernel.dtype)
    for c in range(classes):
        block = slice(starts[c], starts[c + 1])
        xp.matmul(kernel[:, block], coefficients[:, block].T, out=part[c])
    i, j = np.triu_indices(classes, 1)
    return part[i, :, j - 1].T + part[j, :, i].T + rho


def pair_votes(xp: Any, scores: np.ndarray, classes: int) -> np.ndarray:
    """How many pairs each class wins, int64 [N, C]: a positive score is a vote for the first class of the pair."""
    i, j = np.triu_indices(classes, 1)
    first = scores > 0
    wins = xp.zeros((scores.shape[0], classes, classes), bool)
    wins[:, i, j] = first
    wins[:, j, i] = ~first
    return wins.sum(axis=2)


def coupled_probabilities(xp: Any, scores: np.ndarray, a: np.ndarray, b: np.ndarray, classes: int) -> np.ndarray:
    """Class probabilities [N, C] from pair scores [N, C(C-1)/2] and Platt's sigmoids 1 / (1 + exp(a * score + b)).

    The pairs are coupled by the second method of Wu, Lin and Weng, "Probability Estimates for Multi-class Classification
    by Pairwise Coupling" (JMLR 2004), with libsvm's stopping rule, for all rows at once.
    """
    i, j = np.triu_indices(classes, 1)
    t = scores * a + b
    e = xp.exp(-xp.abs(t))
    r = xp.zeros((scores.shape[0], classes, classes))
    r[:, i, j] = xp.clip(xp.where(t > 0, e, 1.0) / (1 + e), 1e-7, 1 - 1e-7)
    r[:, j, i] = 1 - r[:, i, j]
    q = -r.swapaxes(1, 2) * r
    diagonal = xp.arange(classes)
    q[:, diagonal, diagonal] = xp.square(r).sum(axis=1)
    p = xp.full((scores.shape[0], classes), 1 / classes)
    active = xp.arange(scores.shape[0])
    for _ in range(max(100, classes)):
        qp = xp.matmul(q, p[active, :, None])[:, :, 0]
        pqp = (p[active] * qp).sum(axis=1)
        going = xp.abs(qp - pqp[:, None]).max(axis=1) >= 0.005 / classes
        if not going.all():
            active, q, qp, pqp = active[going], q[going], qp[going], pqp[going]
        if not active.size:
            break
        p[active] = _couple_once(p[active], q, qp, pqp)
    return p


def _couple_once(p: np.ndarray, q: np.ndarray, qp: np.ndarray, pqp: np.ndarray) -> np.ndarray:
    """One sweep over the classes; p and qp are [N, C], q is [N, C, C], pqp is [N]."""
    for t in range(p.shape[1]):
        diff = (pqp - qp[:, t]) / q[:, t, t]
        p[:, t] += diff
        pqp = (pqp + diff * (diff * q[:, t, t] + 2 * qp[:, t])) / (1 + diff) ** 2
        scale = (1 + diff)[:, None]
        qp = (qp + diff[:, None] * q[:, t]) / scale
        p /= scale
    return p
