"""The score transforms that classifiers and regressors of ai.onnx.ml share."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput
from sardonyx_ep_cpu.ops.elementwise.activations import sigmoid

__all__ = ["check_transform", "post_transform", "two_columns"]


def probit(xp: Any, x: np.ndarray) -> np.ndarray:
    """The quantile of the normal distribution; NaN outside [0, 1]."""
    from scipy.special import ndtri

    return ndtri(x)


def softmax(xp: Any, x: np.ndarray) -> np.ndarray:
    """Softmax over the last axis."""
    if not x.shape[-1]:
        return x
    e = x - x.max(axis=-1, keepdims=True)
    xp.exp(e, out=e)
    e /= e.sum(axis=-1, keepdims=True)
    return e


def softmax_zero(xp: Any, x: np.ndarray) -> np.ndarray:
    """Softmax over the last axis of the scores that are not zero (within 1e-7); scores that are zero stay zero."""
    if not x.shape[-1]:
        return x
    zero = xp.abs(x) <= 1e-7
    e = x - x.max(axis=-1, keepdims=True)
    xp.exp(e, out=e)
    e[zero] = 0
    total = e.sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    e /= total
    return e


_TRANSFORMS = {"NONE": None, "LOGISTIC": sigmoid, "SOFTMAX": softmax, "SOFTMAX_ZERO": softmax_zero, "PROBIT": probit}


def check_transform(name: str) -> str:
    """`name` itself if ONNX defines such a post_transform; InvalidInput otherwise."""
    if name not in _TRANSFORMS:
        raise InvalidInput(f"post_transform is {name!r}, but must be one of {', '.join(_TRANSFORMS)}")
    return name


def post_transform(xp: Any, scores: np.ndarray, name: str) -> np.ndarray:
    """Apply the transform `name` to scores [N, E]."""
    function = _TRANSFORMS[check_transform(name)]
    return scores if function is None else function(xp, scores)


def two_columns(xp: Any, score: np.ndarray, name: str, *, probability: bool) -> np.ndarray:
    """The scores [N, 2] of a two-class model with one score [N] per row, by the convention of onnxruntime.

    The score belongs to the second class; the first gets 1 - score where the score is a `probability`, else -score.
    LOGISTIC gives the logistic of -score and score; PROBIT gives the quantile of 1 - score and score; the other
    transforms change nothing.
    """
    out = xp.empty((score.shape[0], 2), score.dtype)
    out[:, 1] = score
    check_transform(name)
    if name == "LOGISTIC":
        out[:, 0] = -score
        return sigmoid(xp, out)
    if name == "PROBIT":
        out[:, 1] = probit(xp, score)
        out[:, 0] = -out[:, 1]
        return out
    out[:, 0] = 1 - score if probability else -score
    return out
