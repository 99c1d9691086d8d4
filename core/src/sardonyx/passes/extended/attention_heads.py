"""Heads split off and joined again around Attention and RotaryEmbedding go into the operators' own rank-3 form."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.types import TensorType
from sardonyx.passes.match import attribute, ints, made_by, only_use
from sardonyx.passes.rules import Edit, Outcome, constant, no, rule

__all__ = ["HEADS"]

SWAPPED = [0, 2, 1, 3]


def heads(value: Value | None) -> tuple[Value, int, list[Node]] | None:
    """(x, heads, nodes) where value [b, h, s, d] splits the last axis of x [b, s, h * d] into heads."""
    turn = made_by(value, "Transpose")
    view = made_by(turn.inputs[0], "Reshape") if turn is not None else None
    x = view.inputs[0] if view is not None else None
    if turn is None or view is None or x is None or turn.attrs.get("perm") != SWAPPED or x.shape is None or len(x.shape) != 3:
        return None
    split = turn.inputs[0].shape if turn.inputs[0] is not None else None
    if split is None or len(split) != 4 or None in x.shape or split[:2] != x.shape[:2] or not isinstance(split[2], int):
        return None
    return x, split[2], [turn, view]


@rule("RotaryEmbedding")
def join_heads_of_rotary(node: Node, graph: Graph) -> Outcome:
    """RotaryEmbedding of split heads: split the heads after it."""
    found, out = heads(node.inputs[0]), node.outputs[0]
    if found is None or out is None or not only_use(node.inputs[0]):
        return None
    x, count, (turn, view) = found
    edit = Edit(node, turn, view)
    rotated = edit.add("RotaryEmbedding", [x, *node.inputs[1:]], {**node.attrs, "num_heads": count}, like=x)
    split = edit.add("Reshape", [rotated, view.inputs[1]], dict(view.attrs), like=turn.inputs[0])
    return edit.replace(out, edit.add("Transpose", [split], {"perm": SWAPPED}, like=out))


@rule("Reshape")
def join_heads_of_attention(node: Node, graph: Graph) -> Outcome:
    """Attention of split heads, whose result is joined again: Attention of rank 3."""
    turn, out = made_by(node.inputs[0], "Transpose"), node.outputs[0]
    attention = made_by(turn.inputs[0], "Attention") if turn is not None else None
    if turn is None or attention is None or out is None or turn.attrs.get("perm") != SWAPPED:
        return None
    y = turn.inputs[0]
    if not only_use(node.inputs[0]) or not only_use(y) or y is None or y.shape is None or "q_num_heads" in attention.attrs:
        return no("its result is used otherwise too")
    found = [heads(v) for v in attention.inputs[:3]]
    if any(f is None for f in found):
        return no("its inputs are not all split from rank 3")
    (q, query_heads, a), (k, key_heads, b), (v, value_heads, c) = (f for f in found if f is not None)
    width = y.shape[-1]
    if not isinstance(width, int) or key_heads != value_heads or out.shape is None or len(out.shape) != 3:
        return no("its head size is not known")
    if q.shape is None or out.shape != (*q.shape[:2], query_heads * width):
        return no("its result is not joined as it was split")
    edit = Edit(node, turn, attention, *a, *b, *c)
    attrs = {**attention.attrs, "q_num_heads": query_heads, "kv_num_heads": key_heads}
    count = len(attention.outputs)
    results = edit.add("Attention", [q, k, v, *attention.inputs[3:]], attrs, outputs=count)
    for old, new in zip((out, *attention.outputs[1:]), results if count > 1 else (results,), strict=True):
        if old is not None:
            new.type = old.type
            edit.replace(old, new)
    return edit


@rule("Attention")
def unpack_heads(node: Node, graph: Graph) -> Outcome:
    """q, k and v as the three planes of one packed tensor [b, s, 3 * h * d]: split it, and split the heads of each part."""
    planes = [packed(v) for v in node.inputs[:3]]
    if any(p is None for p in planes):
        return None
    found = [p for p in planes if p is not None]
    x, count, width, _, _ = found[0]
    if any(p[0] is not x for p in found) or [p[3] for p in found] != [0, 1, 2] or x.shape is None or x.dtype is None:
        return no("they are not the three planes of one tensor")
    edit = Edit(node, *(n for p in found for n in p[4]))
    lead = x.shape[:2]
    parts = edit.add("Split", [x], {"axis": 2, "num_outputs": 3}, type=TensorType(x.dtype, (*lead, count * width)), outputs=3)
    target = constant(np.array([0, 0, count, width], np.int64), "heads")
    inputs = []
    for part in parts:
        view = edit.add("Reshape", [part, target], type=TensorType(x.dtype, (*lead, count, width)))
        split = TensorType(x.dtype, (lead[0], count, lead[1], width))
        inputs.append(edit.add("Transpose", [view], {"perm": SWAPPED}, type=split))
    size = len(node.outputs)
    results = edit.add("Attention", [*inputs, *node.inputs[3:]], dict(node.attrs), outputs=size)
    for old, new in zip(node.outputs, results if size > 1 else (results,), strict=True):
        if old is not None:
            new.type = old.type
            edit.replace(old, new)
    return edit


def packed(value: Value | None) -> tuple[Value, int, int, int, list[Node]] | None:
    """(x, heads, head size, plane, nodes) where value [b, h, s, d] is one of three planes of x [b, s, 3 * h * d]."""
    node = made_by(value, "Squeeze", "Gather")
    nodes: list[Node] = [] if node is None else [node]
    planes, index = None, None
    if node is not None and node.op == "Gather":
        at = ints(node.inputs[1])
        if attribute(node, "axis", 0) == 0 and at is not None and len(at) == 1:
            planes, index = node.inputs[0], at[0] % 3
    elif node is not None and ints(node.input(1)) == [0]:
        piece = made_by(node.inputs[0], "Slice", "Split")
        if piece is not None:
            planes, index = piece.inputs[0], _plane(piece, node.inputs[0])
            nodes.append(piece)
    turn = made_by(planes, "Transpose")
    view = made_by(turn.inputs[0], "Reshape") if turn is not None else None
    x = view.inputs[0] if view is not None else None
    if turn is None or view is None or x is None or index is None or turn.attrs.get("perm") != [2, 0, 3, 1, 4]:
        return None
    split = turn.inputs[0].shape if turn.inputs[0] is not None else None
    if split is None or x.shape is None or len(x.shape) != 3 or len(split) != 5 or split[2] != 3 or x.shape[0] != split[0]:
        return None
    if not isinstance(split[3], int) or not isinstance(split[4], int) or x.shape[2] != 3 * split[3] * split[4] or x.shape[0] is None:
        return None
    return x, split[3], split[4], index, [*nodes, turn, view]


def _plane(piece: Node, value: Value | None) -> int | None:
    """Which of three planes along axis 0 a Slice or Split takes."""
    if piece.op == "Split":
        return piece.outputs.index(value) if attribute(piece, "axis", 0) == 0 and len(piece.outputs) == 3 else None
    starts, ends, axes, steps = (ints(piece.input(i)) for i in range(1, 5))
    if starts is None or ends is None or axes != [0] or steps not in (None, [1]) or (steps is None and piece.input(4) is not None):
        return None
    chosen = range(3)[starts[0] : ends[0]]
    return chosen[0] if len(chosen) == 1 else None


HEADS = (unpack_heads, join_heads_of_rotary, join_heads_of_attention)
