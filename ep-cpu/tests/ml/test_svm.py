import math

import numpy as np
import pytest

from sardonyx.errors import InvalidInput

# scikit-learn 1.9: SVC(gamma=0.5, probability=True) of 24 points in three classes, rounded to 6 digits, and what its
# decision_function (one against one), predict and predict_proba give for POINTS
MODEL = {
    "kernel_type": "RBF",
    "kernel_params": [0.5, 0.0, 3.0],
    "vectors_per_class": [8, 6, 7],
    "support_vectors": [
        *(-0.7, -1.2, -0.2, 0.4, 1.0, 0.1, -0.5, -0.7, 0.7, 1.5, 0.2, -1.1, -0.9, 1.4, 0.2, -1.6),
        *(1.4, -1.0, 0.9, 0.5, 1.9, 0.7, 0.0, -0.2, 0.6, -0.2, 0.3, 0.0),
        *(0.0, 1.2, -1.0, 0.3, 0.2, 0.5, 1.1, 2.1, -1.8, 1.7, -1.0, 1.5, 0.0, -0.3),
    ],
    "coefficients": [
        *(0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.390367, 0.525408),
        *(-1.0, -0.937083, -0.978692, -1.0, -1.0, -1.0),
        *(-1.0, -1.0, -1.0, -1.0, -0.761428, -0.471654, -1.0),
        *(0.537263, 1.0, 1.0, 1.0, 1.0, 0.340853, 1.0, 0.354965),
        *(0.626057, 1.0, 0.84539, 1.0, 0.069671, 1.0),
        *(-0.537213, -0.559524, -1.0, -0.962565, -0.481816, 0.0, -1.0),
    ],
    "rho": [0.259377, -0.184413, -0.238186],
}
PLATT = {"prob_a": [-1.33322, 0.053962, -1.820484], "prob_b": [-0.326518, 0.004358, 0.13619]}
POINTS = np.array([[0, 0], [1.2, 0.3], [0.5, 0.9], [-1, 2]], np.float32)
DECISIONS = [
    [-0.171397, -0.073249, 0.107627],
    [-1.340898, 0.28909, 1.275042],
    [-0.088253, -0.447054, -0.166029],
    [0.849719, -0.825147, -1.074862],
]
PROBABILITIES = [
    [0.344141, 0.328877, 0.326981],
    [0.15322, 0.744934, 0.101846],
    [0.357562, 0.266785, 0.375653],
    [0.462848, 0.079899, 0.457253],
]


def test_classifier_scores_every_pair(run):
    labels, scores = run("SVMClassifier", POINTS, classlabels_ints=[0, 1, 2], **MODEL)
    assert labels.tolist() == [1, 1, 2, 2]
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, DECISIONS, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_classifier_probabilities_and_labels_by_votes(run, dtype):
    labels, scores = run("SVMClassifier", POINTS.astype(dtype), classlabels_strings=["a", "b", "c"], **MODEL, **PLATT)
    assert labels.tolist() == ["b", "b", "c", "c"]
    np.testing.assert_allclose(scores, PROBABILITIES, atol=1e-5)
    assert scores[3].argmax() == 0


def test_classifier_takes_no_rows_and_one(run):
    labels, scores = run("SVMClassifier", POINTS[:0], classlabels_ints=[0, 1, 2], **MODEL, **PLATT)
    assert labels.shape == (0,)
    assert scores.shape == (0, 3)
    labels, scores = run("SVMClassifier", POINTS[1], classlabels_ints=[0, 1, 2], **MODEL, **PLATT)
    np.testing.assert_allclose(scores, PROBABILITIES[1:2], atol=1e-5)


def test_blocks_of_rows_join(run, monkeypatch):
    monkeypatch.setattr("sardonyx_ep_cpu.ops.ml.svm._BLOCK", 50)
    labels, scores = run("SVMClassifier", POINTS, classlabels_ints=[0, 1, 2], **MODEL, **PLATT)
    assert labels.tolist() == [1, 1, 2, 2]
    np.testing.assert_allclose(scores, PROBABILITIES, atol=1e-5)


PAIR = {"vectors_per_class": [1, 1], "support_vectors": [1.0, 0.0, 0.0, 1.0], "coefficients": [1.0, -1.0], "rho": [0.25]}


@pytest.mark.parametrize(
    ("transform", "wanted"),
    [
        ("NONE", [-2.25, 2.25]),
        ("LOGISTIC", [1 / (1 + math.exp(2.25)), 1 / (1 + math.exp(-2.25))]),
        ("SOFTMAX", [-1.25, 2.25]),
    ],
)
def test_two_classes_have_two_scores(run, transform, wanted):
    labels, scores = run("SVMClassifier", np.array([[3, 1]]), classlabels_ints=[7, 8], post_transform=transform, **PAIR)
    assert labels.tolist() == [7]
    np.testing.assert_allclose(scores, [wanted], rtol=1e-6)


def test_two_classes_probabilities_are_the_sigmoid(run):
    _, scores = run("SVMClassifier", np.array([[3, 1]]), classlabels_ints=[7, 8], prob_a=[-1.0], prob_b=[0.5], **PAIR)
    p = 1 / (1 + math.exp(-2.25 + 0.5))
    np.testing.assert_allclose(scores, [[p, 1 - p]], atol=2.5e-3)


def test_linear_mode(run):
    attributes = {"coefficients": [1.0, 0.0, 0.0, 1.0, -1.0, -1.0], "rho": [0.5]}
    labels, scores = run("SVMClassifier", np.array([[1, 3], [-2, -1]]), classlabels_ints=[4, 5, 6], **attributes)
    assert labels.tolist() == [5, 6]
    np.testing.assert_array_equal(scores, [[1.5, 3.5, -3.5], [-1.5, -0.5, 3.5]])


def kernel(kind, u, v, gamma=0.3, coef0=0.2, degree=3):
    dot = float(np.dot(u, v))
    if kind == "RBF":
        return math.exp(-gamma * float(np.sum((u - v) ** 2)))
    return {"LINEAR": dot, "POLY": (gamma * dot + coef0) ** degree, "SIGMOID": math.tanh(gamma * dot + coef0)}[kind]


@pytest.mark.parametrize("kind", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_regressor_kernels(run, kind):
    rng = np.random.default_rng(0)
    x, vectors, weights = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)).astype(np.float32), rng.normal(size=5).astype(np.float32)
    attributes = {
        "kernel_type": kind,
        "kernel_params": [0.3, 0.2, 3.0],
        "n_supports": 5,
        "support_vectors": vectors.ravel().tolist(),
        "coefficients": weights.tolist(),
        "rho": [0.5],
    }
    wanted = [[sum(w * kernel(kind, row, v) for w, v in zip(weights, vectors, strict=True)) + 0.5] for row in x]
    got = run("SVMRegressor", x, **attributes)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=2e-6)
    np.testing.assert_array_equal(run("SVMRegressor", x, one_class=1, **attributes), np.where(np.array(wanted) > 0, 1, -1))


def test_distant_points_do_not_cancel(run):
    x = np.array([[1e4 + 1, 1e4]], np.float32)
    attributes = {"kernel_type": "RBF", "kernel_params": [1.0, 0.0, 0.0], "n_supports": 1, "support_vectors": [1e4, 1e4]}
    np.testing.assert_allclose(run("SVMRegressor", x, coefficients=[1.0], rho=[0.0], **attributes), [[math.exp(-1)]], rtol=1e-6)


def test_regressor_linear_mode_and_transform(run):
    attributes = {"coefficients": [1.0, 2.0], "rho": [-1.0]}
    np.testing.assert_array_equal(run("SVMRegressor", np.array([3, 4]), **attributes), [[10]])
    got = run("SVMRegressor", np.array([[0, 0.5]]), post_transform="LOGISTIC", **attributes)
    np.testing.assert_allclose(got, [[0.5]])


def test_refusals(run):
    with pytest.raises(InvalidInput, match="rho has 1 values, but the model needs 3"):
        run("SVMClassifier", POINTS, classlabels_ints=[0, 1, 2], **{**MODEL, "rho": [0.1]})
    with pytest.raises(InvalidInput, match="vectors_per_class has 3 counts"):
        run("SVMClassifier", POINTS, classlabels_ints=[0, 1], **MODEL)
    with pytest.raises(InvalidInput, match="3 features"):
        run("SVMRegressor", np.zeros((1, 3)), coefficients=[1.0, 2.0], rho=[0.0])
