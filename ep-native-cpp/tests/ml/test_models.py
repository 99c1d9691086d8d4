import numpy as np
import pytest
from onnx import helper, numpy_helper

import sardonyx
from sardonyx.errors import SardonyxError

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def run(op, x, outputs=1, ep="native", threads=1, **attrs):
    attrs = {k: numpy_helper.from_array(v, k) if isinstance(v, np.ndarray) else v for k, v in attrs.items()}
    node = helper.make_node(op, ["x"], [f"y{i}" for i in range(outputs)], domain="ai.onnx.ml", **attrs)
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", kind, [None] * x.ndim)],
        [helper.make_empty_tensor_value_info(o) for o in node.output],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 5 if op == "TreeEnsemble" else 3)],
        ir_version=10,
    )
    options = sardonyx.SessionOptions()
    options.strict = True
    options.intra_op_num_threads = threads
    return sardonyx.InferenceSession(model.SerializeToString(), options, providers=[ep]).run(None, {"x": x})


def same(op, x, rtol=1e-5, **more):
    for threads in (1, 2):
        for g, w in zip(run(op, x, threads=threads, **more), run(op, x, ep="cpu", **more), strict=True):
            assert (g.shape, g.dtype) == (w.shape, w.dtype)
            np.testing.assert_allclose(g, w, rtol, 1e-6)


def forest(rng, trees, depth, kind, targets, modes=("BRANCH_LEQ",), negative=True):
    """Complete trees over six features, with one vote a leaf."""
    nodes = {
        n: [] for n in ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids", "modes", "values", "missing_value_tracks_true")
    }
    votes = {n: [] for n in ("treeids", "nodeids", "ids", "weights")}
    inner = 2**depth - 1
    for t in range(trees):
        for n in range(2 * inner + 1):
            leaf = n >= inner
            row = (
                t,
                n,
                int(rng.integers(6)),
                2 * n + 1,
                2 * n + 2,
                "LEAF" if leaf else str(rng.choice(modes)),
                float(rng.integers(-3, 4)),
                int(rng.integers(2)),
            )
            for name, value in zip(nodes, (*row[:3], 0, 0, *row[5:]) if leaf else row, strict=True):
                nodes[name].append(value)
            if leaf:
                weight = float(rng.integers(-8 if negative else 0, 9)) / 8
                for name, value in zip(votes, (t, n, int(rng.integers(targets)), weight), strict=True):
                    votes[name].append(value)
    return {f"nodes_{k}": v for k, v in nodes.items()} | {f"{kind}_{k}": v for k, v in votes.items()}


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, (150, 6)).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("modes", [MODES[:1], MODES])
def test_regressor(rows, aggregate, modes):
    attrs = forest(np.random.default_rng(1), 7, 4, "target", 3, modes)
    same("TreeEnsembleRegressor", rows, aggregate_function=aggregate, n_targets=3, **attrs)
    same(
        "TreeEnsembleRegressor",
        rows[:, :],
        aggregate_function=aggregate,
        n_targets=3,
        base_values=[1.0, 2.0, -1.0],
        post_transform="SOFTMAX",
        **attrs,
    )
    whole = np.nan_to_num(rows)
    for dtype in (np.float64, np.int64, np.int32):
        same("TreeEnsembleRegressor", whole.astype(dtype), aggregate_function=aggregate, n_targets=3, **attrs)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize(("classes", "votes"), [(1, 1), (2, 1), (2, 2), (4, 4)])
@pytest.mark.parametrize("negative", [False, True])
def test_classifier(rows, transform, classes, votes, negative):
    attrs = forest(np.random.default_rng(2), 5, 3, "class", votes, negative=negative)
    labels = [10 * c + 3 for c in range(classes)]
    same("TreeEnsembleClassifier", rows, outputs=2, classlabels_int64s=labels, post_transform=transform, **attrs)
    same(
        "TreeEnsembleClassifier",
        rows,
        outputs=2,
        classlabels_int64s=labels,
        post_transform=transform,
        base_values=[0.25] * classes,
        **attrs,
    )
    if classes == 2:
        attrs["class_ids"] = [1] * len(attrs["class_ids"])
        same("TreeEnsembleClassifier", rows, outputs=2, classlabels_int64s=labels, post_transform=transform, **attrs)


def test_trees_by_position(rows):
    """One tree with a test of membership, one of a comparison."""
    attrs = {
        "nodes_modes": np.array([6, 0, 4], np.uint8), "nodes_splits": np.array([0, 1.5, -2], np.float32), "nodes_featureids": [0, 2, 5],
        "nodes_truenodeids": [1, 0, 2], "nodes_falsenodeids": [1, 3, 0], "nodes_trueleafs": [0, 1, 1], "nodes_falseleafs": [1, 1, 1],
        "leaf_targetids": [0, 1, 1, 0], "leaf_weights": np.array([1, 2, 4, 8], np.float32), "tree_roots": [0, 2], "n_targets": 2,
        "membership_values": np.array([1, 3, -4, np.nan], np.float32), "nodes_missing_value_tracks_true": [1, 0, 1],
    }  # fmt: skip
    for aggregate in range(4):
        same("TreeEnsemble", rows, aggregate_function=aggregate, post_transform=0, **attrs)
    doubles = {k: v.astype(np.float64) if isinstance(v, np.ndarray) and v.dtype == np.float32 else v for k, v in attrs.items()}
    same("TreeEnsemble", rows.astype(np.float64), aggregate_function=1, post_transform=2, **doubles)


def test_probit(rows):
    attrs = forest(np.random.default_rng(3), 1, 3, "target", 1, negative=False)
    attrs["target_weights"] = [0.1, 0.5, 0.9, 0.001, 0.999, 0.3, 0.0, 1.0]
    same("TreeEnsembleRegressor", rows, n_targets=1, post_transform="PROBIT", **attrs)


def test_a_broken_forest_is_refused_with_a_reason(rows):
    attrs = forest(np.random.default_rng(4), 1, 2, "target", 1)
    attrs["nodes_truenodeids"][1] = 0
    with pytest.raises(SardonyxError, match="circle"):
        run("TreeEnsembleRegressor", rows, n_targets=1, **attrs)
    attrs["nodes_truenodeids"][1] = 77
    with pytest.raises(SardonyxError, match="node 77 of tree 0"):
        run("TreeEnsembleRegressor", rows, n_targets=1, **attrs)
    with pytest.raises(SardonyxError, match="look at feature"):
        run("TreeEnsembleRegressor", rows[:, :2], n_targets=1, **forest(np.random.default_rng(4), 3, 3, "target", 1))


def test_linear_models():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((9, 4)).astype(np.float32)
    w, b = [float(v) for v in rng.standard_normal(12)], [0.5, -1.0, 0.25]
    for transform in ("NONE", "LOGISTIC", "SOFTMAX"):
        same("LinearRegressor", x, coefficients=w, intercepts=b, targets=3, post_transform=transform)
        same("LinearClassifier", x, outputs=2, coefficients=w, intercepts=b, classlabels_ints=[4, 5, 6], post_transform=transform)
        same("LinearClassifier", x, outputs=2, coefficients=w[:4], intercepts=b[:1], classlabels_ints=[4, 5], post_transform=transform)
        same("LinearClassifier", x, outputs=2, coefficients=w[:4], classlabels_ints=[4], post_transform=transform)
    same("LinearRegressor", x[0], coefficients=w[:4], targets=1)
    same("LinearRegressor", (x * 9).astype(np.int64), coefficients=w, targets=3)


def test_scaler_and_normalizer():
    x = np.random.default_rng(6).integers(-9, 9, (5, 3))
    x[2] = 0
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        same("Scaler", x.astype(dtype), offset=[1.0, 2.0, 3.0], scale=[0.5])
        for norm in ("MAX", "L1", "L2"):
            same("Normalizer", x.astype(dtype), norm=norm)
            same("Normalizer", x[0].astype(dtype), norm=norm)
