import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

RNG = np.random.default_rng(0)
LABELS = np.array([[0, 2], [1, -5], [2, 1]])
WEIGHT = np.array([0.2, 0.3, 0.5])


def run(op, *inputs, **attributes):
    return kernels.find("", op, 13).function(np, *inputs, **attributes)


def expected(log_prob, labels, weight, ignore, reduction):
    losses, weights = np.zeros(labels.shape), np.zeros(labels.shape)
    for place in np.ndindex(labels.shape):
        c = labels[place]
        if c != ignore:
            weights[place] = 1 if weight is None else weight[c]
            losses[place] = -log_prob[(place[0], c, *place[1:])] * weights[place]
    return losses if reduction == "none" else losses.sum() / (weights.sum() if reduction == "mean" else 1)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-6), (np.float64, 1e-13), (np.float16, 1e-3), (ml_dtypes.bfloat16, 8e-3)])
def test_losses(reduction, weight, index, dtype, rtol):
    scores = RNG.standard_normal((3, 3, 2)).astype(dtype)
    labels = LABELS.astype(index)
    weight = None if weight is None else weight.astype(dtype)
    wide = scores.astype(np.float64)
    log_prob = wide - np.log(np.exp(wide).sum(1, keepdims=True))
    exact_weight = None if weight is None else weight.astype(np.float64)
    loss, got_log_prob = run("SoftmaxCrossEntropyLoss", scores, labels, weight, ignore_index=-5, reduction=reduction)
    assert loss.dtype == got_log_prob.dtype == dtype
    np.testing.assert_allclose(got_log_prob.astype(float), log_prob, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(loss.astype(float), expected(log_prob, labels, exact_weight, -5, reduction), rtol=rtol)
    loss = run("NegativeLogLikelihoodLoss", scores, labels, weight, ignore_index=-5, reduction=reduction)
    assert loss.dtype == dtype
    np.testing.assert_allclose(loss.astype(float), expected(wide, labels, exact_weight, -5, reduction), rtol=rtol, atol=rtol)


def test_the_specifications_examples():
    x = np.float32([[[1, 2], [2, 2], [3, 2]], [[0, 1], [2, 2], [1, 2]]])
    target = np.array([[2, 1], [0, 2]])
    weight = np.float32([0.2, 0.3, 0.1])
    np.testing.assert_array_equal(run("NegativeLogLikelihoodLoss", x, target, reduction="none"), [[-3, -2], [0, -2]])
    np.testing.assert_allclose(run("NegativeLogLikelihoodLoss", x, target, weight, reduction="sum"), -1.1, rtol=1e-6)
    np.testing.assert_allclose(run("NegativeLogLikelihoodLoss", x, target, weight), -1.1 / 0.7, rtol=1e-6)


@pytest.mark.parametrize("op", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_errors(op):
    x = np.zeros((2, 3), np.float32)
    for bad in ([0, 3], [-1, 0]):
        with pytest.raises(NodeError, match=r"outside \[0, 3\)"):
            run(op, x, np.array(bad))
    with pytest.raises(NodeError, match="target has shape"):
        run(op, x, np.array([0, 1, 2]))
    with pytest.raises(NodeError, match="reduction is"):
        run(op, x, np.array([0, 1]), reduction="max")


def test_an_infinite_score_of_an_ignored_element_does_not_matter():
    x = np.float32([[-np.inf, 0], [1, 2]])
    assert run("NegativeLogLikelihoodLoss", x, np.array([0, 1]), ignore_index=0) == -2
