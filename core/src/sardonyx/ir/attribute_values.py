"""Values of attributes that ONNX defines, for operators that it also defines by a function body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sardonyx.ir.dtypes import FROM_ONNX, is_float
from sardonyx.ir.graph import Node
from sardonyx.ir.schema import KNOWN

__all__ = ["undefined_attribute"]

_REDUCTION = ("none", "mean", "sum")
_MODES = ("DCR", "CRD")
_FLOAT_TYPE = "the number of no floating-point type"
_TYPE = "the number of no element type"

_NAMED: dict[str, dict[str, tuple[Any, ...]]] = {
    "Attention": {"qk_matmul_output_mode": (0, 1, 2, 3)},
    "CausalConvWithState": {"activation": ("none", "silu", "swish")},
    "DepthToSpace": {"mode": _MODES},
    "Gelu": {"approximate": ("none", "tanh")},
    "LinearAttention": {"update_rule": ("linear", "gated", "delta", "gated_delta")},
    "NegativeLogLikelihoodLoss": {"reduction": _REDUCTION},
    "SoftmaxCrossEntropyLoss": {"reduction": _REDUCTION},
    "SpaceToDepth": {"mode": _MODES},
}


def _element_type(code: int) -> str | None:
    return None if code in FROM_ONNX else _TYPE


def _float_type(code: int) -> str | None:
    return None if code in FROM_ONNX and is_float(FROM_ONNX[code]) else _FLOAT_TYPE


_TYPES: dict[str, Callable[[int], str | None]] = {
    "dtype": _element_type,
    "output_datatype": _element_type,
    "softmax_precision": _float_type,
    "stash_type": _float_type,
}


def undefined_attribute(node: Node) -> str | None:
    """Why the meaning of a node is undefined, if one of its attributes has a value that its operator does not know: then a
    function body, which takes any other value for a default, does not stand for the node."""
    if node.domain not in KNOWN:
        return None
    for name, value in node.attrs.items():
        allowed = _NAMED.get(node.op, {}).get(name)
        if allowed is not None and value not in allowed:
            return f"its attribute {name}={value!r} is none of {', '.join(str(a) for a in allowed)}"
        check = _TYPES.get(name)
        if check is not None and value and (reason := check(value)):
            return f"its attribute {name}={value!r} is {reason}"
    if node.op == "Celu" and node.attrs.get("alpha", 1.0) < 0:
        return f"its attribute alpha={node.attrs['alpha']} is negative, where the operator's formula and its body differ"
    return None
