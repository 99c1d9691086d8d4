"""What the engine takes of ai.onnx.ml: trees, linear models, scaling. Labels are numbers; it holds no strings."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx_ep_native import _native
from sardonyx_ep_native.claims import DTYPES, add, dtypes

_OPERATORS = frozenset(_native.operators())
_FEATURES = tuple(d for d in DTYPES if d.name in ("float32", "float64", "int32", "int64"))
_REAL = tuple(d for d in DTYPES if d.name in ("float32", "float64", "float16"))


def _refusal(node: Node) -> str | None:
    if f"ai.onnx.ml.{node.op}" not in _OPERATORS:
        return "this build of the engine lacks ai.onnx.ml"
    if node.attrs.get("classlabels_strings"):
        return "its labels are strings"
    return dtypes(node, _REAL if node.op == "TreeEnsemble" else _FEATURES)


@add("TreeEnsemble", since=5, domain="ai.onnx.ml")
@add("TreeEnsembleRegressor", domain="ai.onnx.ml")
@add("LinearRegressor", domain="ai.onnx.ml")
@add("Scaler", domain="ai.onnx.ml")
@add("Normalizer", domain="ai.onnx.ml")
def features(node: Node) -> str | None:
    """Rows of float32, float64, int32 or int64."""
    return _refusal(node)


@add("TreeEnsembleClassifier", domain="ai.onnx.ml")
@add("LinearClassifier", domain="ai.onnx.ml")
def classifier(node: Node) -> str | None:
    """Labels of int64."""
    if not (node.attrs.get("classlabels_ints") or node.attrs.get("classlabels_int64s")):
        return "it has no labels that are numbers"
    return _refusal(node)
