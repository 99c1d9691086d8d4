"""RotaryEmbedding and MultiHeadAttention."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.passes.extended.attention_scores import fits_scores
from sardonyx.passes.match import attribute
from sardonyx.passes.rules import Edit, Outcome, constant, no, rule

__all__ = ["ATTENTION"]


@rule("RotaryEmbedding", domain="com.microsoft")
def standard_rotary(node: Node, graph: Graph) -> Outcome:
    """RotaryEmbedding with a position for every token."""
    x, positions, cos, sin = node.inputs
    out = node.outputs[0]
    if x is None or positions is None or cos is None or cos.shape is None or x.rank not in (3, 4) or out is None:
        return no("the ranks are not known")
    if positions.rank != 2 or attribute(node, "scale", 1.0) != 1 or attribute(node, "is_packed_batching", 0):
        return no("it has an offset for all tokens, a scale, or packed batches")
    heads, size = attribute(node, "num_heads", 0), attribute(node, "rotary_embedding_dim", 0)
    width, half = x.shape[-1] if x.shape is not None else None, cos.shape[-1]
    if x.rank == 3 and not heads:
        if not isinstance(width, int) or not isinstance(half, int) or size or width % (2 * half):
            return no("the number of heads is not known")
        heads = width // (2 * half)
    attrs = {"interleaved": attribute(node, "interleaved", 0), "rotary_embedding_dim": size, "num_heads": heads or None}
    edit = Edit(node)
    return edit.replace(out, edit.add("RotaryEmbedding", [x, cos, sin, positions], attrs, like=out))


@rule("MultiHeadAttention", domain="com.microsoft")
def standard_multi_head_attention(node: Node, graph: Graph) -> Outcome:
    """Attention of rank 3, with the bias added before."""
    out = node.outputs[0]
    q, k, v = (node.input(i) for i in range(3))
    bias, padding, mask = node.input(3), node.input(4), node.input(5)
    past = [node.input(6), node.input(7)]
    if out is None or q is None or k is None or v is None or any(t.rank != 3 for t in (q, k, v)):
        return no("query, key and value are not three tensors of rank 3")
    if padding is not None or any(t is not None for t in node.inputs[8:]):
        return no("it has a padding mask or a shared cache")
    presents = [t for t in node.outputs[1:3] if t is not None]
    if (past[0] is None) != (past[1] is None) or (presents and past[0] is None) or any(t is not None for t in node.outputs[3:]):
        return no("it gives keys and values without a past")
    if q.shape is None or k.shape is None or (mask is not None and not _fits(mask, q, k, past[0], node.attrs["num_heads"])):
        return no("the shapes are not known, or the mask does not fit")
    edit = Edit(node)
    if bias is not None:
        added = _biased(edit, (q, k, v), bias)
        if added is None:
            return no("the sizes of the bias are not known")
        q, k, v = added
    heads = node.attrs["num_heads"]
    attrs = {"q_num_heads": heads, "kv_num_heads": heads, "scale": node.attrs.get("scale") or None}
    if attribute(node, "unidirectional", 0):
        attrs["is_causal"] = 1
    inputs = [q, k, v, mask, *past]
    while inputs[-1] is None:
        inputs.pop()
    if past[0] is None:
        return edit.replace(out, edit.add("Attention", inputs, attrs, like=out))
    results = edit.add("Attention", inputs, attrs, outputs=3)
    for old, new in zip(node.outputs, results, strict=False):
        if old is not None:
            new.type = old.type
            edit.replace(old, new)
    return edit


def _fits(mask: Value, q: Value, k: Value, past: Value | None, heads: int) -> bool:
    """Whether the bias broadcasts into [batch, heads, queries, keys]."""
    assert q.shape is not None
    assert k.shape is not None
    keys = k.shape[1] if past is None else None
    return mask.dtype == q.dtype and fits_scores(mask.shape, (q.shape[0], heads, q.shape[1], keys))


def _biased(edit: Edit, tensors: tuple[Value, ...], bias: Value) -> list[Value] | None:
    """Query, key and value with their parts of the bias added."""
    result: list[Value] = []
    at = 0
    for t in tensors:
        size = t.shape[-1] if t.shape is not None else None
        if not isinstance(size, int):
            return None
        bounds = [constant(np.array([n], np.int64), "bound") for n in (at, at + size)]
        part = edit.add("Slice", [bias, *bounds])
        result.append(edit.add("Add", [t, part], like=t))
        at += size
    return result


ATTENTION = (standard_rotary, standard_multi_head_attention)
