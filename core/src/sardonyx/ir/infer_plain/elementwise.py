"""Operators that keep the shape of their first input, or broadcast."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.dtypes import FROM_ONNX
from sardonyx.ir.graph import Node
from sardonyx.ir.infer_plain.table import Plain, Unusual, broadcast, given, out, register, shape
from sardonyx.ir.types import TensorType, ValueType

__all__ = ["types"]

types: Plain = {}
BOOL = np.dtype(np.bool_)


@register(types, "Abs", "Ceil", "Clip", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "LeakyRelu", "Log", "Mish", "Neg", "PRelu")
@register(types, "HardSwish", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Sqrt", "Tanh", "Swish", "Gelu")
@register(types, "Identity", "LRN", "Softmax", "LogSoftmax", "InstanceNormalization", "LayerNormalization", "RMSNormalization")
def same(node: Node) -> list[ValueType] | None:
    """The type of the first input, for the only output."""
    return out(node, shape(node)) if len(node.outputs) == 1 else None


@register(types, "Softmax", "LogSoftmax", "LayerNormalization", "RMSNormalization")
def along_axis(node: Node) -> list[ValueType] | None:
    """The type of the first input, if the axis is one of its."""
    rank = len(shape(node))
    return out(node, shape(node)) if len(node.outputs) == 1 and -rank <= node.attrs.get("axis", -1) < rank else None


@register(types, "BatchNormalization", since=9)
def batch_normalization(node: Node) -> list[ValueType] | None:
    """The type of the first input, where statistics fit its channels."""
    x = shape(node, rank=2)
    if len(node.outputs) != 1 or node.attrs.get("training_mode") or any(shape(node, i) != x[1:2] for i in range(1, 5)):
        return None
    return out(node, x)


@register(types, "Dropout", since=7)
def dropout(node: Node) -> list[ValueType] | None:
    """The type of the first input; the mask is of bools since version 10, and of unknown shape before."""
    mask = out(node, shape(node), BOOL) if node.since >= 10 else [TensorType(given(node, 0).dtype)]
    return out(node, shape(node)) + mask


@register(types, "Cast", since=6)
def cast(node: Node) -> list[ValueType] | None:
    """The shape of the input in the type asked for."""
    return out(node, shape(node), FROM_ONNX[node.attrs["to"]])


@register(types, "IsNaN", "Not")
def predicate(node: Node) -> list[ValueType] | None:
    """A bool for each element."""
    return out(node, shape(node), BOOL)


@register(types, "Add", "Sub", "Mul", "Div", "Pow", since=7)
@register(types, "Max", "Min", "Mean", "Sum", since=8)
@register(types, "Mod")
def arithmetic(node: Node) -> list[ValueType] | None:
    """Broadcast, in the type of the first input."""
    return out(node, broadcast([shape(node, i) for i in range(len(node.inputs))]))


@register(types, "And", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Or", "Xor", since=7)
def comparison(node: Node) -> list[ValueType] | None:
    """Broadcast, as bools."""
    return out(node, broadcast([shape(node, 0), shape(node, 1)]), BOOL)


@register(types, "Where")
def where(node: Node) -> list[ValueType] | None:
    """Broadcast, in the type of what is chosen from."""
    if given(node, 1).dtype != given(node, 2).dtype:
        raise Unusual
    return out(node, broadcast([shape(node, i) for i in range(3)]), given(node, 1).dtype)
