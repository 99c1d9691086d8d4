import numpy as np
import pytest

from sardonyx.errors import InvalidInput

X = np.array([[0.0], [1.0]], np.float32)
SIGMOID = 1 / (1 + np.exp(-np.array([0.25, -0.5])))


def stump(votes, **attributes):
    """Feature 0 <= 0.5 picks the first of two dicts from class to weight, else the second."""
    flat = [(node, c, w) for node, leaf in zip((1, 2), votes, strict=True) for c, w in leaf.items()]
    return {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "class_treeids": [0] * len(flat),
        "class_nodeids": [node for node, _, _ in flat],
        "class_ids": [c for _, c, _ in flat],
        "class_weights": [w for _, _, w in flat],
        **attributes,
    }


@pytest.mark.parametrize("since", [1, 3])
@pytest.mark.parametrize("labels", [{"classlabels_int64s": [7, 4, 9]}, {"classlabels_strings": ["x", "y", "z"]}])
def test_several_classes(run, since, labels):
    names = next(iter(labels.values()))
    attributes = stump(({0: 0.5, 1: 0.25, 2: 0.25}, {1: 0.5, 2: 0.5}), **labels)
    got, scores = run("TreeEnsembleClassifier", X, since=since, **attributes)
    assert got.tolist() == [names[0], names[1]]
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, [[0.5, 0.25, 0.25], [0, 0.5, 0.5]])


def test_base_values_and_softmax(run):
    attributes = stump(({0: 1.0}, {1: 1.0}), classlabels_int64s=[7, 4, 9], base_values=[0.0, 0.5, 2.0], post_transform="SOFTMAX")
    got, scores = run("TreeEnsembleClassifier", X, **attributes)
    assert got.tolist() == [9, 9]
    raw = np.exp([[1, 0.5, 2], [0, 1.5, 2]])
    np.testing.assert_allclose(scores, raw / raw.sum(axis=1, keepdims=True), rtol=1e-6)


def test_a_class_without_votes_is_no_candidate(run):
    got, scores = run("TreeEnsembleClassifier", X, **stump(({0: -1.0, 1: -2.0}, {0: -3.0, 1: -2.0}), classlabels_int64s=[7, 4, 9]))
    assert got.tolist() == [7, 4]
    np.testing.assert_array_equal(scores, [[-1, -2, 0], [-3, -2, 0]])


@pytest.mark.parametrize(
    ("transform", "weights", "first", "second", "labels"),
    [
        ("NONE", (0.25, 0.75), [0.75, 0.25], [0.25, 0.75], [4, 5]),
        ("NONE", (0.25, -0.5), [-0.25, 0.5], [0.25, -0.5], [5, 4]),
        ("LOGISTIC", (0.25, -0.5), 1 - SIGMOID, SIGMOID, [5, 4]),
        ("SOFTMAX", (0.25, -0.5), [-0.25, 0.5], [0.25, -0.5], [5, 4]),
        ("PROBIT", (0.25, 0.75), [0.6744898, -0.6744898], [-0.6744898, 0.6744898], [4, 5]),
    ],
)
def test_two_classes_with_votes_for_the_first(run, transform, weights, first, second, labels):
    votes = tuple({0: w} for w in weights)
    got, scores = run("TreeEnsembleClassifier", X, **stump(votes, classlabels_int64s=[4, 5], post_transform=transform))
    assert got.tolist() == labels
    np.testing.assert_allclose(scores, np.stack([first, second], axis=1), rtol=1e-6)


def test_two_classes_one_base_value(run):
    attributes = stump(({0: 0.25}, {0: 0.75}), classlabels_strings=["no", "yes"], base_values=[0.3])
    got, scores = run("TreeEnsembleClassifier", X, **attributes)
    assert got.tolist() == ["yes", "yes"]
    np.testing.assert_allclose(scores, [[0.45, 0.55], [-0.05, 1.05]], rtol=1e-6)


def test_two_classes_with_votes_for_the_second(run):
    got, scores = run("TreeEnsembleClassifier", X, **stump(({1: 0.25}, {1: 0.75}), classlabels_int64s=[4, 5]))
    assert got.tolist() == [4, 5]
    np.testing.assert_array_equal(scores, [[0, 0.25], [0, 0.75]])
    got, scores = run("TreeEnsembleClassifier", X, **stump(({1: 0.25}, {1: -0.75}), classlabels_int64s=[4, 5]))
    assert got.tolist() == [5, 4]


def test_two_classes_with_votes_for_both(run):
    # what onnxmltools writes for XGBoost's multi:softprob of two classes; onnxruntime 1.32 swaps the classes' scores
    attributes = stump(({0: 0.75, 1: -0.5}, {0: -0.25, 1: 1.0}), classlabels_int64s=[4, 5], post_transform="SOFTMAX")
    got, scores = run("TreeEnsembleClassifier", X, base_values=[-0.25, 0.25], **attributes)
    assert got.tolist() == [4, 5]
    second = 1 / (1 + np.exp([0.75, -1.75]))
    np.testing.assert_allclose(scores, np.stack([1 - second, second], axis=1), rtol=1e-6)


def test_one_class(run):
    got, scores = run("TreeEnsembleClassifier", X, **stump(({0: 0.25}, {0: -0.75}), classlabels_int64s=[1]))
    assert got.tolist() == [1, 0]
    np.testing.assert_array_equal(scores, [[0.25], [-0.75]])


def test_double_tensors(run):
    attributes = stump(({0: 1.0}, {1: 1.0}), classlabels_int64s=[4, 5, 6])
    attributes["nodes_values_as_tensor"] = np.array(attributes.pop("nodes_values"))
    attributes["class_weights_as_tensor"] = np.array(attributes.pop("class_weights"))
    got, scores = run(
        "TreeEnsembleClassifier", X.astype(np.float64), since=3, base_values_as_tensor=np.array([0.0, 0.5, 0.75]), **attributes
    )
    assert got.tolist() == [4, 5]
    np.testing.assert_array_equal(scores, [[1, 0.5, 0.75], [0, 1.5, 0.75]])


def test_refusals(run):
    with pytest.raises(InvalidInput, match="no class labels"):
        run("TreeEnsembleClassifier", X, **stump(({0: 1.0}, {0: 2.0})))
    with pytest.raises(InvalidInput, match="base_values has 2"):
        run("TreeEnsembleClassifier", X, **stump(({0: 1.0}, {0: 2.0}), classlabels_int64s=[1, 2, 3], base_values=[0.0, 1.0]))
    with pytest.raises(InvalidInput, match="only one of nodes_values"):
        run("TreeEnsembleClassifier", X, since=3, **stump(({0: 1.0}, {0: 2.0}), classlabels_int64s=[1], nodes_values_as_tensor=np.zeros(3)))
