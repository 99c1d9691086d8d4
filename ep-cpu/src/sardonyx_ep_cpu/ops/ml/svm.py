"""Support vector machines: SVMClassifier, SVMRegressor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import InvalidInput
from sardonyx_ep_cpu.ops.ml.inputs import as_rows, label_array
from sardonyx_ep_cpu.ops.ml.post_transform import post_transform as transform
from sardonyx_ep_cpu.ops.ml.post_transform import two_columns
from sardonyx_ep_cpu.ops.ml.svm_model import SvmKernel, coupled_probabilities, pair_scores, pair_votes

ops = KernelSet("ai.onnx.ml")

# elements of the largest temporary of a block of rows
_BLOCK = 1 << 22


def _floats(attrs: dict[str, Any], name: str) -> np.ndarray:
    return np.asarray(attrs.get(name) or [], np.float32).astype(np.float64)


def _at_least(name: str, values: np.ndarray, needed: int) -> np.ndarray:
    if values.size < needed:
        raise InvalidInput(f"{name} has {values.size} values, but the model needs {needed}")
    return values[:needed]


def _matrix(name: str, values: np.ndarray, rows: int) -> np.ndarray:
    if values.size % rows:
        raise InvalidInput(f"{name} has {values.size} values, which {rows} rows of equal length cannot hold")
    return values.reshape(rows, -1)


@dataclass(frozen=True, slots=True)
class SvmClassifier:
    """What SVMClassifier prepares. `starts` is None for the linear mode (no support vectors)."""

    labels: np.ndarray
    kernel: SvmKernel
    coefficients: np.ndarray
    rho: np.ndarray
    starts: np.ndarray | None
    prob_a: np.ndarray
    prob_b: np.ndarray


def _prepare_classifier(xp: Any, inputs: list, attrs: dict[str, Any]) -> SvmClassifier:
    labels = label_array(attrs.get("classlabels_ints"), attrs.get("classlabels_strings"))
    counts = np.asarray(attrs.get("vectors_per_class") or [], np.int64)
    coefficients, rho = _floats(attrs, "coefficients"), _floats(attrs, "rho")
    a, b = _floats(attrs, "prob_a"), _floats(attrs, "prob_b")
    vectors = int(counts.sum())
    if not coefficients.size:
        raise InvalidInput("SVMClassifier has no coefficients")
    if not vectors:
        weights = _matrix("coefficients", coefficients, labels.size)
        kernel = SvmKernel("LINEAR", weights)
        return SvmClassifier(labels, kernel, weights, _at_least("rho", rho, 1), None, a, b)
    if counts.size != labels.size or counts.min() < 0:
        raise InvalidInput(f"vectors_per_class has {counts.size} counts, but there are {labels.size} class labels")
    pairs = labels.size * (labels.size - 1) // 2
    if a.size or b.size:
        a, b = _at_least("prob_a", a, pairs), _at_least("prob_b", b, pairs)
    return SvmClassifier(
        labels,
        SvmKernel.from_attributes(attrs, _matrix("support_vectors", _floats(attrs, "support_vectors"), vectors)),
        _at_least("coefficients", coefficients, (labels.size - 1) * vectors).reshape(labels.size - 1, vectors),
        _at_least("rho", rho, pairs),
        np.concatenate(([0], np.cumsum(counts))),
        a,
        b,
    )


@ops.add("SVMClassifier", since=1, prepare=_prepare_classifier)
def svm_classifier(
    xp,
    x,
    *,
    classlabels_ints=None,
    classlabels_strings=None,
    coefficients=None,
    kernel_params=None,
    kernel_type="LINEAR",
    post_transform="NONE",
    prob_a=None,
    prob_b=None,
    rho=None,
    support_vectors=None,
    vectors_per_class=None,
    prepared: SvmClassifier,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows [N, F] -> labels [N] and scores float32.

    With support vectors the label is the class with most one-against-one votes (the first of equals) and the scores
    are probabilities [N, C] where prob_a is given; otherwise the decisions of all pairs [N, C(C-1)/2], or for two
    classes [N, 2] as in `two_columns`. Without support vectors the model is linear: scores x @ coefficients + rho[0]
    [N, C], and the label is that of the highest.
    """
    svm = prepared
    rows = as_rows(xp, x).astype(xp.float64, copy=False)
    block = max(1, _BLOCK // max(len(svm.kernel.vectors), svm.labels.size**2))
    parts = [_classify(xp, svm, rows[start : start + block]) for start in range(0, max(len(rows), 1), block)]
    best, scores = parts[0] if len(parts) == 1 else map(xp.concatenate, zip(*parts, strict=True))
    if svm.starts is not None and svm.labels.size == 2 and not svm.prob_a.size:
        scores = two_columns(xp, scores[:, 0], post_transform, probability=post_transform != "NONE")
    else:
        scores = transform(xp, scores, post_transform)
    return svm.labels[best], scores.astype(xp.float32)


def _classify(xp: Any, svm: SvmClassifier, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The index of the winning class [N], and the scores before the transform."""
    kernel = svm.kernel(xp, rows)
    if svm.starts is None:
        scores = kernel + svm.rho[0]
        return scores.argmax(axis=1), scores
    scores = pair_scores(xp, kernel, svm.coefficients, svm.starts, svm.rho)
    best = pair_votes(xp, scores, svm.labels.size).argmax(axis=1)
    if svm.prob_a.size:
        scores = coupled_probabilities(xp, scores, svm.prob_a, svm.prob_b, svm.labels.size)
    return best, scores


def _prepare_regressor(xp: Any, inputs: list, attrs: dict[str, Any]) -> tuple[SvmKernel, np.ndarray | None, float]:
    coefficients = _floats(attrs, "coefficients")
    rho = float(_at_least("rho", _floats(attrs, "rho"), 1)[0])
    count = attrs.get("n_supports", 0)
    if count <= 0:
        return SvmKernel("LINEAR", coefficients[None]), None, rho
    vectors = _matrix("support_vectors", _floats(attrs, "support_vectors"), count)
    return SvmKernel.from_attributes(attrs, vectors), _at_least("coefficients", coefficients, count), rho


@ops.add("SVMRegressor", since=1, prepare=_prepare_regressor)
def svm_regressor(
    xp,
    x,
    *,
    coefficients=None,
    kernel_params=None,
    kernel_type="LINEAR",
    n_supports=0,
    one_class=0,
    post_transform="NONE",
    rho=None,
    support_vectors=None,
    prepared: tuple[SvmKernel, np.ndarray | None, float],
) -> np.ndarray:
    """Rows [N, F] -> float32 [N, 1]; with `one_class` 1 where the score is positive, else -1."""
    kernel, weights, offset = prepared
    scores = kernel(xp, as_rows(xp, x).astype(xp.float64, copy=False))
    scores = (scores if weights is None else scores @ weights[:, None]) + offset
    if one_class:
        return xp.where(scores > 0, xp.float32(1), xp.float32(-1))
    return transform(xp, scores, post_transform).astype(xp.float32)
