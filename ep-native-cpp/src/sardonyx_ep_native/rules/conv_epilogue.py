"""What follows a convolution becomes part of it: residual, activation, and a scalar multiplied and added."""

from __future__ import annotations

import numpy as np

from sardonyx.ep.rules import Edit, Outcome, no, only_use, rule, same_shape, scalar_operand
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx_ep_native.rules.activation import activation

__all__ = ["CONV_EPILOGUE"]


_OWN = frozenset((d, op) for d in ("", "sx") for op in ("Conv", "ConvTranspose"))


def _conv(value: Value | None) -> Node | None:
    """The convolution that makes `value` for one user alone."""
    node = value.producer if value is not None else None
    if node is None or node.key not in _OWN or not only_use(value):
        return None
    return node if node.inputs[0] is not None and node.inputs[0].dtype == np.float32 else None


def _fused(conv: Node, node: Node, attrs: dict[str, object], residual: Value | None = None) -> Edit:
    edit = Edit(node, conv)
    inputs = list(conv.inputs)
    if residual is not None:
        inputs = [*[*inputs, None, None][:3], residual]
    out = node.outputs[0]
    assert out is not None
    return edit.replace(out, edit.add(conv.op, inputs, {**conv.attrs, **attrs}, domain="sx", like=out))


@rule("Relu", "Sigmoid", "HardSwish", "Tanh", "Gelu", "Swish", "LeakyRelu", "Elu", "HardSigmoid", "Clip", "Mish", "Softplus")
def conv_activation(node: Node, graph: Graph) -> Outcome:
    """act(Conv): the activation in its epilogue."""
    conv, attrs = _conv(node.inputs[0]), activation(node)
    if conv is None or attrs is None:
        return None
    if conv.attrs.get("activation") or "post_scale" in conv.attrs or conv.attrs.get("residual_after"):
        return no("the convolution has an activation already")
    return _fused(conv, node, attrs)


@rule("Add")
def conv_residual(node: Node, graph: Graph) -> Outcome:
    """Conv + R: R as a residual, added before the activation if there is none yet, else after it."""
    for i in (0, 1):
        conv, other = _conv(node.inputs[i]), node.inputs[1 - i]
        if conv is None or conv.op != "Conv" or other is None or other.const is not None or conv.outputs[0] is None:
            continue
        if conv.input(3) is not None or "post_scale" in conv.attrs or other is node.inputs[i]:
            continue
        if not _alike(conv.outputs[0], other):
            return no("the operand added surely has another shape")
        if not same_shape(conv.outputs[0], other) and conv.attrs.get("activation"):
            return no("the operand added may have another shape")
        return _fused(conv, node, {"residual_after": 1} if conv.attrs.get("activation") else {}, other)
    return None


def _alike(a: Value, b: Value) -> bool:
    """Whether two tensors may have one shape: equal rank and channels, and no axis that is surely different."""
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape) or 1 in b.shape[2:]:
        return False
    if not isinstance(a.shape[1], int) or a.shape[1] != b.shape[1]:
        return False
    return all(x == y or not (isinstance(x, int) and isinstance(y, int)) for x, y in zip(a.shape, b.shape, strict=True))


@rule("Mul", "Add")
def conv_scalar(node: Node, graph: Graph) -> Outcome:
    """act(Conv) * c and act(Conv) + c with a scalar c: the epilogue's scale and shift."""
    found = scalar_operand(node)
    if found is None:
        return None
    x, c, _ = found
    conv = _conv(x)
    if conv is None or conv.input(3) is not None:
        return None
    scale, shift = conv.attrs.get("post_scale", 1.0), conv.attrs.get("post_shift", 0.0)
    scale, shift = (scale * c, shift * c) if node.op == "Mul" else (scale, shift + c)
    return _fused(conv, node, {"post_scale": float(scale), "post_shift": float(shift)})


CONV_EPILOGUE = (conv_activation, conv_residual, conv_scalar)
