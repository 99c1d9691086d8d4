"""Per-channel arithmetic and padding around convolutions becomes part of them."""

from __future__ import annotations

import math

import numpy as np

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.passes.match import attribute, made_by, only_use
from sardonyx.passes.rules import Edit, Outcome, constant, no, rule
from sardonyx.passes.weights import channel_vector, times

__all__ = ["CHANNELS", "batch_norm_terms", "fold_into_normalization", "is_inference"]

CONV = ("Conv", "ConvTranspose")


def is_inference(node: Node) -> bool:
    """Whether a BatchNormalization uses the given statistics and gives one output."""
    return not node.attrs.get("training_mode") and all(v is None or not v.uses for v in node.outputs[1:])


def batch_norm_terms(node: Node) -> tuple[np.ndarray, np.ndarray] | None:
    """(scale, shift) per channel in float64 of an inference BatchNormalization with constant statistics, or None."""
    values = [node.const(i) for i in range(1, 5)]
    if not is_inference(node) or any(v is None for v in values):
        return None
    gamma, beta, mean, variance = (v.astype(np.float64) for v in values if v is not None)
    scale = gamma / np.sqrt(variance + attribute(node, "epsilon", 1e-5))
    return scale, beta - mean * scale


@rule("BatchNormalization")
def fold_batch_norm(node: Node, graph: Graph) -> Outcome:
    """Conv or ConvTranspose, then BatchNormalization: scaled weights and a bias."""
    conv = made_by(node.inputs[0], *CONV)
    if conv is None:
        return None
    terms = batch_norm_terms(node)
    if terms is None or not only_use(node.inputs[0]):
        return no("its statistics are not constant, or the convolution has another user")
    return _rescaled(conv, node, *terms)


@rule("Mul", "Div", "Add", "Sub")
def fold_channel_arithmetic(node: Node, graph: Graph) -> Outcome:
    """Conv or ConvTranspose, then a constant per channel multiplied or added."""
    for i in (0, 1):
        conv = made_by(node.inputs[i], *CONV)
        if conv is None or (i == 1 and node.op == "Div"):
            continue
        if not only_use(node.inputs[i]) or node.inputs[i].rank is None:  # type: ignore[union-attr]
            return no("the convolution has another user")
        weights = conv.inputs[1]
        channels = _channels(conv, weights)
        vector = channel_vector(node.inputs[1 - i], node.inputs[i].rank, channels)  # type: ignore[union-attr]
        if vector is None or channels is None:
            return no("the other operand is not one constant per channel")
        ones, zeros = np.ones(channels), np.zeros(channels)
        if node.op == "Mul":
            return _rescaled(conv, node, vector, zeros)
        if node.op == "Div":
            return _rescaled(conv, node, 1 / vector, zeros) if vector.all() else no("it divides by zero")
        if node.op == "Add":
            return _rescaled(conv, node, ones, vector)
        return _rescaled(conv, node, ones, -vector) if i == 0 else _rescaled(conv, node, -ones, vector)
    return None


def _channels(conv: Node, weights: Value | None) -> int | None:
    if weights is None or weights.const is None:
        return None
    shape = weights.const.shape
    return shape[0] if conv.op == "Conv" else shape[1] * attribute(conv, "group", 1)


def _rescaled(conv: Node, node: Node, scale: np.ndarray, shift: np.ndarray) -> Outcome:
    """The convolution whose result is scale * conv + shift, per channel."""
    weights, out = conv.inputs[1], node.outputs[0]
    channels = _channels(conv, weights)
    given = conv.input(2)
    if weights is None or weights.const is None or out is None or channels != len(scale) or weights.dtype != out.dtype:
        return no("its weights are not constant")
    if given is not None and given.const is None:
        return no("its bias is not constant")
    bias = shift if given is None or given.const is None else given.const.numpy().astype(np.float64) * scale + shift
    dtype = weights.const.dtype
    if dtype.itemsize < 4 and max(np.abs(bias).max(initial=0), np.abs(scale).max(initial=0)) > 1e4:
        return no("half precision might overflow")
    unscaled = bool((scale == 1).all())
    new = weights if unscaled else times(weights, _along_outputs(conv, scale, weights.const.shape))
    edit = Edit(node, conv)
    y = edit.add(conv.op, [conv.inputs[0], new, constant(bias.astype(dtype), node.name + "/bias")], dict(conv.attrs), like=out)
    return edit.replace(out, y)


def _along_outputs(conv: Node, scale: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The scale as a tensor that broadcasts along the weights' output channels."""
    ones = (1,) * (len(shape) - 2)
    if conv.op == "Conv":
        return scale.reshape(-1, 1, *ones)
    group = attribute(conv, "group", 1)
    per_group = np.repeat(scale.reshape(group, -1), shape[0] // group, axis=0)
    return per_group.reshape(shape[0], -1, *ones)


@rule("Mul", "Add", "Sub")
def fold_into_normalization(node: Node, graph: Graph) -> Outcome:
    """BatchNormalization, InstanceNormalization or GroupNormalization, then a constant per channel multiplied or added."""
    for i in (0, 1):
        norm = made_by(node.inputs[i], "BatchNormalization", "InstanceNormalization", "GroupNormalization")
        if norm is None:
            continue
        scale, bias, out, y = norm.inputs[1], norm.inputs[2], node.outputs[0], node.inputs[i]
        if scale is None or bias is None or scale.const is None or bias.const is None or out is None or y is None:
            return no("its scale or bias is not constant")
        if not only_use(y) or (norm.op == "BatchNormalization" and not is_inference(norm)):
            return no("it has another user")
        vector = channel_vector(node.inputs[1 - i], y.rank, scale.const.shape[0])
        if vector is None:
            return no("the other operand is not one constant per channel")
        a, b = scale.const.numpy().astype(np.float64), bias.const.numpy().astype(np.float64)
        if node.op == "Mul":
            a, b = a * vector, b * vector
        elif node.op == "Add":
            b = b + vector
        else:
            a, b = (a, b - vector) if i == 0 else (-a, vector - b)
        edit = Edit(node, norm)
        terms = [constant(a.astype(scale.const.dtype), scale.name), constant(b.astype(bias.const.dtype), bias.name)]
        return edit.replace(out, edit.add(norm.op, [norm.inputs[0], *terms, *norm.inputs[3:]], dict(norm.attrs), like=out))
    return None


@rule("Conv")
def fold_operand_arithmetic(node: Node, graph: Graph) -> Outcome:
    """A constant per channel multiplied or added, then Conv: scaled weights, or another bias where nothing is padded."""
    x, weights, out = node.inputs[0], node.inputs[1], node.outputs[0]
    before = made_by(x, "Mul", "Add", "Sub")
    if before is None or x is None or weights is None or weights.const is None or out is None or weights.dtype != x.dtype:
        return None
    channels = x.shape[1] if x.shape is not None and len(x.shape) > 1 else None
    for i in (0, 1) if before.op != "Sub" else (0,):
        source = before.inputs[i]
        vector = channel_vector(before.inputs[1 - i], x.rank, channels if isinstance(channels, int) else None)
        if vector is None or source is None or source.shape is None or source.shape[1:2] != (channels,) or source.rank != x.rank:
            continue
        if not only_use(x) or weights.const.dtype.itemsize < 4:
            return no("it has another user, or half precision might overflow")
        edit = Edit(node, before)
        if before.op == "Mul":
            inputs = [source, times(weights, _along_inputs(node, vector, weights.const.shape)), *node.inputs[2:]]
            return edit.replace(out, edit.add("Conv", inputs, dict(node.attrs), like=out))
        bias = node.input(2)
        if any(attribute(node, "pads", [0])) or attribute(node, "auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
            return no("it pads with zeros, which nothing was added to")
        if bias is not None and bias.const is None:
            return no("its bias is not constant")
        w = weights.const.numpy()
        along = _along_inputs(node, vector, w.shape)
        columns = math.prod(w.shape[1:])
        along = np.broadcast_to(along, (len(along), *w.shape[1:])).reshape(len(along), columns)
        added = np.vecdot(w.reshape(len(w), columns).astype(np.float64), along)
        given = 0.0 if bias is None or bias.const is None else bias.const.numpy().astype(np.float64)
        total = given + added if before.op == "Add" else given - added
        inputs = [source, weights, constant(total.astype(weights.const.dtype), node.name + "/bias")]
        return edit.replace(out, edit.add("Conv", inputs, dict(node.attrs), like=out))
    return None


def _along_inputs(conv: Node, vector: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """One number per input channel as a tensor that broadcasts along a Conv's weights."""
    group, ones = attribute(conv, "group", 1), (1,) * (len(shape) - 2)
    if group == 1:
        return vector.reshape(1, shape[1], *ones)
    rows = np.repeat(vector.reshape(group, -1), shape[0] // group, axis=0)
    return rows.reshape(shape[0], shape[1], *ones)


CHANNELS = (fold_batch_norm, fold_channel_arithmetic, fold_operand_arithmetic, fold_into_normalization)
