"""The two ways in which ONNX writes a forest, read into Nodes: parallel lists with ids (1, 3), and with positions (5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput
from sardonyx_ep_cpu.ops.ml.forest_layout import LEAF, MEMBER, MODES, Nodes
from sardonyx_ep_cpu.ops.ml.inputs import parallel

__all__ = ["Leaves", "floats", "nodes_by_id", "nodes_by_position"]

# leaf, target and weight of each vote
Leaves = tuple[np.ndarray, np.ndarray, np.ndarray]


def _ints(values: Any) -> np.ndarray:
    return np.asarray([] if values is None else values, np.int64)


def floats(attrs: dict[str, Any], name: str) -> tuple[np.ndarray, bool]:
    """The attribute `name` or its double form `name`_as_tensor, as float64, and whether it was the double form."""
    tensor = attrs.get(f"{name}_as_tensor")
    values = attrs.get(name)
    if tensor is None or not tensor.size:
        return np.asarray([] if values is None else values, np.float32).astype(np.float64), False
    if values is not None and len(values):
        raise InvalidInput(f"only one of {name} and {name}_as_tensor may be given")
    return tensor.astype(np.float64).ravel(), tensor.dtype == np.float64


class _Index:
    """Finds nodes by (tree id, node id)."""

    def __init__(self, tree: np.ndarray, node: np.ndarray):
        self._trees, tree_rank = np.unique(tree, return_inverse=True)
        self._nodes, node_rank = np.unique(node, return_inverse=True)
        keys = tree_rank * self._nodes.size + node_rank
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        double = np.flatnonzero(self._keys[1:] == self._keys[:-1])
        if double.size:
            at = self._order[double[0]]
            raise InvalidInput(f"node {node[at]} of tree {tree[at]} is listed twice")

    def find(self, tree: np.ndarray, node: np.ndarray, what: str) -> np.ndarray:
        keys = np.searchsorted(self._trees, tree) * self._nodes.size + np.searchsorted(self._nodes, node)
        slot = np.minimum(np.searchsorted(self._keys, keys), max(self._keys.size - 1, 0))
        known = np.isin(tree, self._trees) & np.isin(node, self._nodes)
        known &= self._keys[slot] == keys if self._keys.size else False
        if not known.all():
            at = np.flatnonzero(~known)[0]
            raise InvalidInput(f"{what} names node {node[at]} of tree {tree[at]}, which does not exist")
        return self._order[slot]


def nodes_by_id(attrs: dict[str, Any], kind: str) -> tuple[Nodes, Leaves, bool]:
    """The nodes_* and `kind`_* (class or target) attributes of versions 1 and 3: nodes, votes, and whether any weight is a double.

    Raises InvalidInput for lists of unequal length, unknown modes, and ids that name no node.
    """
    trees, ids = _ints(attrs.get("nodes_treeids")), _ints(attrs.get("nodes_nodeids"))
    features, true, false = (_ints(attrs.get(f"nodes_{n}")) for n in ("featureids", "truenodeids", "falsenodeids"))
    modes = attrs.get("nodes_modes") or []
    thresholds, _ = floats(attrs, "nodes_values")
    missing = _ints(attrs.get("nodes_missing_value_tracks_true"))
    count = parallel(
        nodes_treeids=trees,
        nodes_nodeids=ids,
        nodes_featureids=features,
        nodes_truenodeids=true,
        nodes_falsenodeids=false,
        nodes_modes=modes,
        nodes_values=thresholds,
        nodes_missing_value_tracks_true=missing if missing.size else ids,
    )
    codes = {name: code for code, name in enumerate(MODES) if code != MEMBER}
    unknown = set(modes) - set(codes)
    if unknown:
        raise InvalidInput(f"nodes_modes has {min(unknown)!r}, but must be one of {', '.join(codes)}")
    mode = np.fromiter((codes[m] for m in modes), np.int64, count)
    index = _Index(trees, ids)
    inner = mode != LEAF
    true[inner] = index.find(trees[inner], true[inner], "nodes_truenodeids")
    false[inner] = index.find(trees[inner], false[inner], "nodes_falsenodeids")
    _, roots = np.unique(trees, return_index=True)
    nodes = Nodes(mode, features, thresholds, true, false, missing == 1 if missing.size else np.zeros(count, bool), np.sort(roots), {})
    vote_trees, vote_nodes, vote_targets = (_ints(attrs.get(f"{kind}_{n}")) for n in ("treeids", "nodeids", "ids"))
    weights, double = floats(attrs, f"{kind}_weights")
    parallel(treeids=vote_trees, nodeids=vote_nodes, ids=vote_targets, weights=weights)
    return nodes, (index.find(vote_trees, vote_nodes, f"{kind}_nodeids"), vote_targets, weights), double


def _member_sets(mode: np.ndarray, values: np.ndarray) -> dict[int, np.ndarray]:
    """The sets of the MEMBER nodes in order, which NaNs delimit in `values`."""
    owners = np.flatnonzero(mode == MEMBER)
    ends = np.flatnonzero(np.isnan(values))
    if values.size and (not ends.size or ends[-1] != values.size - 1):
        ends = np.append(ends, values.size)
    if ends.size != owners.size:
        raise InvalidInput(f"membership_values holds {ends.size} sets for {owners.size} nodes of mode BRANCH_MEMBER")
    starts = np.concatenate(([0], ends[:-1] + 1)).astype(np.int64)
    return {int(node): np.unique(values[a:b]) for node, a, b in zip(owners, starts, ends, strict=bool(owners.size))}


def _check_range(name: str, values: np.ndarray, size: int) -> None:
    if values.size and (values.min() < 0 or values.max() >= size):
        raise InvalidInput(f"{name} goes from {values.min()} to {values.max()}, but must lie in [0, {size})")


def nodes_by_position(attrs: dict[str, Any]) -> tuple[Nodes, Leaves]:
    """The attributes of TreeEnsemble: its nodes, followed by two leaves for each (the true and the false one), and the votes.

    Raises InvalidInput for lists of unequal length and for positions out of range.
    """
    mode = np.asarray(attrs["nodes_modes"], np.int64).ravel()
    splits = np.asarray(attrs["nodes_splits"]).astype(np.float64).ravel()
    true, false = _ints(attrs["nodes_truenodeids"]), _ints(attrs["nodes_falsenodeids"])
    true_leaf, false_leaf = _ints(attrs["nodes_trueleafs"]) != 0, _ints(attrs["nodes_falseleafs"]) != 0
    features, roots = _ints(attrs["nodes_featureids"]), _ints(attrs["tree_roots"])
    missing = _ints(attrs.get("nodes_missing_value_tracks_true"))
    targets, weights = _ints(attrs["leaf_targetids"]), np.asarray(attrs["leaf_weights"]).astype(np.float64).ravel()
    count = parallel(
        nodes_modes=mode,
        nodes_splits=splits,
        nodes_truenodeids=true,
        nodes_falsenodeids=false,
        nodes_trueleafs=true_leaf,
        nodes_falseleafs=false_leaf,
        nodes_featureids=features,
        nodes_missing_value_tracks_true=missing if missing.size else mode,
    )
    parallel(leaf_targetids=targets, leaf_weights=weights)
    _check_range("nodes_modes", mode, LEAF)
    _check_range("tree_roots", roots, count)
    _check_range("nodes_truenodeids", true[~true_leaf], count)
    _check_range("nodes_falsenodeids", false[~false_leaf], count)
    _check_range("nodes_truenodeids", true[true_leaf], targets.size)
    _check_range("nodes_falsenodeids", false[false_leaf], targets.size)
    values = attrs.get("membership_values")
    members = _member_sets(mode, np.asarray([] if values is None else values).astype(np.float64).ravel())
    position = np.arange(count)
    none, nothing = np.zeros(2 * count, np.int64), np.zeros(2 * count, bool)
    nodes = Nodes(
        np.concatenate((mode, none + LEAF)),
        np.concatenate((features, none)),
        np.concatenate((splits, none)),
        np.concatenate((np.where(true_leaf, count + 2 * position, true), none)),
        np.concatenate((np.where(false_leaf, count + 2 * position + 1, false), none)),
        np.concatenate((missing == 1 if missing.size else np.zeros(count, bool), nothing)),
        roots,
        members,
    )
    # every leaf that a node refers to is a node of its own here, with the vote of the leaf it stands for
    used = np.stack((true_leaf, false_leaf), axis=1).ravel()
    leaf = np.stack((true, false), axis=1).ravel()[used]
    return nodes, (count + np.flatnonzero(used), targets[leaf], weights[leaf])
