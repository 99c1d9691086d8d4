"""What the engine takes of recurrent operators."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx_ep_native.claims import FLOATS, add, dtypes

_FUNCTIONS = frozenset(
    ("sigmoid", "tanh", "relu", "affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu", "softsign", "softplus")
)
_DIRECTIONS = {"forward": 1, "foward": 1, "reverse": 1, "bidirectional": 2}
_EACH = {"RNN": 1, "GRU": 2, "LSTM": 3}


@add("RNN")
@add("GRU")
@add("LSTM")
def recurrent(node: Node) -> str | None:
    """Layers with any of ONNX's activations."""
    count = _DIRECTIONS.get(str(node.attrs.get("direction", "forward")).lower())
    if count is None:
        return f"its direction is {node.attrs['direction']!r}"
    if not node.attrs.get("clip", 0.0) >= 0:
        return f"its attribute clip={node.attrs['clip']} bounds nothing"
    names = [str(n).lower() for n in node.attrs.get("activations") or ()]
    if unknown := [n for n in names if n not in _FUNCTIONS]:
        return f"the engine has no activation {unknown[0]!r}"
    if names and len(names) < count * _EACH[node.op]:
        return f"it names {len(names)} activations for {count} direction(s)"
    return dtypes(node, FLOATS, (0, 1, 2, 3, 5, 6, 7)) or dtypes(node, (np.dtype("i4"),), (4,))
