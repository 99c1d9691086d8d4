"""Attention from softmax(scale q kᵀ + mask) v."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.types import TensorType
from sardonyx.passes.algebra import scaled
from sardonyx.passes.extended.attention_scores import Mask, Scores, fits_scores, probabilities, read_scores
from sardonyx.passes.match import axis_of, made_by, only_use
from sardonyx.passes.rules import Edit, Outcome, constant, no, rule

__all__ = ["fuse_attention"]

DTYPES = ("float16", "bfloat16", "float32", "float64")
SWAP = {3: [0, 2, 1], 4: [0, 1, 3, 2]}


@rule("MatMul")
def fuse_attention(node: Node, graph: Graph) -> Outcome:
    """Products of rank 3 or 4 around a Softmax: Attention, with grouped heads and a cache that is appended to.

    A row that the mask excludes altogether is 0 afterwards; written out without a guard against NaN, a mask of -inf makes it
    NaN.
    """
    found = probabilities(node.inputs[0])
    if found is None:
        return None
    softmax, precision = found.softmax, found.precision
    scores = read_scores(softmax.inputs[0] if precision is None else softmax.inputs[0].producer.inputs[0])  # type: ignore[union-attr]
    v, out = node.inputs[1], node.outputs[0]
    if scores is None or v is None or out is None or v.rank not in (3, 4) or scores.q.rank != v.rank:
        return no("the scores are no product of two tensors of v's rank")
    if found.guard is not None and [m.value for m in scores.masks] != [found.guard]:
        return no("rows become 0 by another mask")
    if scores.scale <= 0 or v.dtype is None or v.dtype.name not in DTYPES or scores.q.dtype != v.dtype:
        return no("its scale is not positive, or its dtype is not one of Attention's")
    casts = [softmax.inputs[0].producer] if precision is not None and softmax.inputs[0] is not None else []
    edit = Edit(node, *found.nodes, *(n for n in casts if n is not None), *scores.nodes)
    k = _key(edit, scores)
    if k is None or k.dtype != v.dtype:
        return no("the transposed keys are not known")
    if not _compatible(scores.q, k, v):
        return no("batches or heads are not surely equal")
    mask = _mask(edit, scores)
    if isinstance(mask, str):
        return no(mask)
    attrs = {"scale": scores.scale, "softcap": scores.softcap or None, "softmax_precision": precision}
    if v.rank == 3:
        return _lifted(edit, out, scores.q, k, v, mask, attrs)
    return _with_cache(edit, out, scores.q, k, v, mask, attrs)


def _key(edit: Edit, scores: Scores) -> Value | None:
    """The keys before they were transposed; a scale that was put on them goes into the scores'."""
    factored = scaled(scores.kt)
    if factored is None:
        return None
    kt, scale, nodes = factored
    rank = kt.rank
    if rank not in SWAP:
        return None
    turn = made_by(kt, "Transpose")
    if turn is None:
        edit.matched += tuple(nodes)
        scores.scale *= scale
        return _transposed(edit, kt, SWAP[rank])
    perm = turn.attrs["perm"]
    edit.matched += (*nodes, turn)
    perm = [perm[i] for i in SWAP[rank]]
    if perm != list(range(rank)):
        scores.scale *= scale
        return _transposed(edit, turn.inputs[0], perm)
    again = scaled(turn.inputs[0]) if only_use(kt) else None
    if again is not None:
        edit.matched += tuple(again[2])
        scores.scale *= scale * again[1]
        return again[0] if scores.scale > 0 else None
    scores.scale *= scale
    return turn.inputs[0]


def _transposed(edit: Edit, value: Value | None, perm: list[int]) -> Value | None:
    if value is None or value.shape is None or value.dtype is None or len(value.shape) != len(perm):
        return None
    return edit.add("Transpose", [value], {"perm": perm}, type=TensorType(value.dtype, tuple([value.shape[p] for p in perm])))


def _compatible(q: Value, k: Value, v: Value) -> bool:
    """Whether q, k and v surely agree in batch and heads."""
    if q.shape is None or k.shape is None or v.shape is None or None in q.shape[:-2]:
        return False
    return q.shape[:-2] == k.shape[:-2] == v.shape[:-2]


def _mask(edit: Edit, scores: Scores) -> Value | str | None:
    """The one mask to give to Attention (None without any), or why there is none that means the same."""
    total: Value | None = None
    for mask in reversed(scores.masks):
        value = mask.value
        if not fits_scores(value.shape, scores.product.shape):
            return "a mask widens the scores, or has a last axis of 1"
        if mask.fill is not None:
            if not _excludes(mask, scores.q.dtype):
                return "the masked scores might still count"
            terms = [constant(np.asarray(c, scores.q.dtype), "bias") for c in (0.0, mask.fill)]
            value = edit.add("Where", [value, *(terms[::-1] if mask.where else terms)])
        elif value.dtype != scores.q.dtype:
            return "the mask has another dtype"
        total = value if total is None else edit.add("Add", [total, value])
    return total


def _excludes(mask: Mask, dtype: np.dtype | None) -> bool:
    """Whether adding `fill` to a score is as good as putting it in the score's place."""
    assert mask.fill is not None
    if dtype is None or mask.fill > -1e4:
        return False
    if mask.fill <= (-6e4 if dtype.name == "float16" else -1e9):
        return True
    condition = mask.value.const
    # Where each row keeps some score, the others vanish beside it.
    return condition is not None and bool((condition.numpy() != mask.where).any(axis=-1).all())


def _lifted(edit: Edit, out: Value, q: Value, k: Value, v: Value, mask: Value | None, attrs: dict[str, Any]) -> Outcome:
    """Rank 3: one batch whose heads are the first axis."""
    axis = constant(np.zeros(1, np.int64), "axes")
    inputs = [edit.add("Unsqueeze", [t, axis]) for t in (q, k, v)]
    y = edit.add("Attention", [*inputs, mask] if mask is not None else inputs, attrs)
    return edit.replace(out, edit.add("Squeeze", [y, axis], like=out))


def _with_cache(edit: Edit, out: Value, q: Value, k: Value, v: Value, mask: Value | None, attrs: dict[str, Any]) -> Outcome:
    """Rank 4: keys and values before their heads were repeated, and before they were appended to a cache."""
    narrow = [_ungrouped(t, q) for t in (k, v)]
    if narrow[0] is not None and narrow[1] is not None and narrow[0][0].shape[1] == narrow[1][0].shape[1]:  # type: ignore[index]
        (k, first), (v, second) = narrow[0], narrow[1]
        edit.matched += (*first, *second)
    appended = [_appended(t, edit) for t in (k, v)]
    if appended[0] is None or appended[1] is None or k is v:
        return edit.replace(out, edit.add("Attention", [q, k, v, mask] if mask is not None else [q, k, v], attrs, like=out))
    (past_key, key, first_concat), (past_value, value, second_concat) = appended[0], appended[1]
    edit.matched += (first_concat, second_concat)
    inputs = [q, key, value, mask, past_key, past_value]
    y, present_key, present_value = edit.add("Attention", inputs, attrs, outputs=3)
    for old, new in ((out, y), (k, present_key), (v, present_value)):
        new.type = old.type
        edit.replace(old, new)
    return edit


def _ungrouped(value: Value, q: Value) -> tuple[Value, list[Node]] | None:
    """(t, nodes) where value repeats each head of t [batch, heads, sequence, head] for a group of heads of q."""
    flat = made_by(value, "Reshape")
    wide = made_by(flat.inputs[0], "Expand", "Tile") if flat is not None else None
    column = made_by(wide.inputs[0], "Unsqueeze", "Reshape") if wide is not None else None
    t = column.inputs[0] if column is not None else None
    if flat is None or wide is None or column is None or t is None or t.shape is None or len(t.shape) != 4 or None in t.shape:
        return None
    batch, heads, *rest = t.shape
    middle, out = wide.outputs[0], value.shape
    if (
        middle is None
        or middle.shape is None
        or len(middle.shape) != 5
        or not isinstance(heads, int)
        or not isinstance(middle.shape[2], int)
    ):
        return None
    group = middle.shape[2]
    if wide.inputs[0].shape != (batch, heads, 1, *rest) or middle.shape != (batch, heads, group, *rest):  # type: ignore[union-attr]
        return None
    return (t, [flat, wide, column]) if out == (batch, heads * group, *rest) else None


def _appended(value: Value, edit: Edit) -> tuple[Value, Value, Node] | None:
    """(past, new, Concat) where value appends new to a past along the sequence, and nothing else needs it but graph outputs."""
    concat = made_by(value, "Concat")
    if concat is None or len(concat.inputs) != 2 or axis_of(concat, "axis", 0, 4) != 2 or concat.graph is not edit.matched[0].graph:
        return None
    past, new = concat.inputs
    if past is None or new is None or any(user not in edit.matched for user, _ in value.uses):
        return None
    return past, new, concat
