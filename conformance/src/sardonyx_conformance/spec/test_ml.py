"""Operators of ai.onnx.ml that onnx has no backend test of, by their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

ML = "ai.onnx.ml"
X = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]], np.float32)


def words(*values: str) -> np.ndarray:
    """A string tensor."""
    return np.array(values, object)


def test_scaler(run_op: Any) -> None:
    """(x - offset) * scale, by feature."""
    y = run_op("Scaler", X, domain=ML, offset=[1.0, 0.0, -1.0], scale=[2.0, 0.5, 1.0])
    np.testing.assert_allclose(y, (X - [1, 0, -1]) * [2, 0.5, 1], rtol=1e-6)


@pytest.mark.parametrize(("norm", "order"), [("MAX", np.inf), ("L1", 1), ("L2", 2)])
def test_normalizer(run_op: Any, norm: str, order: float) -> None:
    """Each row over its norm."""
    x = np.abs(X) + 1
    want = x / np.linalg.norm(x.astype(np.float64), order, axis=1, keepdims=True)
    np.testing.assert_allclose(run_op("Normalizer", x, domain=ML, norm=norm), want, rtol=1e-6)


def test_imputer(run_op: Any) -> None:
    """NaN is replaced, by feature."""
    x = X.copy()
    x[0, 1] = np.nan
    y = run_op("Imputer", x, domain=ML, imputed_value_floats=[7.0, 8.0, 9.0], replaced_value_float=float("nan"))
    np.testing.assert_array_equal(y, np.where(np.isnan(x), np.float32(8), x))


def test_one_hot_encoder(run_op: Any) -> None:
    """A new last axis of the categories; an unknown value has zeros."""
    y = run_op("OneHotEncoder", np.array([[3, 1], [5, 9]]), domain=ML, cats_int64s=[1, 3, 5], zeros=1)
    np.testing.assert_array_equal(y, np.array([[[0, 1, 0], [1, 0, 0]], [[0, 0, 1], [0, 0, 0]]], np.float32))


def test_category_mapper(run_op: Any) -> None:
    """Between strings and integers, with a default."""
    cats = {"cats_int64s": [10, 20], "cats_strings": ["a", "b"]}
    y = run_op("CategoryMapper", words("b", "?", "a"), domain=ML, default_int64=-5, **cats)
    np.testing.assert_array_equal(y, np.array([20, -5, 10]))


def test_feature_vectorizer(run_op: Any) -> None:
    """The inputs side by side, as floats."""
    a, b = np.array([[1, 2], [3, 4]]), np.array([[5], [6]])
    y = run_op("FeatureVectorizer", a, b, domain=ML, inputdimensions=[2, 1])
    np.testing.assert_array_equal(y, np.array([[1, 2, 5], [3, 4, 6]], np.float32))


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
def test_linear_regressor(run_op: Any, post: str) -> None:
    """x @ w + b for each target, then the transform."""
    w, b = [0.5, -1.0, 2.0, 1.0, 0.0, -0.5], [0.25, -1.0]
    want = X.astype(np.float64) @ np.reshape(w, (2, 3)).T + b
    want = 1 / (1 + np.exp(-want)) if post == "LOGISTIC" else want
    y = run_op("LinearRegressor", X, domain=ML, coefficients=w, intercepts=b, targets=2, post_transform=post)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("post", ["NONE", "SOFTMAX"])
def test_linear_classifier(run_op: Any, post: str) -> None:
    """Scores of three classes, and the label of the largest."""
    w, b = [0.5, -1.0, 2.0, 1.0, 0.0, -0.5, -1.0, 1.0, 1.0], [0.25, -1.0, 0.5]
    scores = X.astype(np.float64) @ np.reshape(w, (3, 3)).T + b
    labels = np.array([7, 8, 9])[scores.argmax(1)]
    if post == "SOFTMAX":
        scores = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    attributes = {"coefficients": w, "intercepts": b, "classlabels_ints": [7, 8, 9], "post_transform": post, "multi_class": 1}
    label, y = run_op("LinearClassifier", X, outputs=2, domain=ML, **attributes)
    np.testing.assert_array_equal(label, labels)
    np.testing.assert_allclose(y, scores, rtol=1e-5, atol=1e-6)


def test_linear_models_with_more_coefficients_than_the_rows_need(run_op: Any) -> None:
    """The first outputs x features of them are the weights, as in onnxruntime (its own sample logreg_iris.onnx is of this kind)."""
    w, b = [0.5, -1.0, 2.0, 1.0, 0.0, -0.5, -1.0, 1.0, 1.0, 4.0, 5.0, 6.0], [0.25, -1.0, 0.5]
    scores = X.astype(np.float64) @ np.reshape(w[:9], (3, 3)).T + b
    y = run_op("LinearRegressor", X, domain=ML, coefficients=w, intercepts=b, targets=3)
    np.testing.assert_allclose(y, scores, rtol=1e-5, atol=1e-6)
    label, y = run_op("LinearClassifier", X, outputs=2, domain=ML, coefficients=w, intercepts=b, classlabels_ints=[7, 8, 9])
    np.testing.assert_array_equal(label, np.array([7, 8, 9])[scores.argmax(1)])
    np.testing.assert_allclose(y, scores, rtol=1e-5, atol=1e-6)


def test_svm_regressor(run_op: Any) -> None:
    """The sum over support vectors of coefficient times exp(-gamma |x - v|^2), plus rho."""
    vectors, c, rho, gamma = np.array([[1.0, 0, 0], [0, 1.0, -1]], np.float32), [0.5, -2.0], 0.25, 0.3
    distance = ((X[:, None].astype(np.float64) - vectors) ** 2).sum(-1)
    want = (np.exp(-gamma * distance) @ c + rho)[:, None]
    kernel = {"kernel_type": "RBF", "kernel_params": [gamma, 0.0, 3.0], "n_supports": 2}
    y = run_op("SVMRegressor", X, domain=ML, support_vectors=vectors.reshape(-1).tolist(), coefficients=c, rho=[rho], **kernel)
    np.testing.assert_allclose(y, want, rtol=1e-5)


STUMPS = {
    "nodes_treeids": [0, 0, 0, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2, 0, 1, 2],
    "nodes_featureids": [0, 0, 0, 2, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
    "nodes_values": [0.5, 0.0, 0.0, 0.5, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0, 2, 0, 0],
}


def test_tree_ensemble_regressor(run_op: Any) -> None:
    """Two stumps: x0 <= 0.5 gives 1, else 2; x2 < 0.5 gives 10, else 20 (0.5 itself is not less)."""
    leaves = {
        "target_treeids": [0, 0, 1, 1],
        "target_nodeids": [1, 2, 1, 2],
        "target_ids": [0] * 4,
        "target_weights": [1.0, 2.0, 10.0, 20.0],
    }
    y = run_op("TreeEnsembleRegressor", X, domain=ML, n_targets=1, **STUMPS, **leaves)
    np.testing.assert_allclose(y, [[22.0], [11.0]])


def test_tree_ensemble_classifier(run_op: Any) -> None:
    """The same stumps voting for two classes."""
    leaves = {
        "class_treeids": [0, 0, 1, 1],
        "class_nodeids": [1, 2, 1, 2],
        "class_ids": [0, 1, 0, 1],
        "class_weights": [0.7, 0.4, 0.3, 0.2],
    }
    label, y = run_op("TreeEnsembleClassifier", X, outputs=2, domain=ML, classlabels_strings=["no", "yes"], **STUMPS, **leaves)
    assert label.tolist() == ["yes", "no"]
    np.testing.assert_allclose(y, [[0.0, 0.6], [1.0, 0.0]], rtol=1e-6, atol=1e-7)


def test_zip_map(run_op: Any) -> None:
    """A map of labels to scores for each row."""
    y = run_op("ZipMap", np.array([[0.25, 0.75], [1.0, 0.0]], np.float32), domain=ML, classlabels_strings=["a", "b"])
    assert y == [{"a": 0.25, "b": 0.75}, {"a": 1.0, "b": 0.0}]
