"""Which nodes an epilogue can take over as its activation."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ep.rules import scalar
from sardonyx.ir.graph import Node

__all__ = ["activation"]

# In the order of the engine's Act.
_ACT = (
    "none",
    "relu",
    "leaky_relu",
    "sigmoid",
    "hard_sigmoid",
    "hard_swish",
    "swish",
    "gelu",
    "gelu_tanh",
    "tanh",
    "clip",
    "elu",
    "softplus",
    "mish",
    "erf",
    "exp",
    "sqrt",
    "abs",
)
_PLAIN = {
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "HardSwish": "hard_swish",
    "Tanh": "tanh",
    "Softplus": "softplus",
    "Mish": "mish",
    "Erf": "erf",
    "Exp": "exp",
    "Sqrt": "sqrt",
    "Abs": "abs",
}
_OTHERS = frozenset({"Gelu", "Swish", "LeakyRelu", "Elu", "HardSigmoid", "Clip"})
_FLOAT = np.dtype(np.float32)


def activation(node: Node) -> dict[str, Any] | None:
    """The epilogue attributes (activation, act_alpha, act_beta) of a float32 elementwise node, or None."""
    if node.domain != "" or (node.op not in _PLAIN and node.op not in _OTHERS):
        return None
    if node.inputs[0] is None or node.inputs[0].dtype != _FLOAT:
        return None
    alpha = beta = 0.0
    if node.op in _PLAIN:
        act = _PLAIN[node.op]
    elif node.op == "Gelu":
        act = "gelu_tanh" if node.attrs.get("approximate", "none") == "tanh" else "gelu"
    elif node.op == "Swish":
        act, alpha = "swish", float(node.attrs.get("alpha", 1.0))
    elif node.op == "LeakyRelu":
        act, alpha = "leaky_relu", float(node.attrs.get("alpha", 0.01))
    elif node.op == "Elu":
        act, alpha = "elu", float(node.attrs.get("alpha", 1.0))
    elif node.op == "HardSigmoid":
        act, alpha, beta = "hard_sigmoid", float(node.attrs.get("alpha", 0.2)), float(node.attrs.get("beta", 0.5))
    else:
        low, high = node.input(1), node.input(2)
        limits = np.finfo(np.float32)  # of an absent bound, by the specification
        small, large = (limits.min if low is None else scalar(low)), (limits.max if high is None else scalar(high))
        if small is None or large is None or np.isnan(small) or np.isnan(large):
            return None
        act, alpha, beta = "clip", float(small), float(large)
    return {"activation": _ACT.index(act), "act_alpha": alpha, "act_beta": beta}
