import numpy as np
import pytest

from sardonyx.errors import InvalidInput

# numpy compares NaN as the operators do: with != it is true, with all others false
COMPARE = {
    "BRANCH_LEQ": np.less_equal,
    "BRANCH_LT": np.less,
    "BRANCH_GTE": np.greater_equal,
    "BRANCH_GT": np.greater,
    "BRANCH_EQ": np.equal,
    "BRANCH_NEQ": np.not_equal,
}
# one split: feature 0 <= 0.5 has votes for the nodes 1 and 2
STUMP = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_featureids": [0, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [-1.0, 1.0],
    "n_targets": 1,
}
NAN = float("nan")


@pytest.mark.parametrize(
    ("mode", "inside"),
    [("LEQ", "-inf -1 0"), ("LT", "-inf -1"), ("GTE", "0 1 inf"), ("GT", "1 inf"), ("EQ", "0"), ("NEQ", "-inf -1 1 inf nan")],
)
@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_comparison_at_its_border(run, mode, inside, missing, dtype):
    x = np.array([[-np.inf], [-1], [-0.0], [0.0], [1], [np.inf], [NAN]], dtype)
    attributes = {**STUMP, "nodes_modes": [f"BRANCH_{mode}", "LEAF", "LEAF"], "nodes_values": [0.0, 0.0, 0.0]}
    got = run("TreeEnsembleRegressor", x, nodes_missing_value_tracks_true=[missing, 0, 0], **attributes)
    names = ["-inf", "-1", "0", "0", "1", "inf", "nan"]
    wanted = [[-1] if name in inside.split() or (name == "nan" and missing) else [1] for name in names]
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("threshold", [np.inf, -np.inf, NAN])
@pytest.mark.parametrize("mode", COMPARE)
def test_thresholds_without_bound(run, mode, threshold):
    x = np.array([[-np.inf], [0], [np.inf], [NAN]], np.float32)
    attributes = {**STUMP, "nodes_modes": [mode, "LEAF", "LEAF"], "nodes_values": [threshold, 0.0, 0.0]}
    wanted = np.where(COMPARE[mode](x, threshold), -1, 1)
    np.testing.assert_array_equal(run("TreeEnsembleRegressor", x, **attributes), wanted)


@pytest.mark.parametrize("mode", COMPARE)
def test_double_thresholds_between_floats(run, mode):
    below, above = np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(1))
    threshold = (float(below) + float(above)) / 2
    x = np.array([[below], [above]], np.float32)
    attributes = {k: v for k, v in STUMP.items() if k != "nodes_values"} | {"nodes_modes": [mode, "LEAF", "LEAF"]}
    got = run("TreeEnsembleRegressor", x, since=3, nodes_values_as_tensor=np.array([threshold, 0, 0]), **attributes)
    np.testing.assert_array_equal(got, np.where(COMPARE[mode](x.astype(np.float64), threshold), -1, 1))


def test_integers_compare_exactly(run):
    got = run("TreeEnsembleRegressor", np.array([[2**24], [2**24 + 1]]), **{**STUMP, "nodes_values": [2.0**24, 0.0, 0.0]})
    np.testing.assert_array_equal(got, [[-1], [1]])


def test_double_weights_are_summed_as_doubles(run):
    attributes = {k: v for k, v in STUMP.items() if k != "target_weights"} | {"target_weights_as_tensor": np.array([1e8, 1e8])}
    got = run("TreeEnsembleRegressor", np.zeros((1, 1), np.float32), since=3, base_values_as_tensor=np.array([1 - 1e8]), **attributes)
    np.testing.assert_array_equal(got, [[1]])


@pytest.mark.parametrize("transform", ["LOGISTIC", "PROBIT"])
def test_transform_of_a_single_target(run, transform):
    x = np.array([[0.0], [1.0]], np.float32)
    attributes = {**STUMP, "target_weights": [0.3, 0.6]}
    wanted = {"LOGISTIC": 1 / (1 + np.exp([[-0.3], [-0.6]])), "PROBIT": [[-0.5244005], [0.2533471]]}[transform]
    np.testing.assert_allclose(run("TreeEnsembleRegressor", x, post_transform=transform, **attributes), wanted, rtol=1e-5)


def test_tree_ensemble_transforms_are_numbered_as_in_the_schema(run):
    node = {"tree_roots": [0, 1], "nodes_featureids": [0, 0], "nodes_truenodeids": [0, 1], "nodes_falsenodeids": [0, 1]}
    node |= {"nodes_trueleafs": [1, 1], "nodes_falseleafs": [1, 1], "leaf_targetids": [0, 1]}
    node |= {"nodes_modes": np.zeros(2, np.uint8), "nodes_splits": np.zeros(2), "leaf_weights": np.array([0.0, 1.0]), "n_targets": 2}
    for number, wanted in enumerate(([0, 1], [1 / (1 + np.e), np.e / (1 + np.e)], [0.5, np.e / (1 + np.e)], [0, 1], [-np.inf, np.inf])):
        np.testing.assert_allclose(run("TreeEnsemble", np.zeros((1, 1)), since=5, post_transform=number, **node), [wanted])


def test_chains_of_equal_tests_may_share_their_successor(run):
    # feature 0 in {1, 3} ? (feature 1 <= 0 ? 10 : 20) : 30, as converters of categorical features write it
    attributes = {
        "nodes_treeids": [0] * 6,
        "nodes_nodeids": [0, 1, 2, 3, 4, 5],
        "nodes_modes": ["BRANCH_EQ", "BRANCH_EQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"],
        "nodes_featureids": [0, 0, 1, 0, 0, 0],
        "nodes_values": [1.0, 3.0, 0.0, 0.0, 0.0, 0.0],
        "nodes_truenodeids": [2, 2, 3, 0, 0, 0],
        "nodes_falsenodeids": [1, 5, 4, 0, 0, 0],
        "target_treeids": [0, 0, 0],
        "target_nodeids": [3, 4, 5],
        "target_ids": [0, 0, 0],
        "target_weights": [10.0, 20.0, 30.0],
        "n_targets": 1,
    }
    x = np.array([[1, 0], [3, 0], [3, 5], [1, 5], [2, 0], [NAN, 0]], np.float32)
    np.testing.assert_array_equal(run("TreeEnsembleRegressor", x, **attributes), [[10], [10], [20], [20], [30], [30]])


def test_both_successors_may_be_the_same_node(run):
    attributes = STUMP | {"nodes_treeids": [0] * 4, "nodes_nodeids": [3, 0, 1, 2], "nodes_modes": ["BRANCH_LT", *STUMP["nodes_modes"]]}
    attributes |= {"nodes_featureids": [1, 0, 0, 0], "nodes_values": [0.0, 0.5, 0.0, 0.0], "nodes_truenodeids": [0, 1, 0, 0]}
    attributes |= {"nodes_falsenodeids": [0, 2, 0, 0]}
    x = np.array([[0, -1], [0, 1], [1, -1], [1, 1]], np.float32)
    np.testing.assert_array_equal(run("TreeEnsembleRegressor", x, **attributes), [[-1], [-1], [1], [1]])


def test_ids_need_not_start_at_zero_nor_stand_in_order(run):
    attributes = STUMP | {"nodes_treeids": [7, 7, 7], "nodes_nodeids": [5, 9, 2], "nodes_truenodeids": [9, 0, 0]}
    attributes |= {"nodes_falsenodeids": [2, 0, 0], "target_treeids": [7, 7], "target_nodeids": [2, 9]}
    np.testing.assert_array_equal(run("TreeEnsembleRegressor", np.array([[0.0], [1.0]]), **attributes), [[1], [-1]])


def test_single_leaves_vectors_and_no_rows(run):
    leaf = {k: v[1:2] if k.startswith("nodes") else v for k, v in STUMP.items()} | {"target_treeids": [0], "target_nodeids": [1]}
    leaf |= {"target_ids": [0], "target_weights": [2.5]}
    np.testing.assert_array_equal(run("TreeEnsembleRegressor", np.zeros((3, 0), np.float32), **leaf), [[2.5]] * 3)
    np.testing.assert_array_equal(run("TreeEnsembleRegressor", np.array([1.0, 0.0]), **STUMP), [[1]])
    assert run("TreeEnsembleRegressor", np.zeros((0, 2), np.float32), **STUMP).shape == (0, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes_truenodeids": [0, 0, 0]}, "circle"),
        ({"nodes_truenodeids": [8, 0, 0]}, "nodes_truenodeids names node 8 of tree 0"),
        ({"nodes_nodeids": [0, 1, 1]}, "node 1 of tree 0 is listed twice"),
        ({"nodes_values": [0.5]}, "nodes_values 1"),
        ({"nodes_modes": ["BRANCH_MEMBER", "LEAF", "LEAF"]}, "BRANCH_MEMBER"),
        ({"nodes_featureids": [-1, 0, 0]}, "negative"),
        ({"nodes_featureids": [4, 0, 0]}, "feature 4"),
        ({"target_ids": [0, 1]}, "targets 0 to 1"),
        ({"target_nodeids": [1, 5]}, "target_nodeids names node 5"),
        ({"base_values": [1.0, 2.0]}, "base_values has 2"),
        ({"n_targets": 0}, "positive"),
        ({"aggregate_function": "MEDIAN"}, "MEDIAN"),
        ({"post_transform": "SIGMOID"}, "SIGMOID"),
    ],
)
def test_refusals(run, change, message):
    with pytest.raises(InvalidInput, match=message):
        run("TreeEnsembleRegressor", np.zeros((2, 3), np.float32), **{**STUMP, **change})
