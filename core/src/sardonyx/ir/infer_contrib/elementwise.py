"""Activations and other elementwise operators."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx.ir.infer_contrib.table import Contrib, broadcast, dims, divide, dtype, register, same, tensor
from sardonyx.ir.types import ValueType

__all__ = ["types"]

types: Contrib = {}


@register(types, "Gelu", "QuickGelu", "Inverse", "Trilu", "BiasAdd")
def unary(node: Node) -> list[ValueType]:
    """The type of the first input."""
    return [same(node)]


@register(types, "BiasGelu", "FastGelu", onnx_domain=True)
def biased(node: Node) -> list[ValueType]:
    """The type of the first input; a bias broadcasts along its last dim."""
    return [same(node)]


@register(types, "BiasSplitGelu")
def bias_split_gelu(node: Node) -> list[ValueType]:
    """Half of the last dim is left."""
    x = dims(node, 0)
    return [tensor(dtype(node, 0), None if x is None else (*x[:-1], divide(x[-1], 2)))]


@register(types, "BiasSoftmax")
def bias_softmax(node: Node) -> list[ValueType]:
    """The type of the data."""
    return [same(node)]


@register(types, "MulInteger")
def mul_integer(node: Node) -> list[ValueType]:
    """int32 products of quantized values."""
    import numpy as np

    return [tensor(np.dtype(np.int32), broadcast(dims(node, 0), dims(node, 2)))]
