"""Normalizations."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx.ir.infer_contrib.table import Contrib, dims, dtype, register, same, tensor
from sardonyx.ir.types import ValueType

__all__ = ["types"]

types: Contrib = {}
FLOAT = np.dtype(np.float32)


@register(types, "SimplifiedLayerNormalization", onnx_domain=True)
def simplified_layer_normalization(node: Node) -> list[ValueType]:
    """The data in the type of the scale; inverse deviations with dims of 1 from the axis on."""
    x = dims(node, 0)
    rest = None
    if x is not None:
        axis = node.attrs.get("axis", -1) % len(x)
        rest = (*x[:axis], *(1 for _ in x[axis:]))
    return [tensor(dtype(node, 1), x), tensor(FLOAT, rest)]


@register(types, "SkipLayerNormalization", "SkipSimplifiedLayerNormalization", onnx_domain=True)
def skip_layer_normalization(node: Node) -> list[ValueType]:
    """The data, its statistics by row, and the sum that was normalized."""
    x = dims(node, 0)
    rows = tensor(FLOAT, None if x is None else (*x[:-1], 1))
    return [same(node), rows, rows, same(node)]


@register(types, "EmbedLayerNormalization", onnx_domain=True)
def embed_layer_normalization(node: Node) -> list[ValueType]:
    """[batch, sequence, hidden], an index for each of the batch, and the sum of the embeddings."""
    ids, words = dims(node, 0), dims(node, 2)
    batch, length = (None, None) if ids is None or len(ids) != 2 else ids
    shape = (batch, length, None if words is None else words[1])
    out = tensor(dtype(node, 2), shape)
    return [out, tensor(np.dtype(np.int32), shape[:1]), out]


@register(types, "GroupNorm")
def group_norm(node: Node) -> list[ValueType]:
    """The type of the data."""
    return [same(node)]


@register(types, "SkipGroupNorm")
def skip_group_norm(node: Node) -> list[ValueType]:
    """The data twice: normalized, and the sum that was normalized."""
    return [same(node), same(node)]
