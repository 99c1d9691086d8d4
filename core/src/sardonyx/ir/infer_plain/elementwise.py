"""Operators that keep the shape of their first input, or broadcast."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.dtypes import FROM_ONNX
from sardonyx.ir.graph import Node
from sardonyx.ir.infer_plain.table import ANY, Plain, broadcast, given, register, shape
from sardonyx.ir.types import Shape

__all__ = ["types"]

types: Plain = {}


def bools(node: Node) -> np.dtype | None:
    """Answers, not values."""
    return np.dtype(np.bool_)


@register(types, "Abs", "Ceil", "Clip", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "LeakyRelu", "Log", "Mish", "Neg", "PRelu")
@register(types, "HardSwish", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Sqrt", "Tanh", "Swish", "Gelu")
@register(types, "Identity", "LRN", "InstanceNormalization")
@register(types, "Cast", since=6, dtype=lambda node: FROM_ONNX[node.attrs["to"]])
@register(types, "IsNaN", "Not", dtype=bools)
def same(node: Node) -> list[Shape] | None:
    """The shape of the first input, for the only output."""
    return [shape(node)] if len(node.outputs) == 1 else None


@register(types, "Softmax", "LogSoftmax", "LayerNormalization", "RMSNormalization")
def along_axis(node: Node) -> list[Shape] | None:
    """The shape of the first input, if the axis is one of its."""
    rank = len(shape(node))
    return [shape(node)] if len(node.outputs) == 1 and -rank <= node.attrs.get("axis", -1) < rank else None


@register(types, "BatchNormalization", since=9)
def batch_normalization(node: Node) -> list[Shape] | None:
    """The shape of the first input, where statistics fit its channels."""
    x = shape(node, rank=2)
    if len(node.outputs) != 1 or node.attrs.get("training_mode") or any(shape(node, i) != x[1:2] for i in range(1, 5)):
        return None
    return [x]


@register(types, "Dropout", since=7)
def dropout(node: Node) -> list[Shape] | None:
    """The shape of the first input; the mask is of another type since version 10, and nothing is known of its shape before."""
    return [shape(node), None] if node.since < 10 else same(node)


@register(types, "Add", "Sub", "Mul", "Div", "Pow", since=7, without_rank=ANY)
@register(types, "Max", "Min", "Mean", "Sum", since=8, without_rank=ANY)
@register(types, "Mod", without_rank=ANY)
@register(types, "And", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Or", "Xor", since=7, dtype=bools, without_rank=ANY)
@register(types, "Where", dtype=lambda node: given(node, 1).dtype, without_rank=ANY)
def broadcasting(node: Node) -> list[Shape] | None:
    """The shape that all inputs broadcast to."""
    return [broadcast([shape(node, i) for i in range(len(node.inputs))])]
