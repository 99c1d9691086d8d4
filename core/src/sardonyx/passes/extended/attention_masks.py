"""Constant masks of Attention that have a shorter form: none at all, or is_causal."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.passes.match import attribute, made_by, scalar
from sardonyx.passes.rules import Edit, Outcome, no, rule
from sardonyx.passes.weights import wide

__all__ = ["name_mask"]

LARGEST = 1 << 22
EXCLUDED = -1e9


@rule("Attention")
def name_mask(node: Node, graph: Graph) -> Outcome:
    """A constant mask that allows everything goes; one that allows keys up to the query's own place is is_causal."""
    mask = node.input(3)
    allowed = _allowed(mask) if mask is not None else None
    if mask is None or allowed is None:
        return None
    attrs = dict(node.attrs)
    if not allowed.all():
        if attribute(node, "is_causal", 0) or node.input(4) is not None or not _lengths_equal(node, allowed.shape[-1]):
            return no("it is no causal mask of a square")
        square = allowed.reshape(allowed.shape[-2:]) if allowed.ndim > 1 and allowed.size == allowed.shape[-1] ** 2 else None
        if square is None or not np.array_equal(square, np.tril(np.ones_like(square))):
            return no("it is no causal mask")
        attrs["is_causal"] = 1
    elif not _covers(node, allowed.shape[-1]):
        return no("it might be shorter than the keys")
    inputs = [*node.inputs[:3], None, *node.inputs[4:]]
    while inputs[-1] is None:
        inputs.pop()
    edit = Edit(node)
    count = len(node.outputs)
    results = edit.add("Attention", inputs, attrs, outputs=count)
    for old, new in zip(node.outputs, results if count > 1 else (results,), strict=True):
        if old is not None:
            new.type = old.type
            edit.replace(old, new)
    return edit


def _allowed(mask: Value) -> np.ndarray | None:
    """Where a constant mask lets scores be; None if it is not constant or does something between."""
    if mask.const is not None:
        if mask.const.size > LARGEST or mask.const.size == 0 or not mask.const.shape:
            return None
        values = mask.const.numpy()
        if values.dtype == np.bool_:
            return values
        values = wide(values)
        allowed = values == 0
        return allowed if bool((allowed | (values <= EXCLUDED)).all()) else None
    where = made_by(mask, "Where")
    condition = where.const(0) if where is not None else None
    if where is None or condition is None or condition.size > LARGEST or condition.size == 0 or mask.shape != condition.shape:
        return None
    a, b = scalar(where.inputs[1]), scalar(where.inputs[2])
    if a == 0 and b is not None and b <= EXCLUDED:
        return condition
    return ~condition if b == 0 and a is not None and a <= EXCLUDED else None


def _length(value: Value | None) -> int | None:
    """The static sequence length of queries or keys of rank 3 or 4."""
    if value is None or value.shape is None or len(value.shape) not in (3, 4):
        return None
    length = value.shape[-2]
    return length if isinstance(length, int) else None


def _lengths_equal(node: Node, keys: int) -> bool:
    return keys == _length(node.inputs[0]) == _length(node.inputs[1]) and node.input(6) is None


def _covers(node: Node, last: int) -> bool:
    """Whether the mask is as long as all keys, those of the past included: a shorter one would exclude the rest."""
    new, past = _length(node.inputs[1]), _length(node.input(4))
    if new is None or (node.input(4) is not None and past is None):
        return False
    return last == new + (past or 0)
