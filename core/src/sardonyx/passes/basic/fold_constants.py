"""Evaluate nodes whose inputs are all constants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import TensorType
from sardonyx.passes.evaluate import Evaluate

__all__ = ["fold_constants"]

LARGE = 64 * 1024
WEIGHTS_LIMIT = 1 << 30
GROWING = frozenset({"ConstantOfShape", "Expand", "Tile", "Range", "Pad", "Resize", "OneHot", "EyeLike", "CenterCropPad", "Upsample"})
NEVER = frozenset({"DequantizeLinear", "QuantizeLinear", "RandomNormal", "RandomUniform", "Bernoulli", "Multinomial"})
NEVER_LIKE = frozenset({"RandomNormalLike", "RandomUniformLike"})
WEIGHTS = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm", "BatchNormalization", "PRelu", "LSTM", "GRU", "RNN"})


def fold_constants(graph: Graph, evaluate: Evaluate) -> int:
    """Fold nodes over constants, bodies included; returns how many.

    DequantizeLinear of a constant stays (it is how quantized weights are stored), and so does what draws random numbers. A
    result over 64 KiB that is also over twice its inputs stays a node, unless it is a ConstantOfShape that makes weights.
    """
    count = 0
    for level in list(graph.walk_graphs()):
        folded = [node for node in level.nodes if _fold(node, evaluate)]
        if folded:
            level.remove(folded)
            count += len(folded)
    return count


def _fold(node: Node, evaluate: Evaluate) -> bool:
    given = False
    for v in node.inputs:
        if v is not None:
            if v.const is None:
                return False
            given = True
    if not given or node.op in NEVER or node.op in NEVER_LIKE or node.bodies:
        return False
    allowed = max(LARGE, 2 * sum(v.const.nbytes for v in node.inputs if v is not None and v.const is not None))
    if _makes_weights(node):
        allowed = WEIGHTS_LIMIT
    sizes = [_bytes(v) for v in node.outputs if v is not None]
    if any(node.op in GROWING if size is None else size > allowed for size in sizes):
        return False
    if allowed == WEIGHTS_LIMIT and _fill_later(node):
        return True
    results = evaluate(node, [None if v is None or v.const is None else v.const.numpy() for v in node.inputs])
    if results is None or len(results) < len(node.outputs):
        return False
    pairs = [(v, r) for v, r in zip(node.outputs, results, strict=False) if v is not None]
    if not all(_fits(v, r, allowed) for v, r in pairs):
        return False
    for v, r in pairs:
        v.const = Tensor.of(r)
        v.type = TensorType(v.const.dtype, v.const.shape)
        v.producer = None
    return True


def _fill_later(node: Node) -> bool:
    """Make the large output of a ConstantOfShape a constant that is filled when somebody reads it."""
    out, value = node.outputs[0], node.attrs.get("value")
    if out is None or out.dtype is None or (_bytes(out) or 0) <= LARGE:
        return False
    shape = tuple(d for d in out.shape or () if isinstance(d, int))
    out.const = Tensor.filled(shape, np.zeros(1, np.float32) if value is None else value)
    out.producer = None
    return True


def _makes_weights(node: Node) -> bool:
    if node.op != "ConstantOfShape" or node.outputs[0] is None:
        return False
    return any(user.op in WEIGHTS and index > 0 for user, index in node.outputs[0].uses)


def _bytes(value: Value) -> int | None:
    """The size of a value, None where it is not known."""
    t = value.type
    if not isinstance(t, TensorType) or t.dtype is None or not t.is_static or t.shape is None:
        return None
    return math.prod(d for d in t.shape if isinstance(d, int)) * t.dtype.itemsize


def _fits(value: Value, result: Any, allowed: int) -> bool:
    """Whether a result is an array of the dtype the graph expects, and not too large."""
    if not isinstance(result, (np.ndarray, np.generic)) or result.nbytes > allowed:
        return False
    return value.dtype is None or result.dtype == value.dtype or (value.dtype == object and result.dtype.kind in "USO")
