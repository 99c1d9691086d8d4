"""Stretches of a convolution net that run with channels last (ConvNeXt, Swin) are done with channels second.

[N, C, H, W] -> Transpose -> LayerNormalization, MatMul, bias, activation -> Transpose back: the Transpose sinks below one
node after the other until it meets its inverse. A product with a constant matrix becomes a 1x1 convolution whose weights
are that matrix as it lies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ep.rules import Edit, Outcome, constant, made_by, no, only_use, rule
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.types import TensorType
from sardonyx_ep_native.rules.activation import activation

__all__ = ["CHANNELS_FIRST"]

LAST, FIRST = [0, 2, 3, 1], [0, 3, 1, 2]


def _first(value: Value | None) -> Value | None:
    """The float32 tensor of channels second that `value` is with channels last, or None."""
    transpose = made_by(value, "Transpose")
    x = transpose.inputs[0] if transpose is not None else None
    if transpose is None or x is None or list(transpose.attrs.get("perm", ())) != LAST or x.dtype != np.float32:
        return None
    return x


def _sunk(edit: Edit, out: Value, op: str, inputs: list[Value | None], attrs: dict[str, Any] | None = None, domain: str = "") -> Edit:
    """`out` as the Transpose of the operator done with channels second."""
    shape = None if out.shape is None else tuple(out.shape[i] for i in FIRST)
    y = edit.add(op, inputs, attrs, domain=domain, type=TensorType(out.dtype, shape))
    return edit.replace(out, edit.add("Transpose", [y], {"perm": LAST}, like=out))


@rule("LayerNormalization")
def norm_of_channels(node: Node, graph: Graph) -> Outcome:
    """LayerNormalization of the last axis: BlockNorm."""
    x, out = _first(node.inputs[0]), node.outputs[0]
    if x is None or out is None:
        return None
    if node.attrs.get("axis", -1) not in (-1, 3) or any(v is not None and v.uses for v in node.outputs[1:]):
        return no("it normalises other axes, or gives its statistics")
    if any(v is not None and (v.const is None or v.rank != 1) for v in node.inputs[1:]):
        return no("its scale or bias is no constant vector")
    return _sunk(Edit(node), out, "BlockNorm", [x, *node.inputs[1:]], {"epsilon": node.attrs.get("epsilon", 1e-5)}, "sx")


@rule("MatMul")
def product_of_channels(node: Node, graph: Graph) -> Outcome:
    """A product with a constant matrix: a 1x1 convolution."""
    x, out, matrix = _first(node.inputs[0]), node.outputs[0], node.inputs[1]
    if x is None or out is None:
        return None
    if matrix is None or matrix.const is None or matrix.rank != 2 or matrix.dtype != np.float32:
        return no("its second operand is no constant matrix")
    return _sunk(Edit(node), out, "Conv", [x, matrix], {"kernel_shape": [1, 1], "weights_turned": 1}, "sx")


@rule("Add", "Mul", "Sub")
def arithmetic_of_channels(node: Node, graph: Graph) -> Outcome:
    """With a constant per channel, or of two tensors with channels last; a bias goes into the convolution before it."""
    out = node.outputs[0]
    a, b = _first(node.inputs[0]), _first(node.inputs[1])
    if out is None or (a is None and b is None):
        return None
    if a is not None and b is not None:
        return _sunk(Edit(node), out, node.op, [a, b])
    i = 0 if a is not None else 1
    x, vector = a if a is not None else b, node.const(1 - i)
    assert x is not None
    if vector is None or vector.size not in (1, vector.shape[-1] if vector.ndim else 1) or vector.ndim > 4:
        return no("the other operand is no constant per channel")
    if node.op == "Add" and out.shape is not None and vector.size == out.shape[-1]:
        edit = _with_bias(node, node.inputs[i], x, vector)
        if edit is not None:
            return edit
    operand = constant(vector.reshape(-1, 1, 1) if vector.ndim else vector, f"{node.name}/operand")
    return _sunk(Edit(node), out, node.op, [x, operand] if i == 0 else [operand, x])


def _with_bias(node: Node, view: Value | None, x: Value, bias: np.ndarray) -> Edit | None:
    """The sum of `view`, which is x with channels last, and a bias: that of the convolution that makes x for it alone."""
    conv, out = x.producer, node.outputs[0]
    if (
        conv is None
        or conv.key != ("sx", "Conv")
        or conv.input(2) is not None
        or conv.attrs.get("activation")
        or view is None
        or view.producer is None
        or out is None
    ):
        return None
    if not only_use(x) or not only_use(view):
        return None
    inputs = [*conv.inputs[:2], constant(bias.reshape(-1), f"{node.name}/bias")]
    return _sunk(Edit(node, view.producer, conv), out, "Conv", inputs, dict(conv.attrs), "sx")


@rule("Relu", "Sigmoid", "HardSwish", "Tanh", "Gelu", "Swish", "LeakyRelu", "Elu", "HardSigmoid", "Clip", "Mish", "Softplus")
def activation_of_channels(node: Node, graph: Graph) -> Outcome:
    """An activation."""
    x, out = _first(node.inputs[0]), node.outputs[0]
    if x is None or out is None or activation(node) is None:
        return None
    return _sunk(Edit(node), out, node.op, [x, *node.inputs[1:]], dict(node.attrs))


@rule("Transpose")
def channels_back(node: Node, graph: Graph) -> Outcome:
    """The Transpose back meets the one that sank."""
    x, out = _first(node.inputs[0]), node.outputs[0]
    if x is None or out is None or list(node.attrs.get("perm", ())) != FIRST:
        return None
    return Edit(node).replace(out, x)


CHANNELS_FIRST = (norm_of_channels, product_of_channels, arithmetic_of_channels, activation_of_channels, channels_back)
