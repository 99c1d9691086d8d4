"""NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.softmax.softmax import log_softmax
from sardonyx_ep_cpu.precision import widen

ops = KernelSet()


@ops.add("NegativeLogLikelihoodLoss", since=12)
def negative_log_likelihood_loss(
    xp: Any, x: Any, target: Any, weight: Any = None, *, ignore_index: int | None = None, reduction: str = "mean"
) -> Any:
    """-x[n, target[n, ...], ...] * weight[target[n, ...]], reduced.

    x (N, C, d...) are log-probabilities, target (N, d...) integers, weight (C,). Elements whose target is `ignore_index`
    count neither in the loss nor in the mean's divisor. Raises NodeError for a target outside [0, C).
    """
    return _loss(xp, widen(x), target, widen(weight), ignore_index, reduction).astype(x.dtype)


@ops.add("SoftmaxCrossEntropyLoss", since=12)
def softmax_cross_entropy_loss(
    xp: Any, scores: Any, labels: Any, weights: Any = None, *, ignore_index: int | None = None, reduction: str = "mean"
) -> tuple[Any, Any]:
    """The negative log-likelihood loss of LogSoftmax(scores, axis=1); also returns those log-probabilities."""
    log_prob = log_softmax(xp, widen(scores), axis=1)
    loss = _loss(xp, log_prob, labels, widen(weights), ignore_index, reduction)
    return loss.astype(scores.dtype), log_prob.astype(scores.dtype, copy=False)


def _loss(xp: Any, x: Any, target: Any, weight: Any, ignore_index: int | None, reduction: str) -> Any:
    if x.ndim < 2 or target.shape != x.shape[:1] + x.shape[2:]:
        raise NodeError(f"target has shape {target.shape}, but scores of shape {x.shape} need {x.shape[:1] + x.shape[2:]}")
    kept = None if ignore_index is None else target != ignore_index
    classes = target if kept is None else xp.where(kept, target, 0)
    if ((classes < 0) | (classes >= x.shape[1])).any():
        raise NodeError(f"a target is outside [0, {x.shape[1]}), the classes of scores of shape {x.shape}")
    loss = xp.negative(xp.take_along_axis(x, classes[:, None], axis=1)[:, 0])
    if weight is None:
        scale = xp.ones_like(loss) if kept is None else kept.astype(x.dtype)
    else:
        scale = weight[classes] if kept is None else xp.where(kept, weight[classes], 0)
    loss = (loss if kept is None else xp.where(kept, loss, 0)) * scale
    if reduction == "none":
        return loss
    total = xp.sum(loss, keepdims=True)
    if reduction == "mean":
        total = total / xp.sum(scale, keepdims=True)
    elif reduction != "sum":
        raise NodeError(f"reduction is {reduction!r}, but must be none, sum or mean")
    return total.reshape(())
