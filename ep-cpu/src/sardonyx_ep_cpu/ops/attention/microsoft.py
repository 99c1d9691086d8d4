"""Attention, MultiHeadAttention and DecoderMaskedMultiHeadAttention of com.microsoft."""

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
from sardonyx_ep_cpu.ops.matrix.product import product
from sardonyx_ep_cpu.precision import widen

ops = KernelSet("com.microsoft")

_FILTER = -10000.0
_LOWEST = -3.4028234663852886e38


def _mask_bias(xp: Any, mask: Any, shape: tuple[int, int, int, int], past: int, value: float) -> Any:
    """A mask of one of com.microsoft's forms as numbers to add to scores of `shape` (batch, heads, queries, keys).

    Forms: (batch,) lengths of right-padded keys; (2 * batch,) ends, then starts; (batch, keys), (batch, queries, keys) or
    (batch, 1, longest, longest) of 1 (attend) and 0. A forbidden key gets `value`.
    """
    batch, _, queries, keys = shape
    if mask.ndim == 1:
        place = xp.arange(keys)
        if mask.shape[0] == batch:
            allowed = place < mask[:, None]
        elif mask.shape[0] == 2 * batch:
            allowed = (place < mask[:batch, None]) & (place >= mask[batch:, None])
        elif mask.shape[0] == 3 * batch + 2:
            allowed = place < mask[:batch, None]
        else:
            raise NodeError(f"a mask of shape {mask.shape} fits no form for batch {batch}")
        allowed = allowed[:, None, None]
    elif mask.ndim == 2 and mask.shape == (batch, keys):
        allowed = (mask > 0)[:, None, None]
    elif mask.ndim == 3 and mask.shape == (batch, queries, keys):
        allowed = (mask > 0)[:, None]
    elif mask.ndim == 4 and mask.shape[:2] == (batch, 1) and mask.shape[2] >= past + queries and mask.shape[3] >= keys:
        allowed = mask[:, :, past : past + queries, :keys] > 0
    else:
        raise NodeError(f"a mask of shape {mask.shape} does not fit {batch} x {queries} queries and {keys} keys")
    return xp.where(allowed, xp.float32(0), xp.float32(value))


def _total_bias(
    xp: Any, shape: tuple[int, int, int, int], past: int, mask: Any, value: float | None, causal: int, attention_bias: Any
) -> Any:
    """The sum of mask, causal mask and attention bias in rank 4, or None."""
    bias = None if mask is None else _mask_bias(xp, mask, shape, past, _FILTER if value is None else value)
    if causal:
        seen = visible(xp, shape[2], shape[3], past, causal=True)
        if seen is not None:
            bias = xp.where(seen, xp.float32(0) if bias is None else bias, xp.float32(_LOWEST))
            bias = bias.reshape((1,) * (4 - bias.ndim) + bias.shape)
    if attention_bias is not None:
        bias = widen(attention_bias) if bias is None else bias + widen(attention_bias)
    return bias


def _shared_buffer(node: Any) -> str | None:
    return "a shared key-value buffer or beam search" if any(v is not None for v in node.inputs[8:10]) else None


@ops.add("MultiHeadAttention", refuse=_shared_buffer)
def multi_head_attention(
    xp: Any,
    query: Any,
    key: Any = None,
    value: Any = None,
    bias: Any = None,
    key_padding_mask: Any = None,
    attention_bias: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    past_sequence_length: Any = None,
    cache_indirection: Any = None,
    *,
    mask_filter_value: float | None = None,
    num_heads: int,
    scale: float | None = None,
    unidirectional: int = 0,
    n_outputs: int = 4,
) -> tuple[Any, Any, Any, Any]:
    """Attention over already projected inputs; returns (output, present key, present value, probabilities or None).

    query (batch, sequence, hidden) with key and value alike, or key and value as (batch, heads, keys, size); or query packed
    with key and value (batch, sequence, heads, 3, size); or key packed with value (batch, keys, heads, 2, size). `bias` is
    the projections' (hidden + hidden + value hidden,). Past keys and values are put before the new ones.
    """
    if cache_indirection is not None or past_sequence_length is not None:
        raise NodeError("MultiHeadAttention with a shared key-value buffer or beam search is not implemented")
    q, k, v = _unpacked(query, key, value, num_heads)
    if bias is not None:
        q, k, v = _with_bias(widen(q), widen(k), widen(v), widen(bias), key is not None and key.ndim == 4)
    return _finish(
        xp,
        query.dtype,
        (widen(q), widen(k), widen(v)),
        (past_key, past_value),
        key_padding_mask,
        attention_bias,
        scale,
        mask_filter_value,
        unidirectional,
        n_outputs > 3,
    )


def _unpacked(query: Any, key: Any, value: Any, heads: int) -> tuple[Any, Any, Any]:
    """Queries, keys and values as (batch, heads, sequence, size) views."""
    if query.ndim == 5:
        return tuple(query[:, :, :, i].swapaxes(1, 2) for i in range(3))  # type: ignore[return-value]
    q = split_heads(query, heads)
    if key is None:
        raise NodeError(f"query has shape {query.shape}, so key is needed; a packed query has rank 5")
    if key.ndim == 5:
        return q, key[:, :, :, 0].swapaxes(1, 2), key[:, :, :, 1].swapaxes(1, 2)
    if value is None:
        raise NodeError(f"key has shape {key.shape}, so value is needed; a packed key has rank 5")
    return q, key if key.ndim == 4 else split_heads(key, heads), value if value.ndim == 4 else split_heads(value, heads)


def _with_bias(q: Any, k: Any, v: Any, bias: Any, cached: bool) -> tuple[Any, Any, Any]:
    """The projections' bias added: q, k and v are (batch, heads, sequence, size); cached keys and values have theirs."""
    parts = []
    start = 0
    for x in (q, k, v):
        heads, size = x.shape[1], x.shape[3]
        parts.append(bias[start : start + heads * size].reshape(1, heads, 1, size))
        start += heads * size
    if start != bias.shape[0]:
        raise NodeError(f"the bias has shape {bias.shape}, but the projections have {start} columns")
    return (q + parts[0], k, v) if cached else (q + parts[0], k + parts[1], v + parts[2])


def _finish(
    xp: Any,
    dtype: Any,
    qkv: tuple[Any, Any, Any],
    past: tuple[Any, Any],
    mask: Any,
    attention_bias: Any,
    scale: float | None,
    filter_value: float | None,
    causal: int,
    show: bool,
) -> tuple[Any, Any, Any, Any]:
    """Attention of wide (batch, heads, sequence, size) arrays: (output, present key, present value, probabilities or None)."""
    q, k, v = qkv
    before = 0
    if past[0] is not None:
        before = past[0].shape[2]
        k, v = xp.concatenate((widen(past[0]), k), axis=2), xp.concatenate((widen(past[1]), v), axis=2)
    shape = (*q.shape[:3], k.shape[2])
    bias = _total_bias(xp, shape, before, mask, filter_value, causal, attention_bias)
    factor = scale or 1.0 / math.sqrt(q.shape[3])
    p = None
    if show:
        s = scores(xp, q, k, factor)
        if bias is not None:
            s += bias
        p = probabilities(xp, s)
        y = packed_output(xp, q, v.shape[3])
        weighted_values(xp, p, v, y)
        p = p.astype(dtype, copy=False)
    else:
        y = attend(xp, q, k, v, scale=factor, bias=bias)
    return merge_heads(y).astype(dtype, copy=False), k.astype(dtype, copy=False), v.astype(dtype, copy=False), p


@ops.add("Attention", refuse=lambda node: "rotary embedding inside Attention" if node.attrs.get("do_rotary") else None)
def attention_microsoft(
    xp: Any,
    x: Any,
    weights: Any,
    bias: Any = None,
    mask_index: Any = None,
    past: Any = None,
    attention_bias: Any = None,
    past_sequence_length: Any = None,
    *,
    do_rotary: int | None = None,
    mask_filter_value: float | None = None,
    num_heads: int,
    past_present_share_buffer: int | None = None,
    qkv_hidden_sizes: list[int] | None = None,
    rotary_embedding_dim: int | None = None,
    scale: float | None = None,
    unidirectional: int = 0,
) -> tuple[Any, Any]:
    """Projection of x (batch, sequence, size) by merged weights (size, q + k + v hidden), then attention.

    Returns (output, present): present (2, batch, heads, past + sequence, size) holds keys and values.
    """
    if do_rotary or past_present_share_buffer:
        raise NodeError("Attention with do_rotary or past_present_share_buffer is not implemented")
    sizes = qkv_hidden_sizes or [weights.shape[1] // 3] * 3
    if len(sizes) != 3 or sum(sizes) != weights.shape[1]:
        raise NodeError(f"weights of shape {weights.shape} do not hold projections of sizes {sizes}")
    projected = product(xp, widen(x), widen(weights))
    if bias is not None:
        projected += widen(bias)
    ends = (sizes[0], sizes[0] + sizes[1])
    parts = (projected[..., : ends[0]], projected[..., ends[0] : ends[1]], projected[..., ends[1] :])
    qkv = tuple(split_heads(part, num_heads) for part in parts)
    pair = (None, None) if past is None else (past[0], past[1])
    y, k, v, _ = _finish(
        xp,
        x.dtype,
        qkv,
        pair,
        mask_index,
        attention_bias,
        scale,
        mask_filter_value,
        unidirectional,
        False,  # type: ignore[arg-type]
    )
    return y, xp.stack((k, v)) if k.shape == v.shape else None


def _beam_search(node: Any) -> str | None:
    return "beam search" if len(node.inputs) > 9 and node.inputs[9] is not None else None


@ops.add("DecoderMaskedMultiHeadAttention", refuse=_beam_search)
def decoder_masked_multi_head_attention(
    xp: Any,
    query: Any,
    key: Any = None,
    value: Any = None,
    mask_index: Any = None,
    attention_bias: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    past_sequence_length: Any = None,
    beam_width: Any = None,
    cache_indirection: Any = None,
    bias: Any = None,
    *,
    mask_filter_value: float | None = None,
    num_heads: int,
    output_qk: int | None = None,
    past_present_share_buffer: int | None = None,
    scale: float | None = None,
) -> tuple[Any, Any, Any, Any]:
    """MultiHeadAttention of one new token, without beam search.

    With a shared buffer, past and present keys are (batch, heads, longest, size) and past_sequence_length says how many
    of the past ones are in use.
    """
    if cache_indirection is not None:
        raise NodeError("DecoderMaskedMultiHeadAttention with beam search is not implemented")
    if key is None:
        third = query.shape[2] // 3
        query, key, value = query[..., :third], query[..., third : 2 * third], query[..., 2 * third :]
    buffers = None
    if past_present_share_buffer and past_key is not None:
        used = int(past_sequence_length.reshape(()))
        if not 0 <= used < past_key.shape[2]:
            raise NodeError(f"past_sequence_length {used} leaves no room in a buffer of {past_key.shape[2]}")
        buffers = (past_key.copy(), past_value.copy())
        past_key, past_value = past_key[:, :, :used], past_value[:, :, :used]
    y, k, v, p = multi_head_attention(
        xp,
        query,
        key,
        value,
        bias,
        mask_index,
        attention_bias,
        past_key,
        past_value,
        mask_filter_value=mask_filter_value,
        num_heads=num_heads,
        scale=scale,
        n_outputs=4 if output_qk else 3,
    )
    if buffers is None:
        return y, k, v, p
    for buffer, x in zip(buffers, (k, v), strict=True):
        buffer[:, :, : x.shape[2]] = x
    return y, *buffers, p
