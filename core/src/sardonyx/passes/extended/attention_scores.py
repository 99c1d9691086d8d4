"""Reading attention scores: what was multiplied, scaled, capped and masked on the way to the Softmax."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sardonyx.ir.dtypes import from_onnx
from sardonyx.ir.graph import Node, Value
from sardonyx.ir.types import Shape
from sardonyx.passes.algebra import scaled
from sardonyx.passes.extended.reductions import reduced_axes
from sardonyx.passes.match import axis_of, made_by, only_use, scalar, scalar_operand

__all__ = ["Mask", "Probabilities", "Scores", "fits_scores", "probabilities", "read_scores"]


@dataclass(slots=True)
class Mask:
    """Something added to the scores; or, with `fill`, what the scores become where `value` (bool) is `where`."""

    value: Value
    fill: float | None = None
    where: bool = True


@dataclass(slots=True)
class Scores:
    """scale * product, capped, plus masks; product = q @ kt; made by `nodes`."""

    q: Value
    kt: Value
    product: Value
    scale: float = 1.0
    softcap: float = 0.0
    masks: list[Mask] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Probabilities:
    """A Softmax along the last axis, by `nodes`.

    `precision` is the ONNX type of the higher precision it is computed in, between two casts. Rows that are masked
    altogether may be made 0: where the Softmax is NaN, or where the greatest value of `guard`, the mask, is -inf.
    """

    softmax: Node
    precision: int | None
    guard: Value | None
    nodes: list[Node]


def probabilities(value: Value | None) -> Probabilities | None:
    """The Softmax, with its guard and casts, behind what multiplies the values; or None."""
    nodes: list[Node] = []
    mask: Value | None = None
    guard = made_by(value, "Where")
    if not only_use(value):
        return None
    if guard is not None:
        test, value = made_by(guard.inputs[0], "IsNaN", "Equal"), guard.inputs[2]
        if test is None or value is None or scalar(guard.inputs[1]) != 0:
            return None
        if test.op == "IsNaN":
            if test.inputs[0] is not value or len(value.uses) != 2:
                return None
            nodes += [guard, test]
        else:
            top = made_by(test.inputs[0], "ReduceMax")
            mask = top.inputs[0] if top is not None else None
            if top is None or mask is None or scalar(test.inputs[1]) != -np.inf or not only_use(value):
                return None
            if reduced_axes(top) != [(mask.rank or 0) - 1] or not top.attrs.get("keepdims", 1):
                return None
            nodes += [guard, test, top]
    down = made_by(value, "Cast")
    precision = None
    if down is not None:
        value = down.inputs[0]
        nodes.append(down)
    softmax = made_by(value, "Softmax")
    if softmax is None or value is None or axis_of(softmax, "axis", -1, value.rank) != (value.rank or 0) - 1:
        return None
    if down is not None:
        up = made_by(softmax.inputs[0], "Cast")
        if up is None or not only_use(softmax.inputs[0]) or up.inputs[0] is None or not only_use(value):
            return None
        if up.inputs[0].dtype != from_onnx(down.attrs["to"]) or not _wider(from_onnx(up.attrs["to"]), up.inputs[0].dtype):
            return None
        precision = up.attrs["to"]
    return Probabilities(softmax, precision, mask, [*nodes, softmax])


def _wider(a: np.dtype, b: np.dtype | None) -> bool:
    return b is not None and a.kind == "f" and a.itemsize > b.itemsize


def read_scores(value: Value | None) -> Scores | None:
    """The scores behind a Softmax's input, or None if they are no scaled product."""
    masks: list[Mask] = []
    nodes: list[Node] = []
    while value is not None and only_use(value):
        node = made_by(value, "Add", "Where")
        if node is None:
            break
        step = _masked(node)
        if step is None or len(masks) == 2:
            return None
        value, mask = step
        masks.append(mask)
        nodes.append(node)
    capped = _softcap(value)
    softcap = 0.0
    if capped is not None:
        value, softcap = capped[0], capped[1]
        nodes += capped[2]
    found = scaled(value)
    product = made_by(found[0], "MatMul") if found is not None and only_use(found[0]) else None
    if found is None or product is None or product.inputs[0] is None or product.inputs[1] is None:
        return None
    nodes += found[2]
    scale = found[1]
    q = scaled(product.inputs[0])
    if q is None:
        return None
    return Scores(q[0], product.inputs[1], found[0], scale * q[1], softcap, masks, [*nodes, product, *q[2]])


def _masked(node: Node) -> tuple[Value, Mask] | None:
    """(scores, mask) of an Add or Where, by which operand leads to a product of matrices."""
    if node.op == "Add":
        for i in (0, 1):
            scores, mask = node.inputs[i], node.inputs[1 - i]
            if scores is not None and mask is not None and _leads_to_product(scores):
                return scores, Mask(mask)
        return None
    condition = node.inputs[0]
    for i, where in ((1, False), (2, True)):
        scores, fill = node.inputs[i], scalar(node.inputs[3 - i])
        if scores is not None and fill is not None and condition is not None and _leads_to_product(scores):
            return scores, Mask(condition, fill, where)
    return None


def _leads_to_product(value: Value | None) -> bool:
    for _ in range(6):
        if value is None or not only_use(value) or value.producer is None:
            return False
        node = value.producer
        if node.op == "MatMul":
            return True
        if node.op in ("Add", "Where"):
            return _masked(node) is not None
        if node.op not in ("Mul", "Div", "Tanh", "Neg"):
            return False
        found = scalar_operand(node) if len(node.inputs) == 2 else None
        value = node.inputs[0] if len(node.inputs) == 1 else found[0] if found is not None else None
    return False


def _softcap(value: Value | None) -> tuple[Value, float, list[Node]] | None:
    """(s, c, nodes) where value = c * tanh(s / c)."""
    outer = scaled(value)
    tanh = made_by(outer[0], "Tanh") if outer is not None and only_use(outer[0]) else None
    inner = scaled(tanh.inputs[0]) if tanh is not None else None
    if outer is None or tanh is None or inner is None or outer[1] <= 0:
        return None
    # The inner scale may hold the attention's own scale too: only 1/c of it belongs to the cap.
    division = made_by(tanh.inputs[0], "Div", "Mul")
    found = scalar_operand(division) if division is not None else None
    if division is None or found is None or found[1] == 0 or (division.op == "Div" and found[2] == 0):
        return None
    factor = 1 / found[1] if division.op == "Div" else found[1]
    if abs(factor * outer[1] - 1) > 1e-3 or not only_use(tanh.inputs[0]):
        return None
    return found[0], outer[1], [*outer[2], tanh, division]


def fits_scores(mask: Shape, scores: Shape) -> bool:
    """Whether a mask of that shape broadcasts into the scores as Attention wants it: a last axis of 1 would count as short."""
    if mask is None or scores is None or len(mask) > len(scores) or len(mask) == 0:
        return False
    if mask[-1] == 1 and scores[-1] != 1:
        return False
    # A known size over an unknown one: of batch or heads it may be meant to widen a 1, of queries and keys it never is.
    return all(
        m == 1 or m == s or (s != 1 if not isinstance(m, int) else not isinstance(s, int) and axis < 2)
        for axis, (m, s) in enumerate(zip(mask[::-1], scores[::-1], strict=False))
    )
