"""Linear models: LinearClassifier, LinearRegressor."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import InvalidInput
from sardonyx_ep_cpu.ops.ml.inputs import as_rows, label_array
from sardonyx_ep_cpu.ops.ml.post_transform import post_transform as transform
from sardonyx_ep_cpu.ops.ml.post_transform import two_columns

ops = KernelSet("ai.onnx.ml")

Weights = tuple[np.ndarray, np.ndarray | None]


def _weights(attrs: dict[str, Any]) -> Weights:
    intercepts = attrs.get("intercepts")
    return np.asarray(attrs["coefficients"], np.float32), np.asarray(intercepts, np.float32) if intercepts else None


def _scores(xp: Any, x: np.ndarray, weights: Weights, outputs: int) -> np.ndarray:
    """x @ coefficients.T + intercepts: [N, outputs], in the precision of x. Coefficients beyond outputs * features are not read."""
    coefficients, intercepts = weights
    needed = outputs * x.shape[1]
    if coefficients.size < needed or (intercepts is not None and intercepts.size != outputs):
        biases = "no" if intercepts is None else intercepts.size
        raise InvalidInput(
            f"{coefficients.size} coefficients and {biases} intercepts do not fit {outputs} outputs of rows with {x.shape[1]} features"
        )
    scores = x @ coefficients[:needed].reshape(outputs, x.shape[1]).T.astype(x.dtype, copy=False)
    if intercepts is not None:
        scores += intercepts
    return scores


def _prepare_regressor(xp: Any, inputs: list, attrs: dict[str, Any]) -> Weights:
    return _weights({"coefficients": [], **attrs})


@ops.add("LinearRegressor", since=1, prepare=_prepare_regressor)
def linear_regressor(xp, x, *, coefficients=None, intercepts=None, post_transform="NONE", targets=1, prepared: Weights) -> np.ndarray:
    """Rows [N, F] -> float32 [N, targets]; `coefficients` are [targets, F] in one list."""
    rows = as_rows(xp, x)
    return transform(xp, _scores(xp, rows, prepared, targets), post_transform).astype(xp.float32, copy=False)


def _prepare_classifier(xp: Any, inputs: list, attrs: dict[str, Any]) -> tuple[Weights, np.ndarray]:
    return _weights(attrs), label_array(attrs.get("classlabels_ints"), attrs.get("classlabels_strings"))


@ops.add("LinearClassifier", since=1, prepare=_prepare_classifier)
def linear_classifier(
    xp,
    x,
    *,
    coefficients,
    classlabels_ints=None,
    classlabels_strings=None,
    intercepts=None,
    multi_class=0,
    post_transform="NONE",
    prepared: tuple[Weights, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Rows [N, F] -> the labels [N] of the highest scores, and scores float32 [N, E].

    One score with two labels means the second class where it is positive; see `two_columns` for what E = 2 then holds.
    One score with one label stays one column, and the label is 1 or 0. `multi_class` changes nothing, as in onnxruntime.
    """
    rows = as_rows(xp, x)
    weights, labels = prepared
    outputs = labels.size if weights[1] is None else weights[1].size
    if weights[0].size == rows.shape[1]:
        outputs = 1
    scores = _scores(xp, rows, weights, outputs)
    if outputs == 1:
        score = scores[:, 0]
        if labels.size == 2:
            best = labels[(score > 0).astype(np.intp)]
            return best, two_columns(xp, score, post_transform, probability=True).astype(xp.float32, copy=False)
        if labels.size > 2:
            raise InvalidInput(f"LinearClassifier has one score for {labels.size} class labels")
        best = (score > 0).astype(xp.int64)
        best = best if labels.dtype != object else np.array(["0", "1"], object)[best]
    elif labels.size < outputs:
        raise InvalidInput(f"LinearClassifier has {outputs} scores, but only {labels.size} class labels")
    else:
        best = labels[scores.argmax(axis=1)]
    return best, transform(xp, scores, post_transform).astype(xp.float32, copy=False)
