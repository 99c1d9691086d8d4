"""Random forests against a slow, obvious way to evaluate them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER"]
AGGREGATES = ["AVERAGE", "SUM", "MIN", "MAX"]


def compare(mode, value, threshold, missing_true):
    if np.isnan(value):
        return mode == "BRANCH_NEQ" or missing_true
    return {
        "BRANCH_LEQ": lambda: value <= threshold,
        "BRANCH_LT": lambda: value < threshold,
        "BRANCH_GTE": lambda: value >= threshold,
        "BRANCH_GT": lambda: value > threshold,
        "BRANCH_EQ": lambda: value == threshold,
        "BRANCH_NEQ": lambda: value != threshold,
        "BRANCH_MEMBER": lambda: value in threshold,
    }[mode]()


def grow(rng, depth, features, modes):
    """A tree of dicts; a leaf has only `votes`, a list of (target, weight)."""
    if depth == 0 or rng.random() < 0.15:
        return {}
    mode = modes[rng.integers(len(modes))]
    return {
        "mode": mode,
        "feature": int(rng.integers(features)),
        "threshold": set(rng.integers(-3, 4, rng.integers(1, 6)).tolist()) if mode == "BRANCH_MEMBER" else float(rng.integers(-2, 3)),
        "missing_true": bool(rng.integers(2)),
        "true": grow(rng, depth - 1, features, modes),
        "false": grow(rng, depth - 1, features, modes),
    }


def walk(tree, row):
    while "mode" in tree:
        tree = tree["true" if compare(tree["mode"], row[tree["feature"]], tree["threshold"], tree["missing_true"]) else "false"]
    return tree


def leaves(tree):
    return [*leaves(tree["true"]), *leaves(tree["false"])] if "mode" in tree else [tree]


def aggregate(trees, x, targets, how):
    """The votes of each tree's leaf for each row: [N, targets] in double precision; 0 for a target without votes."""
    out = np.zeros((len(x), targets))
    for row, scores in zip(x, out, strict=True):
        votes = [vote for tree in trees for vote in walk(tree, row)["votes"]]
        for target in range(targets):
            weights = [w for t, w in votes if t == target]
            if weights:
                scores[target] = {"MIN": min, "MAX": max}.get(how, sum)(weights) / (len(trees) if how == "AVERAGE" else 1)
    return out


def number(tree):
    """The tree's nodes in the order of a depth-first walk; each gets its position as `id`."""
    order, stack = [], [tree]
    while stack:
        node = stack.pop()
        node["id"] = len(order)
        order.append(node)
        if "mode" in node:
            stack += [node["false"], node["true"]]
    return order


def by_id(trees, kind):
    """The attributes nodes_* and `kind`_* of TreeEnsembleRegressor and -Classifier."""
    out = {f"nodes_{n}": [] for n in ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")}
    out |= {"nodes_missing_value_tracks_true": []} | {f"{kind}_{n}": [] for n in ("treeids", "nodeids", "ids", "weights")}
    for tree_id, tree in enumerate(trees):
        for node in number(tree):
            inner = "mode" in node
            out["nodes_treeids"].append(tree_id)
            out["nodes_nodeids"].append(node["id"])
            out["nodes_modes"].append(node["mode"] if inner else "LEAF")
            out["nodes_featureids"].append(node["feature"] if inner else 0)
            out["nodes_values"].append(node["threshold"] if inner else 0.0)
            out["nodes_truenodeids"].append(node["true"]["id"] if inner else 0)
            out["nodes_falsenodeids"].append(node["false"]["id"] if inner else 0)
            out["nodes_missing_value_tracks_true"].append(int(inner and node["missing_true"]))
            for target, weight in [] if inner else node["votes"]:
                out[f"{kind}_treeids"].append(tree_id)
                out[f"{kind}_nodeids"].append(node["id"])
                out[f"{kind}_ids"].append(target)
                out[f"{kind}_weights"].append(weight)
    return out


def by_position(trees, dtype):
    """The attributes of TreeEnsemble; every tree must have an inner node, every leaf one vote."""
    nodes, leaf_nodes, roots = [], [], []
    for tree in trees:
        for node in number(tree):
            place = nodes if "mode" in node else leaf_nodes
            node["place"] = len(place)
            place.append(node)
        roots.append(tree["place"])
    members = [[*n["threshold"], np.nan] for n in nodes if n["mode"] == "BRANCH_MEMBER"]
    return {
        "tree_roots": roots,
        "nodes_modes": np.array([MODES.index(n["mode"]) for n in nodes], np.uint8),
        "nodes_splits": np.array([0 if n["mode"] == "BRANCH_MEMBER" else n["threshold"] for n in nodes], dtype),
        "nodes_featureids": [n["feature"] for n in nodes],
        "nodes_missing_value_tracks_true": [int(n["missing_true"]) for n in nodes],
        "nodes_truenodeids": [n["true"]["place"] for n in nodes],
        "nodes_falsenodeids": [n["false"]["place"] for n in nodes],
        "nodes_trueleafs": [int("mode" not in n["true"]) for n in nodes],
        "nodes_falseleafs": [int("mode" not in n["false"]) for n in nodes],
        "leaf_targetids": [n["votes"][0][0] for n in leaf_nodes],
        "leaf_weights": np.array([n["votes"][0][1] for n in leaf_nodes], dtype),
        **({"membership_values": np.array([v for m in members for v in m], dtype)} if members else {}),
    }


def data(rng, rows, features, dtype):
    """Small whole numbers, a tenth of them missing where the type has NaN."""
    x = rng.integers(-3, 4, (rows, features)).astype(dtype)
    if x.dtype.kind == "f":
        x[rng.random(x.shape) < 0.1] = np.nan
    return x


def grow_with_votes(seed, modes, votes):
    rng = np.random.default_rng(seed)
    features = int(rng.integers(1, 5))
    targets = int(rng.integers(1, 4))
    trees = [grow(rng, int(rng.integers(0, 6)), features, modes) for _ in range(rng.integers(1, 7))]
    for tree in trees:
        for leaf in leaves(tree):
            chosen = {"one": [rng.integers(targets)], "all": range(targets)}.get(votes, np.flatnonzero(rng.random(targets) < 0.6))
            leaf["votes"] = [(int(t), float(np.float32(rng.normal()))) for t in chosen]
    return rng, features, targets, trees


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from([np.float32, np.float64, np.int64, np.int32]),
    how=st.sampled_from(AGGREGATES),
    votes=st.sampled_from(["one", "all", "some"]),
    mode=st.sampled_from([*MODES[:6], "mixed"]),
)
def test_regressor_is_the_forest(run, seed, dtype, how, votes, mode):
    rng, features, targets, trees = grow_with_votes(seed, MODES[:6] if mode == "mixed" else [mode], votes)
    x = data(rng, 40, features, dtype)
    base = rng.integers(-2, 3, targets).astype(float).tolist()
    attributes = by_id(trees, "target")
    got = run("TreeEnsembleRegressor", x, since=3, n_targets=targets, aggregate_function=how, base_values=base, **attributes)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, aggregate(trees, x, targets, how) + base, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_tree_ensemble_is_the_forest(run, seed, dtype):
    rng, features, targets, trees = grow_with_votes(seed, MODES, "one")
    trees = [tree for tree in trees if "mode" in tree]
    x, how = data(rng, 40, features, dtype), seed % 4
    if not trees:
        pytest.skip("no tree with an inner node")
    got = run("TreeEnsemble", x, since=5, n_targets=targets, aggregate_function=how, **by_position(trees, dtype))
    assert got.dtype == dtype
    tolerance = {2: 1e-2, 4: 1e-5, 8: 1e-12}[got.itemsize]
    np.testing.assert_allclose(got, aggregate(trees, x, targets, AGGREGATES[how]), rtol=tolerance, atol=tolerance)


def test_large_forests_go_by_blocks_and_leave_arrived_rows_behind(run):
    rng = np.random.default_rng(1)
    trees = [grow(rng, 9, 3, MODES[:4]) for _ in range(40)]
    for leaf in (leaf for tree in trees for leaf in leaves(tree)):
        leaf["votes"] = [(0, float(rng.integers(-9, 10)))]
    x = data(rng, 2000, 3, np.float32)
    got = run("TreeEnsembleRegressor", x, n_targets=1, **by_id(trees, "target"))
    some = rng.integers(0, 2000, 50)
    np.testing.assert_array_equal(got[some], aggregate(trees, x[some], 1, "SUM"))


@pytest.mark.parametrize("how", AGGREGATES)
def test_many_targets_with_few_votes_each(run, how, monkeypatch):
    monkeypatch.setattr("sardonyx_ep_cpu.ops.ml.votes._TABLE_LIMIT", 0)
    rng = np.random.default_rng(2)
    trees = [grow(rng, 5, 3, MODES[:4]) for _ in range(10)]
    for leaf in (leaf for tree in trees for leaf in leaves(tree)):
        leaf["votes"] = [(int(t), float(rng.integers(-9, 10))) for t in rng.choice(30, rng.integers(0, 4), replace=False)]
    x = data(rng, 30, 3, np.float32)
    got = run("TreeEnsembleRegressor", x, n_targets=30, aggregate_function=how, **by_id(trees, "target"))
    np.testing.assert_allclose(got, aggregate(trees, x, 30, how), rtol=1e-6)
