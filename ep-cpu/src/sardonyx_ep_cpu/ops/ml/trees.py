"""Decision forests: TreeEnsembleClassifier, TreeEnsembleRegressor, TreeEnsemble."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import InvalidInput
from sardonyx_ep_cpu.older import older
from sardonyx_ep_cpu.ops.ml.ensemble import Ensemble, classify, regress
from sardonyx_ep_cpu.ops.ml.inputs import label_array
from sardonyx_ep_cpu.ops.ml.post_transform import check_transform
from sardonyx_ep_cpu.ops.ml.tree_attributes import Leaves, floats, nodes_by_id, nodes_by_position
from sardonyx_ep_cpu.ops.ml.votes import AGGREGATES

ops = KernelSet("ai.onnx.ml")

_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _target_count(attrs: dict[str, Any], leaves: Leaves) -> int:
    count = attrs.get("n_targets")
    return int(leaves[1].max(initial=0)) + 1 if count is None else count


def _prepare_regressor(xp: Any, inputs: list, attrs: dict[str, Any]) -> Ensemble:
    nodes, leaves, double = nodes_by_id(attrs, "target")
    base, double_base = floats(attrs, "base_values")
    check_transform(attrs.get("post_transform", "NONE"))
    return Ensemble.build(
        nodes,
        leaves,
        _target_count(attrs, leaves),
        attrs.get("aggregate_function", "SUM"),
        base=base,
        double=double or double_base,
        labels=np.zeros(0),
    )


@ops.add("TreeEnsembleRegressor", since=3, prepare=_prepare_regressor)
def tree_ensemble_regressor_3(
    xp,
    x,
    *,
    aggregate_function="SUM",
    base_values=None,
    base_values_as_tensor=None,
    n_targets=None,
    nodes_falsenodeids=None,
    nodes_featureids=None,
    nodes_hitrates=None,
    nodes_hitrates_as_tensor=None,
    nodes_missing_value_tracks_true=None,
    nodes_modes=None,
    nodes_nodeids=None,
    nodes_treeids=None,
    nodes_truenodeids=None,
    nodes_values=None,
    nodes_values_as_tensor=None,
    post_transform="NONE",
    target_ids=None,
    target_nodeids=None,
    target_treeids=None,
    target_weights=None,
    target_weights_as_tensor=None,
    prepared: Ensemble,
) -> np.ndarray:
    """Rows [N, F] -> float32 [N, n_targets]: the leaves' weights aggregated over the trees, plus base_values, transformed.

    NaN goes the way of nodes_missing_value_tracks_true, but satisfies BRANCH_NEQ, as in onnxruntime.
    """
    return regress(xp, x, prepared, post_transform).astype(xp.float32, copy=False)


ops.add("TreeEnsembleRegressor", since=1, prepare=_prepare_regressor)(
    older(
        tree_ensemble_regressor_3,
        without=("base_values_as_tensor", "nodes_hitrates_as_tensor", "nodes_values_as_tensor", "target_weights_as_tensor"),
    )
)


def _prepare_classifier(xp: Any, inputs: list, attrs: dict[str, Any]) -> Ensemble:
    nodes, leaves, double = nodes_by_id(attrs, "class")
    base, double_base = floats(attrs, "base_values")
    labels = label_array(attrs.get("classlabels_int64s"), attrs.get("classlabels_strings"))
    check_transform(attrs.get("post_transform", "NONE"))
    return Ensemble.build(nodes, leaves, labels.size, "SUM", base=base, double=double or double_base, labels=labels)


@ops.add("TreeEnsembleClassifier", since=3, prepare=_prepare_classifier)
def tree_ensemble_classifier_3(
    xp,
    x,
    *,
    base_values=None,
    base_values_as_tensor=None,
    class_ids=None,
    class_nodeids=None,
    class_treeids=None,
    class_weights=None,
    class_weights_as_tensor=None,
    classlabels_int64s=None,
    classlabels_strings=None,
    nodes_falsenodeids=None,
    nodes_featureids=None,
    nodes_hitrates=None,
    nodes_hitrates_as_tensor=None,
    nodes_missing_value_tracks_true=None,
    nodes_modes=None,
    nodes_nodeids=None,
    nodes_treeids=None,
    nodes_truenodeids=None,
    nodes_values=None,
    nodes_values_as_tensor=None,
    post_transform="NONE",
    prepared: Ensemble,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows [N, F] -> the labels [N] of the highest scores among the classes voted for, and all scores float32 [N, E].

    The scores are the sums of the leaves' weights plus base_values, transformed; `classify` tells of one or two classes.
    """
    return classify(xp, x, prepared, post_transform)


ops.add("TreeEnsembleClassifier", since=1, prepare=_prepare_classifier)(
    older(
        tree_ensemble_classifier_3,
        without=("base_values_as_tensor", "class_weights_as_tensor", "nodes_hitrates_as_tensor", "nodes_values_as_tensor"),
    )
)


def _prepare_ensemble(xp: Any, inputs: list, attrs: dict[str, Any]) -> Ensemble:
    nodes, leaves = nodes_by_position(attrs)
    aggregate = attrs.get("aggregate_function", 1)
    if not 0 <= aggregate < len(AGGREGATES):
        raise InvalidInput(f"aggregate_function is {aggregate}, but must be 0 (AVERAGE), 1 (SUM), 2 (MIN) or 3 (MAX)")
    return Ensemble.build(
        nodes, leaves, _target_count(attrs, leaves), AGGREGATES[aggregate], base=np.zeros(0), double=False, labels=np.zeros(0)
    )


@ops.add("TreeEnsemble", since=5, prepare=_prepare_ensemble)
def tree_ensemble(
    xp,
    x,
    *,
    aggregate_function=1,
    leaf_targetids,
    leaf_weights,
    membership_values=None,
    n_targets=None,
    nodes_falseleafs,
    nodes_falsenodeids,
    nodes_featureids,
    nodes_hitrates=None,
    nodes_missing_value_tracks_true=None,
    nodes_modes,
    nodes_splits,
    nodes_trueleafs,
    nodes_truenodeids,
    post_transform=0,
    tree_roots,
    prepared: Ensemble,
) -> np.ndarray:
    """Rows [N, F] -> [N, n_targets] in x's dtype: the leaves' weights aggregated over the trees, transformed."""
    if not 0 <= post_transform < len(_TRANSFORMS):
        raise InvalidInput(f"post_transform is {post_transform}, but must lie in [0, {len(_TRANSFORMS) - 1}]")
    return regress(xp, x, prepared, _TRANSFORMS[post_transform]).astype(x.dtype, copy=False)
