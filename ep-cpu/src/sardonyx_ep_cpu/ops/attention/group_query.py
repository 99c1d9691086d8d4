"""GroupQueryAttention of com.microsoft, without quantized or windowed caches."""

from __future__ import annotations

import math
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.attention.core import (
    attend,
    merge_heads,
    packed_output,
    probabilities,
    scores,
    split_heads,
    visible,
    weighted_values,
)
from sardonyx_ep_cpu.ops.attention.rotary import cache_rows, rotate
from sardonyx_ep_cpu.ops.layernorm.standardize import rms_norm
from sardonyx_ep_cpu.precision import widen

ops = KernelSet("com.microsoft")


def _refuse(node: Any) -> str | None:
    attrs = node.attrs
    if attrs.get("k_quant_type", "NONE") != "NONE" or attrs.get("v_quant_type", "NONE") != "NONE":
        return "a quantized key-value cache"
    return "a windowed key-value cache" if attrs.get("sliding_window_cache") else None


@ops.add("GroupQueryAttention", refuse=_refuse)
def group_query_attention(
    xp: Any,
    query: Any,
    key: Any,
    value: Any,
    past_key: Any,
    past_value: Any,
    seqlens_k: Any,
    total_sequence_length: Any,
    cos_cache: Any = None,
    sin_cache: Any = None,
    position_ids: Any = None,
    attention_bias: Any = None,
    head_sink: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
    q_norm_weight: Any = None,
    k_norm_weight: Any = None,
    query_seqlens: Any = None,
    *,
    causal: int = 1,
    do_rotary: int | None = None,
    k_norm_epsilon: float | None = None,
    k_quant_type: str = "NONE",
    kv_cache_bit_width: int | None = None,
    kv_num_heads: int,
    local_window_size: int = -1,
    num_heads: int,
    q_norm_epsilon: float | None = None,
    qk_norm_epsilon: float = 9.999999974752427e-07,
    qk_output: int = 0,
    rotary_interleaved: int | None = None,
    scale: float | None = None,
    sliding_window_cache: int = 0,
    smooth_softmax: int = -1,
    softcap: float | None = None,
    v_quant_type: str = "NONE",
) -> tuple[Any, Any, Any, Any]:
    """Attention with fewer key-value heads, a cache and optional rotation; (output, present key, present value, qk or None).

    query (batch, sequence, hidden) with key and value alike, or packed with them if they are None; caches (batch, kv heads,
    length, size). Sequence b has seqlens_k[b] + 1 tokens after this step, of which the last ones (query_seqlens[b], by
    default up to `sequence`) are new. Rows of padding are zero in the output. Raises NodeError for lengths that do not fit.
    """
    if k_quant_type != "NONE" or v_quant_type != "NONE" or sliding_window_cache:
        raise NodeError("GroupQueryAttention with a quantized or windowed cache is not implemented")
    dtype = query.dtype
    q, k, v = _split(query, key, value, num_heads, kv_num_heads)
    q, k, v = widen(q), widen(k), widen(v)
    if q_norm_weight is not None:
        q = rms_norm(xp, q, widen(q_norm_weight), q_norm_epsilon or qk_norm_epsilon)[0]
        k = rms_norm(xp, k, widen(k_norm_weight), k_norm_epsilon or qk_norm_epsilon)[0]
    cached = 0 if past_key is None else past_key.shape[2]
    total = int(total_sequence_length.reshape(()))
    spans = _spans(seqlens_k, query_seqlens, q.shape[0], q.shape[2], cached, total)
    if do_rotary:
        cos, sin = _angles(xp, cos_cache, sin_cache, position_ids, spans, q.shape[2])
        q, k = (rotate(xp, x, cos, sin, rotary_interleaved or 0) for x in (q, k))
    present_k = _present(xp, past_key, k, spans, max(cached, total), dtype)
    present_v = _present(xp, past_value, v, spans, max(cached, total), dtype)

    sink = None
    if head_sink is not None:
        sink = widen(head_sink).reshape(1, num_heads, 1, 1)
    elif smooth_softmax == 1:
        sink = xp.zeros((1, 1, 1, 1), q.dtype)
    y = packed_output(xp, q, v.shape[3])
    y[...] = 0
    shown = xp.zeros((*q.shape[:3], total), dtype) if qk_output else None
    bias = None if attention_bias is None else widen(attention_bias)
    factor = scale or 1.0 / math.sqrt(q.shape[3])
    left = local_window_size - 1 if local_window_size > 0 else -1
    for b, (start, end) in enumerate(spans):
        one, rows = slice(b, b + 1), slice(0, end - start)
        seen = visible(xp, end - start, end, start, causal=bool(causal), left=left)
        own = None if bias is None else bias[one if bias.shape[0] > 1 else slice(None), :, rows, :end]
        if seen is not None:
            own = xp.where(seen, q.dtype.type(0) if own is None else own, q.dtype.type(-xp.inf))
            own = own.reshape((1,) * (4 - own.ndim) + own.shape)
        keys, values = widen(present_k[one, :, :end]), widen(present_v[one, :, :end])
        if shown is None:
            y[one, :, rows] = attend(xp, q[one, :, rows], keys, values, scale=factor, bias=own, softcap=softcap or 0.0, sink=sink)
            continue
        s = scores(xp, q[one, :, rows], keys, factor, softcap or 0.0)
        if own is not None:
            s += own
        if qk_output == 1:
            shown[one, :, rows, :end] = s
        p = probabilities(xp, s, sink)
        if qk_output == 2:
            shown[one, :, rows, :end] = p
        weighted_values(xp, p, values, y[one, :, rows])
    return merge_heads(y).astype(dtype, copy=False), present_k, present_v, shown


def _spans(seqlens_k: Any, query_seqlens: Any, batch: int, sequence: int, cached: int, total: int) -> list[tuple[int, int]]:
    """For every sequence the positions [start, end) that its new tokens take; checks that they fit."""
    ends = [n + 1 for n in seqlens_k.reshape(-1).tolist()]
    counts = [min(sequence, n) for n in ends] if query_seqlens is None else query_seqlens.reshape(-1).tolist()
    if len(ends) != batch or len(counts) != batch:
        raise NodeError(f"seqlens_k holds {len(ends)} lengths, query_seqlens {len(counts)}, for a batch of {batch}")
    spans = [(end - count, end) for end, count in zip(ends, counts, strict=True)]
    for start, end in spans:
        if not 0 <= start <= min(cached, end) or end > total or end - start > sequence:
            raise NodeError(
                f"positions [{start}, {end}) for {sequence} new tokens do not fit a cache of {cached} and total_sequence_length {total}"
            )
    return spans


def _angles(xp: Any, cos: Any, sin: Any, positions: Any, spans: list[tuple[int, int]], sequence: int) -> tuple[Any, Any]:
    """Rows of the caches for every token, (batch or 1, 1, sequence, half)."""
    if cos is None or sin is None:
        raise NodeError("do_rotary needs cos_cache and sin_cache")
    if positions is None:
        if max((end for _, end in spans), default=0) > cos.shape[0]:
            raise NodeError(f"positions up to {max(end for _, end in spans)}, but the cos cache holds {cos.shape[0]}")
        starts = xp.asarray([start for start, _ in spans])
        positions = xp.minimum(starts[:, None] + xp.arange(sequence), cos.shape[0] - 1)
    elif positions.shape[-1] != sequence:
        positions = positions.reshape(-1, 1) + xp.arange(sequence)
    return cache_rows(xp, cos, positions)[:, None], cache_rows(xp, sin, positions)[:, None]


def _split(query: Any, key: Any, value: Any, heads: int, kv_heads: int) -> tuple[Any, Any, Any]:
    """Queries, keys and values as (batch, heads, sequence, size) views."""
    if key is not None:
        return split_heads(query, heads), split_heads(key, kv_heads), split_heads(value, kv_heads)
    x = split_heads(query, heads + 2 * kv_heads)
    return x[:, :heads], x[:, heads : heads + kv_heads], x[:, heads + kv_heads :]


def _present(xp: Any, past: Any, x: Any, spans: list[tuple[int, int]], capacity: int, dtype: Any) -> Any:
    """The cache (batch, heads, capacity, size) after the new tokens of x (batch, heads, sequence, size) are put in."""
    batch, heads, _, size = x.shape
    cached = 0 if past is None else past.shape[2]
    present = xp.empty((batch, heads, capacity, size), dtype)
    present[:, :, cached:] = 0
    if past is not None:
        present[:, :, :cached] = past
    for b, (start, end) in enumerate(spans):
        present[b, :, start:end] = x[b, :, : end - start]
    return present
