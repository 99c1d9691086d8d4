"""Quantized operators."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx.ir.infer_contrib.matrix import gemm_shape
from sardonyx.ir.infer_contrib.table import Contrib, add, broadcast, dims, dtype, register, same, tensor
from sardonyx.ir.types import Dim, ValueType

__all__ = ["types"]

types: Contrib = {}


@register(types, "QuantizeLinear")
def quantize_linear(node: Node) -> list[ValueType]:
    """The data in the type of the zero point, else uint8."""
    return [tensor(np.dtype(np.uint8) if node.input(2) is None else dtype(node, 2), dims(node, 0))]


@register(types, "DequantizeLinear")
def dequantize_linear(node: Node) -> list[ValueType]:
    """The data in the type of the scale."""
    return [tensor(dtype(node, 1), dims(node, 0))]


@register(types, "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")
def q_linear_unary(node: Node) -> list[ValueType]:
    """The type of the data."""
    return [same(node)]


@register(types, "QLinearAdd", "QLinearMul")
def q_linear_binary(node: Node) -> list[ValueType]:
    """A and B, broadcast."""
    return [tensor(dtype(node, 0), broadcast(dims(node, 0), dims(node, 3)))]


@register(types, "QLinearConcat")
def q_linear_concat(node: Node) -> list[ValueType]:
    """Inputs from the third on are data, scale and zero point in turn."""
    shapes = [dims(node, i) for i in range(2, len(node.inputs), 3)]
    first = shapes[0]
    if first is None or any(s is None for s in shapes):
        return [tensor(dtype(node, 1), None)]
    axis = node.attrs["axis"] % len(first)
    total: Dim = 0
    for s in shapes:
        assert s is not None
        total = add(total, s[axis])
    return [tensor(dtype(node, 1), (*first[:axis], total, *first[axis + 1 :]))]


@register(types, "QLinearWhere")
def q_linear_where(node: Node) -> list[ValueType]:
    """Condition, X and Y, broadcast."""
    return [tensor(dtype(node, 1), broadcast(broadcast(dims(node, 0), dims(node, 1)), dims(node, 4)))]


@register(types, "QGemm")
def q_gemm(node: Node) -> list[ValueType]:
    """[rows of A, columns of B], quantized only if there is a zero point for it."""
    kind = dtype(node, 0 if dtype(node, 8) is None else 8) if node.input(8) is not None else dtype(node, 1)
    return [tensor(kind, gemm_shape(node, 0, 3))]


@register(types, "DynamicQuantizeLSTM")
def dynamic_quantize_lstm(node: Node) -> list[ValueType]:
    """[length, directions, batch, hidden], and twice the last step of it."""
    x, hidden = dims(node, 0), node.attrs.get("hidden_size")
    directions = 2 if node.attrs.get("direction", "forward") == "bidirectional" else 1
    length, batch = (None, None) if x is None else x[:2]
    last = tensor(dtype(node, 0), (directions, batch, hidden))
    return [tensor(dtype(node, 0), (length, directions, batch, hidden)), last, last]


@register(types, "GatherBlockQuantized")
def gather_block_quantized(node: Node) -> list[ValueType]:
    """Gather along an axis in the type of the scales; bytes may hold several values along the last dim."""
    data, indices = dims(node, 0), dims(node, 1)
    if data is None or indices is None:
        return [tensor(dtype(node, 2), None)]
    axis = node.attrs.get("gather_axis", 0) % len(data)
    if dtype(node, 0) == np.uint8 and isinstance(data[-1], int):
        data = (*data[:-1], data[-1] * (8 // node.attrs.get("bits", 4)))
    return [tensor(dtype(node, 2), (*data[:axis], *indices, *data[axis + 1 :]))]
