"""Attention and rotary embeddings. Dims are named B (batch), S (queries), L (keys), N (heads), H (size of a head)."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx.ir.infer_contrib.table import Contrib, add, dims, divide, dtype, multiply, register, same, tensor
from sardonyx.ir.types import Dim, Shape, TensorType, ValueType

__all__ = ["types"]

types: Contrib = {}


@register(types, "RotaryEmbedding")
def rotary_embedding(node: Node) -> list[ValueType]:
    """The type of the data."""
    return [same(node)]


@register(types, "Attention")
def attention(node: Node) -> list[ValueType]:
    """[B, S, hidden of V], and keys and values so far as [2, B, N, L, H]."""
    sizes = node.attrs.get("qkv_hidden_sizes")
    return _self_attention(node, dtype(node, 0), sizes[2] if sizes else None, dims(node, 4))


@register(types, "QAttention")
def q_attention(node: Node) -> list[ValueType]:
    """As Attention, in the type of the bias."""
    return _self_attention(node, dtype(node, 2), None, dims(node, 8))


def _self_attention(node: Node, kind: object, hidden: Dim, past: Shape) -> list[ValueType]:
    x, weight = dims(node, 0), dims(node, 1)
    if x is None:
        return []
    if hidden is None and weight is not None:
        hidden = divide(weight[1], 3)
    heads = node.attrs["num_heads"]
    length = x[1] if past is None else past[3] if node.attrs.get("past_present_share_buffer", 0) else add(past[3], x[1])
    present = (2, x[0], heads, length, divide(hidden, heads))
    return [tensor(kind, (x[0], x[1], hidden)), tensor(kind, present)]  # type: ignore[arg-type]


@register(types, "MultiHeadAttention")
def multi_head_attention(node: Node) -> list[ValueType]:
    """[B, S, hidden of V], keys and values so far as [B, N, L, H], and scores [B, N, S, L]. Query, key and value may be packed."""
    query, key, value, past = dims(node, 0), dims(node, 1), dims(node, 2), dims(node, 6)
    kind, heads = dtype(node, 0), node.attrs["num_heads"]
    if query is None:
        return []
    batch, length = query[0], query[1]
    if len(query) == 5:
        head = value_head = query[4]
        keys = length
    else:
        head = value_head = divide(query[2], heads)
        keys = length
        if key is not None:
            keys = key[2] if len(key) == 4 else key[1]
        if value is not None:
            value_head = value[3] if len(value) == 4 else divide(value[2], heads)
    total = keys if past is None else add(past[2], keys)
    return [
        tensor(kind, (batch, length, multiply(value_head, heads))),
        tensor(kind, (batch, heads, total, head)),
        tensor(kind, (batch, heads, total, value_head)),
        tensor(kind, (batch, heads, length, total)),
    ]


@register(types, "GroupQueryAttention")
def group_query_attention(node: Node) -> list[ValueType]:
    """[B, S, hidden], and keys and values so far as [B, N of keys, L, H]. The query may hold all three, packed."""
    query, past = dims(node, 0), dims(node, 3)
    heads, kv_heads = node.attrs["num_heads"], node.attrs["kv_num_heads"]
    if query is None:
        return []
    packed = node.input(1) is None
    head = divide(query[2], heads + 2 * kv_heads if packed else heads)
    total = node.const(6)
    length: Dim = None
    if total is not None and total.size == 1:
        length = int(total.reshape(())[()])
        if past is not None:
            length = max(past[2], length) if isinstance(past[2], int) else None
    present: TensorType = tensor(dtype(node, 3) or dtype(node, 0), (query[0], kv_heads, length, past[3] if past is not None else head))
    return [tensor(dtype(node, 0), (query[0], query[1], multiply(head, heads))), present, present]
