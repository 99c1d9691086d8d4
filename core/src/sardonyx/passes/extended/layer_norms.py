"""Decomposed LayerNormalization, RMSNormalization and InstanceNormalization.

The rules fuse in steps: first the standardised tensor with a scale of ones, then the Mul and the Add that follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ir.dtypes import from_onnx, is_float, to_onnx
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.types import TensorType
from sardonyx.passes.algebra import power
from sardonyx.passes.extended.reductions import reduced_axes
from sardonyx.passes.match import attribute, made_by, only_use, scalar, scalar_operand
from sardonyx.passes.rules import Edit, Outcome, constant, no, rule

__all__ = ["LAYER_NORMS"]

NORMS = ("LayerNormalization", "RMSNormalization")


@rule("Mul", "Div")
def fuse_standardization(node: Node, graph: Graph) -> Outcome:
    """d / sqrt(mean(d²) + epsilon): RMSNormalization; with d = x - mean(x): LayerNormalization or InstanceNormalization."""
    found = _spread(node)
    if found is None:
        return None
    d, epsilon, mean, nodes = found
    axes = reduced_axes(mean)
    if axes is None or d.rank is None or d.dtype is None or not is_float(d.dtype) or not attribute(mean, "keepdims", 1):
        return no("the axes of the mean are not known")
    edit, out = Edit(node, *nodes), node.outputs[0]
    assert out is not None
    assert d.shape is not None
    center = made_by(d, "Sub")
    average = made_by(center.inputs[1], "ReduceMean") if center is not None else None
    x = center.inputs[0] if center is not None else None
    centered = average is not None and average.inputs[0] is x and reduced_axes(average) == axes and attribute(average, "keepdims", 1)
    if centered and x is not None and center is not None and average is not None:
        edit = Edit(node, *nodes, center, average)
        channels = d.shape[1] if d.rank >= 4 else None
        if axes == list(range(2, d.rank)) and isinstance(channels, int) and d.rank >= 4:
            terms = [constant(np.full(channels, c, d.dtype), name) for c, name in ((1, "scale"), (0, "bias"))]
            return edit.replace(out, edit.add("InstanceNormalization", [x, *terms], {"epsilon": epsilon}, like=out))
    dims = [d.shape[a] for a in axes]
    if axes != list(range(d.rank - len(axes), d.rank)) or not all(isinstance(n, int) for n in dims):
        return no("the axes are not the last ones, or their sizes are not known")
    ones = constant(np.ones([n for n in dims if isinstance(n, int)], d.dtype), "scale")
    op = "LayerNormalization" if centered else "RMSNormalization"
    attrs: dict[str, Any] = {"axis": -len(axes), "epsilon": epsilon}
    if d.dtype == np.float64:
        attrs["stash_type"] = to_onnx(d.dtype)
    return edit.replace(out, edit.add(op, [x if centered else d, ones], attrs, like=out))


def _spread(node: Node) -> tuple[Value, float, Node, list[Node]] | None:
    """(d, epsilon, ReduceMean, nodes) of node = d / sqrt(ReduceMean(d²) + epsilon), in any of its spellings."""
    for i in (1, 0) if node.op == "Mul" else (1,):
        d, other = node.inputs[1 - i], node.inputs[i]
        root = _root(other) if node.op == "Div" else _inverse_root(other)
        if root is None or d is None:
            continue
        inside, nodes = root
        add = made_by(inside, "Add")
        found = scalar_operand(add) if add is not None else None
        if add is None or found is None or not found[1] >= 0:
            continue
        spread = _mean_square(found[0], d) or _difference(found[0], d)
        if spread is not None:
            return d, found[1], spread[0], [*nodes, add, *spread]
    return None


def _mean_square(value: Value, d: Value) -> list[Node] | None:
    """The nodes of mean(d²), the ReduceMean first."""
    mean = made_by(value, "ReduceMean")
    square = power(mean.inputs[0], 2) if mean is not None else None
    return [mean, square[1]] if mean is not None and square is not None and square[0] is d else None


def _difference(value: Value, d: Value) -> list[Node] | None:
    """The nodes of mean(x²) - mean(x)², also kept from falling below 0, where d = x - mean(x); a ReduceMean first."""
    floor = made_by(value, "Relu")
    sub = made_by(floor.inputs[0] if floor is not None else value, "Sub")
    center = made_by(d, "Sub")
    squared = power(sub.inputs[1], 2) if sub is not None else None
    if sub is None or center is None or squared is None or squared[0] is not center.inputs[1] or center.inputs[0] is None:
        return None
    first, average = made_by(sub.inputs[0], "ReduceMean"), made_by(squared[0], "ReduceMean")
    square = power(first.inputs[0], 2) if first is not None else None
    if first is None or average is None or square is None or square[0] is not center.inputs[0] or average.inputs[0] is not square[0]:
        return None
    if reduced_axes(first) != reduced_axes(average) or not attribute(average, "keepdims", 1):
        return None
    return [first, square[1], sub, squared[1], *([floor] if floor is not None else [])]


def _root(value: Value | None) -> tuple[Value, list[Node]] | None:
    """What value is the square root of."""
    found = power(value, 0.5) if only_use(value) else None
    return (found[0], [found[1]]) if found is not None else None


def _inverse_root(value: Value | None) -> tuple[Value, list[Node]] | None:
    """What value is the reciprocal of the square root of."""
    if not only_use(value):
        return None
    direct = power(value, -0.5)
    if direct is not None:
        return direct[0], [direct[1]]
    inverse = power(value, -1)
    if inverse is None:
        quotient = made_by(value, "Div")
        if quotient is None or scalar(quotient.inputs[0]) != 1 or quotient.inputs[1] is None:
            return None
        inverse = quotient.inputs[1], quotient
    root = _root(inverse[0])
    return (root[0], [inverse[1], *root[1]]) if root is not None else None


def _is_ones(norm: Node) -> bool:
    scale = norm.inputs[1]
    return scale is not None and scale.const is not None and bool((scale.const.numpy() == 1).all())


def _fitting(edit: Edit, norm: Node, value: Value | None) -> Value | None:
    """`value` as scale or bias of the norm: it must have the normalised shape, but for leading ones."""
    scale = norm.inputs[1]
    if value is None or scale is None or scale.const is None or value.dtype != scale.dtype or value.shape is None:
        return None
    shape = scale.const.shape
    extra = len(value.shape) - len(shape)
    if extra < 0 or value.shape[extra:] != shape or any(n != 1 for n in value.shape[:extra]):
        return None
    if extra == 0:
        return value
    return edit.add("Reshape", [value, constant(np.array(shape, np.int64), "shape")], type=TensorType(value.dtype, shape))


@rule("Mul", "Add")
def fuse_scale_and_bias(node: Node, graph: Graph) -> Outcome:
    """A normalisation with a scale of ones, times a scale; or one without bias, plus a bias."""
    for i in (0, 1):
        y = node.inputs[i]
        norm = made_by(y, *NORMS) if node.op == "Mul" else made_by(y, "LayerNormalization")
        if norm is None or not only_use(y) or len(norm.outputs) > 1 or norm.input(2) is not None:
            continue
        edit, out = Edit(node, norm), node.outputs[0]
        term = _fitting(edit, norm, node.inputs[1 - i])
        if term is None or out is None or y is None or (out.rank != y.rank):
            return no("the other operand has not the normalised shape")
        if node.op == "Mul" and not _is_ones(norm):
            return no("it has a scale already")
        inputs = [norm.inputs[0], term] if node.op == "Mul" else [*norm.inputs[:2], term]
        return edit.replace(out, edit.add(norm.op, inputs, dict(norm.attrs), like=out))
    return None


@rule("Cast")
def fuse_norm_casts(node: Node, graph: Graph) -> Outcome:
    """Half precision cast to float32, standardised, and cast back: the operators compute in float32 by themselves."""
    y, out = node.inputs[0], node.outputs[0]
    norm = made_by(y, *NORMS)
    up = made_by(norm.inputs[0], "Cast") if norm is not None else None
    x = up.inputs[0] if up is not None else None
    if norm is None or up is None or x is None or out is None or y is None or not only_use(y) or norm.input(2) is not None:
        return None
    half = from_onnx(node.attrs["to"])
    if y.dtype != np.float32 or x.dtype != half or half.name not in ("float16", "bfloat16") or not _is_ones(norm):
        return no("it is not half precision around an unscaled float32 norm")
    scale = norm.inputs[1]
    assert scale is not None
    assert scale.const is not None
    ones = constant(np.ones(scale.const.shape, half), "scale")
    edit = Edit(node, norm, up)
    return edit.replace(out, edit.add(norm.op, [x, ones], {**norm.attrs, "stash_type": 1}, like=out))


@rule("Add")
def fuse_layer_norm_tf(node: Node, graph: Graph) -> Outcome:
    """x * m + (beta - mean(x) * m), where m = gamma / sqrt(mean((x - mean(x))²) + epsilon): LayerNormalization."""
    for i in (0, 1):
        left, right = made_by(node.inputs[i], "Mul"), made_by(node.inputs[1 - i], "Sub")
        shifted = made_by(right.inputs[1], "Mul") if right is not None else None
        if left is None or right is None or shifted is None:
            continue
        for j in (0, 1):
            x, m = left.inputs[j], left.inputs[1 - j]
            mean = next((v for v in shifted.inputs if v is not m), None)
            average, scaled = made_by(mean, "ReduceMean"), made_by(m, "Mul")
            if m not in shifted.inputs or average is None or scaled is None or average.inputs[0] is not x or x is None:
                continue
            found = _tf_scale(scaled, x, average)
            if found is not None:
                return _tf_edit(node, [left, right, shifted, scaled, average, *found[2]], x, average, found[0], right.inputs[0], found[1])
    return None


def _tf_scale(scaled: Node, x: Value, average: Node) -> tuple[Value, float, list[Node]] | None:
    """(gamma, epsilon, nodes) of gamma / sqrt(variance + epsilon)."""
    for i in (0, 1):
        gamma, inverse = scaled.inputs[1 - i], scaled.inputs[i]
        root = _inverse_root(inverse)
        add = made_by(root[0], "Add") if root is not None else None
        found = scalar_operand(add) if add is not None else None
        mean = made_by(found[0], "ReduceMean") if found is not None else None
        square = power(mean.inputs[0], 2) if mean is not None else None
        center = made_by(square[0], "Sub") if square is not None else None
        if root is None or add is None or found is None or mean is None or square is None or center is None or gamma is None:
            continue
        if set(center.inputs) == {x, average.outputs[0]} and reduced_axes(mean) == reduced_axes(average):
            return gamma, found[1], [*root[1], add, mean, square[1], center]
    return None


def _tf_edit(node: Node, nodes: list[Node], x: Value, average: Node, gamma: Value, beta: Value | None, epsilon: float) -> Outcome:
    axes, out = reduced_axes(average), node.outputs[0]
    if axes is None or x.rank is None or out is None or x.shape is None or axes != list(range(x.rank - len(axes), x.rank)):
        return no("the axes are not the last ones")
    shape = x.shape[axes[0] :]
    if beta is None or gamma.shape != shape or beta.shape != shape or not attribute(average, "keepdims", 1) or x.dtype == np.float64:
        return no("gamma or beta has not the normalised shape")
    edit = Edit(node, *nodes)
    attrs = {"axis": -len(axes), "epsilon": epsilon}
    return edit.replace(out, edit.add("LayerNormalization", [x, gamma, beta], attrs, like=out))


LAYER_NORMS = (fuse_standardization, fuse_layer_norm_tf, fuse_scale_and_bias, fuse_norm_casts)
