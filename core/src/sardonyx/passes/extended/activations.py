"""Activations that exporters take apart."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.dtypes import is_float
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.passes.algebra import affine, others, product, scaled
from sardonyx.passes.match import attribute, close, made_by, only_use, same_shape, scalar, scalar_operand
from sardonyx.passes.polynomial import polynomial
from sardonyx.passes.rules import Edit, Outcome, constant, no, rule

__all__ = ["ACTIVATION_RULES", "SWIGLU"]


def _float(value: Value | None) -> bool:
    return value is not None and value.dtype is not None and is_float(value.dtype)


@rule("Reciprocal", "Div")
def fuse_sigmoid(node: Node, graph: Graph) -> Outcome:
    """1 / (1 + exp(-x)): Sigmoid."""
    if node.op == "Div" and scalar(node.inputs[0]) != 1:
        return None
    total, out = node.inputs[-1], node.outputs[0]
    add = made_by(total, "Add")
    found = scalar_operand(add) if add is not None and only_use(total) else None
    exp = made_by(found[0], "Exp") if found is not None and found[1] == 1 else None
    minus = made_by(exp.inputs[0], "Neg") if exp is not None and found is not None and only_use(found[0]) else None
    if add is None or exp is None or minus is None or out is None or not _float(out) or out.rank != minus.inputs[0].rank:  # type: ignore[union-attr]
        return None
    edit = Edit(node, add, exp, minus)
    return edit.replace(out, edit.add("Sigmoid", [minus.inputs[0]], like=out))


@rule("Mul")
def fuse_swish(node: Node, graph: Graph) -> Outcome:
    """x * sigmoid(alpha * x): Swish (SiLU for alpha 1, QuickGelu for 1.702)."""
    out = node.outputs[0]
    for i in (0, 1):
        x, gate = node.inputs[1 - i], node.inputs[i]
        sigmoid = made_by(gate, "Sigmoid")
        if sigmoid is None or x is None or out is None or not only_use(gate):
            continue
        argument = polynomial(sigmoid.inputs[0], x)
        if argument is None or argument.coefficients.keys() != {1}:
            continue
        edit = Edit(node, sigmoid, *argument.nodes)
        return edit.replace(out, edit.add("Swish", [x], {"alpha": argument.coefficients[1]}, like=out))
    return None


@rule("Mul")
def fuse_swiglu(node: Node, graph: Graph) -> Outcome:
    """Swish(a) * b of one shape: SwiGLU."""
    out = node.outputs[0]
    for i in (0, 1):
        gate, b = node.inputs[i], node.inputs[1 - i]
        swish = made_by(gate, "Swish")
        if swish is None or gate is None or b is None or b is gate or out is None or not only_use(gate):
            continue
        if not same_shape(gate, b):
            return no("the factors have different shapes")
        edit = Edit(node, swish)
        return edit.replace(out, edit.add("SwiGLU", [swish.inputs[0], b], dict(swish.attrs), like=out))
    return None


@rule("Mul", "Div")
def fuse_hard_swish(node: Node, graph: Graph) -> Outcome:
    """x * clip(x + 3, 0, 6) / 6, or x * HardSigmoid(x) with slope 1/6: HardSwish."""
    total, out = product(node, 2), node.outputs[0]
    if total is None or len(total.factors) != 2 or out is None or not _float(out):
        return None
    for u in total.factors:
        (x,) = others(total.factors, u) or (None,)
        gate = made_by(u, "Clip", "HardSigmoid")
        if gate is None or x is None or not only_use(u):
            continue
        if gate.op == "HardSigmoid":
            slope, shift, top, argument = attribute(gate, "alpha", 0.2), attribute(gate, "beta", 0.5), 1.0, polynomial(gate.inputs[0], x)
        else:
            high = scalar(gate.input(2))
            if scalar(gate.input(1)) != 0 or high is None:
                continue
            slope, shift, top, argument = 1.0, 0.0, high, polynomial(gate.inputs[0], x)
        if argument is None or not argument.coefficients.keys() <= {0, 1}:
            continue
        a = slope * argument.coefficients.get(1, 0.0) * total.scale
        b = (slope * argument.coefficients.get(0, 0.0) + shift) * total.scale
        if not (close(a, 1 / 6, out.dtype) and close(b, 0.5, out.dtype) and close(top * total.scale, 1.0, out.dtype)):
            return no("its slope is not 1/6, or its shift not 1/2")
        edit = Edit(*total.nodes, gate, *argument.nodes)
        return edit.replace(out, edit.add("HardSwish", [x], like=out))
    return None


@rule("Mul", "Div", "Clip")
def fuse_hard_sigmoid(node: Node, graph: Graph) -> Outcome:
    """clip(a x + b, 0, c) / c: HardSigmoid."""
    out = node.outputs[0]
    if out is None or not _float(out):
        return None
    clip: Node | None = node
    scale = 1.0
    if node.op != "Clip":
        found = scalar_operand(node)
        clip = made_by(found[0], "Clip") if found is not None and only_use(found[0]) and found[1] else None
        if clip is None or found is None or (node.op == "Div" and found[2] == 0):
            return None
        scale = found[1] if node.op == "Mul" else 1 / found[1]
    assert clip is not None
    high = scalar(clip.input(2))
    if scalar(clip.input(1)) != 0 or high is None or not close(scale * high, 1.0, out.dtype):
        return None
    inside = affine(clip.inputs[0])
    if inside is None or inside.bias == 0:
        return None
    edit = Edit(node, *(() if clip is node else (clip,)), *inside.nodes)
    attrs = {"alpha": inside.scale * scale, "beta": inside.bias * scale}
    return edit.replace(out, edit.add("HardSigmoid", [inside.x], attrs, like=out))


@rule("Log")
def fuse_softplus(node: Node, graph: Graph) -> Outcome:
    """log(1 + exp(x)): Softplus, which does not overflow."""
    add, out = made_by(node.inputs[0], "Add"), node.outputs[0]
    found = scalar_operand(add) if add is not None and only_use(node.inputs[0]) else None
    exp = made_by(found[0], "Exp") if found is not None and found[1] == 1 and only_use(found[0]) else None
    if add is None or exp is None or out is None:
        return None
    edit = Edit(node, add, exp)
    return edit.replace(out, edit.add("Softplus", [exp.inputs[0]], like=out))


@rule("Mul")
def fuse_mish(node: Node, graph: Graph) -> Outcome:
    """x * tanh(softplus(x)): Mish."""
    out = node.outputs[0]
    for i in (0, 1):
        x, gate = node.inputs[1 - i], node.inputs[i]
        tanh = made_by(gate, "Tanh")
        softplus = made_by(tanh.inputs[0], "Softplus") if tanh is not None and only_use(gate) else None
        if tanh is None or softplus is None or softplus.inputs[0] is not x or x is None or out is None or not only_use(tanh.inputs[0]):
            continue
        edit = Edit(node, tanh, softplus)
        return edit.replace(out, edit.add("Mish", [x], like=out))
    return None


@rule("Max", "Min")
def fuse_clip(node: Node, graph: Graph) -> Outcome:
    """max(x, 0) of floats: Relu; min(max(x, a), b) and max(min(x, b), a) with a <= b: Clip."""
    found, out = scalar_operand(node) if len(node.inputs) == 2 else None, node.outputs[0]
    if found is None or out is None or not _float(out):
        return None
    x, c, _ = found
    inner = made_by(x, "Min", "Relu", "Max") if only_use(x) else None
    if inner is None or inner.op == node.op or (inner.op == "Relu" and node.op == "Max"):
        if node.op == "Min" or c != 0:
            return None
        edit = Edit(node)
        return edit.replace(out, edit.add("Relu", [x], like=out))
    if inner.op == "Relu":
        source, bound = inner.inputs[0], 0.0
    else:
        again = scalar_operand(inner) if len(inner.inputs) == 2 else None
        if again is None:
            return None
        source, bound = again[0], again[1]
    low, high = (bound, c) if node.op == "Min" else (c, bound)
    if not low <= high:
        return no("the bounds cross")
    edit = Edit(node, inner)
    limits = [constant(np.asarray(b, out.dtype), name) for b, name in ((low, "min"), (high, "max"))]
    return edit.replace(out, edit.add("Clip", [source, *limits], like=out))


@rule("Where", "Max")
def fuse_leaky_relu(node: Node, graph: Graph) -> Outcome:
    """where(x > 0, x, alpha x), also by >=, < and <=, and max(x, alpha x) with 0 <= alpha <= 1: LeakyRelu."""
    out = node.outputs[0]
    if out is None or not _float(out):
        return None
    if node.op == "Max":
        positive, negative, nodes = (node.inputs[0], node.inputs[1], []) if len(node.inputs) == 2 else (None, None, [])
        if scaled(positive) is not None and made_by(positive, "Mul") is not None and only_use(positive):
            positive, negative = negative, positive
    else:
        test = made_by(node.inputs[0], "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
        found = scalar_operand(test) if test is not None else None
        if test is None or found is None or found[1] != 0 or found[2] != 1:
            return None
        positive, negative = node.inputs[1:] if test.op.startswith("Greater") else node.inputs[:0:-1]
        if positive is not found[0]:
            return None
        nodes = [test]
    multiple = made_by(negative, "Mul", "Div", "Neg")
    slope = scaled(negative) if multiple is not None and only_use(negative) else None
    if slope is None or positive is None or slope[0] is not positive:
        return None
    if node.op == "Max" and not 0 <= slope[1] <= 1:
        return no("its slope is not between 0 and 1")
    edit = Edit(node, *nodes, *slope[2])
    return edit.replace(out, edit.add("LeakyRelu", [positive], {"alpha": slope[1]}, like=out))


@rule("Add", "Sub")
def fuse_prelu(node: Node, graph: Graph) -> Outcome:
    """relu(x) - slope * relu(-x): PRelu, or LeakyRelu for a scalar slope."""
    out = node.outputs[0]
    for i in (0, 1) if node.op == "Add" else (0,):
        relu, multiple = made_by(node.inputs[i], "Relu"), made_by(node.inputs[1 - i], "Mul")
        if relu is None or multiple is None or out is None or not only_use(node.inputs[i]) or not only_use(node.inputs[1 - i]):
            continue
        x = relu.inputs[0]
        for j in (0, 1):
            slope, mirrored = multiple.inputs[1 - j], made_by(multiple.inputs[j], "Relu")
            minus = made_by(mirrored.inputs[0], "Neg") if mirrored is not None else None
            if slope is None or slope.const is None or mirrored is None or minus is None or minus.inputs[0] is not x or x is None:
                continue
            if not same_shape(x, out) or not _float(x):
                return no("the slope widens the result")
            values = slope.const.numpy() if node.op == "Sub" else -slope.const.numpy()
            edit = Edit(node, relu, multiple, mirrored, minus)
            if values.size == 1:
                return edit.replace(out, edit.add("LeakyRelu", [x], {"alpha": float(values.reshape(-1)[0])}, like=out))
            return edit.replace(out, edit.add("PRelu", [x, constant(values, slope.name)], like=out))
    return None


ACTIVATION_RULES = (
    fuse_clip,
    fuse_sigmoid,
    fuse_swish,
    fuse_hard_swish,
    fuse_hard_sigmoid,
    fuse_softplus,
    fuse_mish,
    fuse_leaky_relu,
    fuse_prelu,
)
SWIGLU = (fuse_swiglu,)
