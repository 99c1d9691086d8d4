import numpy as np
import pytest

from sardonyx.errors import InvalidInput

X = np.array([[1, 2], [-1, 0.5]], np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, float)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32])
def test_regressor(run, dtype):
    x = np.array([[1, 2], [-1, 3]], dtype)
    got = run("LinearRegressor", x, coefficients=[1.0, 2.0, 3.0, 4.0], intercepts=[0.5, -0.5], targets=2)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, [[5.5, 10.5], [5.5, 8.5]])
    np.testing.assert_allclose(run("LinearRegressor", x[0], coefficients=[1.0, 2.0]), [[5]])


def test_regressor_transforms_a_single_target_too(run):
    got = run("LinearRegressor", X, coefficients=[1.0, 2.0], post_transform="LOGISTIC")
    np.testing.assert_allclose(got, sigmoid([[5], [0]]), rtol=1e-6)
    got = run("LinearRegressor", np.array([[0.3], [0.975]]), coefficients=[1.0], post_transform="PROBIT")
    np.testing.assert_allclose(got, [[-0.5244005], [1.9599640]], rtol=1e-5)


def test_regressor_keeps_the_precision_of_doubles(run):
    got = run("LinearRegressor", np.array([[1e8 + 1, 1e8]]), coefficients=[1.0, -1.0])
    np.testing.assert_array_equal(got, [[1]])


@pytest.mark.parametrize(
    ("transform", "wanted"),
    [
        ("NONE", [[5, 0.5], [0, -1]]),
        ("LOGISTIC", sigmoid([[5, 0.5], [0, -1]])),
        ("SOFTMAX", [[sigmoid(4.5), sigmoid(-4.5)], [sigmoid(1), sigmoid(-1)]]),
        ("SOFTMAX_ZERO", [[sigmoid(4.5), sigmoid(-4.5)], [0, 1]]),
    ],
)
def test_classifier_of_two_scores(run, transform, wanted):
    attributes = {"coefficients": [1.0, 2.0, 1.0, 0.0], "intercepts": [0.0, -0.5], "post_transform": transform}
    x = np.array([[1, 2], [-0.5, 0.25]], np.float32)
    labels, scores = run("LinearClassifier", x, classlabels_strings=["a", "b"], **attributes)
    assert labels.tolist() == ["a", "a"]
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("transform", "first", "second"),
    [
        ("NONE", [0.75, 1.5], [0.25, -0.5]),
        ("LOGISTIC", sigmoid([-0.25, 0.5]), sigmoid([0.25, -0.5])),
        ("SOFTMAX", [0.75, 1.5], [0.25, -0.5]),
        ("PROBIT", [0.6744898, np.nan], [-0.6744898, np.nan]),
    ],
)
def test_classifier_of_one_score_for_two_classes(run, transform, first, second):
    attributes = {"coefficients": [0.25], "intercepts": [0.0], "post_transform": transform}
    labels, scores = run("LinearClassifier", np.array([[1.0], [-2.0]]), classlabels_ints=[4, 5], **attributes)
    assert labels.tolist() == [5, 4]
    np.testing.assert_allclose(scores, np.stack([first, second], axis=1), rtol=1e-6)


def test_classifier_without_intercepts(run):
    labels, scores = run("LinearClassifier", X, coefficients=[1.0, 0.0, 0.0, 1.0, -1.0, 0.0], classlabels_ints=[7, 8, 9])
    assert labels.tolist() == [8, 9]
    np.testing.assert_array_equal(scores, [[1, 2, -1], [-1, 0.5, 1]])


def test_classifier_large_logits_neither_overflow_nor_vanish(run):
    x = np.array([[-40.0], [1000.0]], np.float32)
    _, scores = run("LinearClassifier", x, coefficients=[1.0, -1.0], classlabels_ints=[0, 1], post_transform="LOGISTIC")
    np.testing.assert_allclose(scores[0, 0], np.exp(-40.0), rtol=1e-5)
    np.testing.assert_array_equal(scores[1], [1, 0])


def test_refusals(run):
    with pytest.raises(InvalidInput, match="3 coefficients and no intercepts"):
        run("LinearRegressor", X, coefficients=[1.0, 2.0, 3.0], targets=2)
    with pytest.raises(InvalidInput, match="4 coefficients and 1 intercepts"):
        run("LinearRegressor", X, coefficients=[1.0, 2.0, 3.0, 4.0], intercepts=[1.0], targets=2)
    with pytest.raises(InvalidInput, match="no class labels"):
        run("LinearClassifier", X, coefficients=[1.0, 2.0])
    with pytest.raises(InvalidInput, match="one score for 3 class labels"):
        run("LinearClassifier", X, coefficients=[1.0, 2.0], classlabels_ints=[1, 2, 3])
    with pytest.raises(InvalidInput, match="post_transform is 'TANH'"):
        run("LinearRegressor", X, coefficients=[1.0, 2.0], post_transform="TANH")
    with pytest.raises(InvalidInput, match="shape \\[N, F\\]"):
        run("LinearRegressor", X[None], coefficients=[1.0, 2.0])
