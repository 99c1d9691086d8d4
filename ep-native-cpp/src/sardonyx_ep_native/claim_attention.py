"""What the engine takes of attention."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx_ep_native.claims import FLOATS, add, dtypes, finite, named_dtype

_INT64 = (np.dtype("i8"),)
_MASKS = (*FLOATS, np.dtype("?"))


@add("Attention", since=23)
def attention(node: Node) -> str | None:
    """Any mask, past keys and values; no softcap, window, external cache or score output."""
    if node.attrs.get("softcap", 0.0) > 0:
        return "softcap"
    if reason := finite(node, "scale"):
        return reason
    if node.attrs.get("left_window_size", -1) != -1 or node.attrs.get("right_window_size", -1) != -1:
        return "a sliding window"
    if node.input(6) is not None:
        return "nonpad_kv_seqlen"
    if len(node.outputs) > 3 and node.outputs[3] is not None:
        return "the output qk_matmul_output"
    if (mode := node.attrs.get("qk_matmul_output_mode", 0)) not in (0, 1, 2, 3):
        return f"its attribute qk_matmul_output_mode={mode!r} is none of 0, 1, 2, 3"
    if reason := named_dtype(node, "softmax_precision", FLOATS):
        return reason
    if (node.input(4) is None) != (node.input(5) is None):
        return "past_key without past_value"
    return dtypes(node, FLOATS, (0, 1, 2, 4, 5)) or dtypes(node, _MASKS, (3,))


@add("RotaryEmbedding", since=23)
def rotary_embedding(node: Node) -> str | None:
    """Both spellings."""
    return dtypes(node, FLOATS, (0, 1, 2)) or dtypes(node, _INT64, (3,))
