"""Attention of ai.onnx."""

from __future__ import annotations

import math
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.older import older
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
from sardonyx_ep_cpu.precision import named_float, widen

ops = KernelSet()

_Outputs = tuple[Any, Any, Any, Any]


@ops.add("Attention", since=25)
def attention(
    xp: Any,
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    nonpad_kv_seqlen: Any = None,
    *,
    is_causal: int = 0,
    kv_num_heads: int | None = None,
    left_window_size: int = -1,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int = 0,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
    n_outputs: int = 4,
) -> _Outputs:
    """Scaled dot-product attention; returns (Y, present_key, present_value, qk_matmul_output or None).

    q (batch, heads, queries, size), k and v (batch, kv heads, keys, ...), or each (batch, sequence, hidden) with
    `q_num_heads` and `kv_num_heads`. attn_mask broadcasts to (batch, heads, queries, past + keys), boolean (True: attend) or
    added to the scores; a shorter last dimension is padded with "do not attend". A row without any key gives zeros.
    Half-precision inputs are computed in float32. Raises NodeError for shapes that do not fit and contradictory caches.
    """
    if (past_key is None) != (past_value is None):
        raise NodeError("past_key and past_value must be given together")
    if past_key is not None and nonpad_kv_seqlen is not None:
        raise NodeError("nonpad_kv_seqlen is for a cache outside the operator: it excludes past_key and past_value")
    if left_window_size < -1 or right_window_size < -1:
        raise NodeError(f"a window size is -1 or not negative, but they are {left_window_size} and {right_window_size}")
    if not 0 <= qk_matmul_output_mode <= 3:
        raise NodeError(f"qk_matmul_output_mode is 0, 1, 2 or 3, not {qk_matmul_output_mode}")
    dtype, packed = q.dtype, q.ndim == 3
    if packed:
        if not q_num_heads or not kv_num_heads:
            raise NodeError(f"inputs of rank 3 (q has shape {q.shape}) need q_num_heads and kv_num_heads")
        q, k, v = split_heads(q, q_num_heads), split_heads(k, kv_num_heads), split_heads(v, kv_num_heads)
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        k, v = xp.concatenate((past_key, k), axis=2), xp.concatenate((past_value, v), axis=2)
    if scale is None:
        scale = 1.0 / math.sqrt(q.shape[3])
    wide_q, wide_k = widen(q), widen(k)
    wide_v = widen(v).astype(wide_q.dtype, copy=False)
    queries, keys = q.shape[2], k.shape[2]
    mask = attn_mask
    if mask is not None:
        mask = _padded(xp, mask if mask.dtype == bool else mask.astype(wide_q.dtype, copy=False), keys)
    softmax_dtype = None
    if softmax_precision and (named := named_float("softmax_precision", softmax_precision)).itemsize > wide_q.dtype.itemsize:
        softmax_dtype = named
    window: dict[str, Any] = {"causal": bool(is_causal), "left": left_window_size, "right": right_window_size}
    common: dict[str, Any] = {"scale": scale, "softcap": softcap, "softmax_dtype": softmax_dtype}

    qk = None
    if n_outputs > 3:
        offset: Any = past
        inside = None
        if nonpad_kv_seqlen is not None:
            lengths = _lengths(nonpad_kv_seqlen, q.shape[0], keys).reshape(-1, 1, 1, 1)
            offset, inside = lengths - queries, xp.arange(keys) < lengths
        bias = _bias(xp, wide_q.dtype, mask, visible(xp, queries, keys, offset, **window), inside)
        y, qk = _attend_and_show(xp, wide_q, wide_k, wide_v, bias, qk_matmul_output_mode, dtype, **common)
    elif nonpad_kv_seqlen is not None:
        y = packed_output(xp, wide_q, v.shape[3])
        for n, length in enumerate(_lengths(nonpad_kv_seqlen, q.shape[0], keys).tolist()):
            one = slice(n, n + 1)
            own_mask = None if mask is None else _rank4(mask)[one if mask.ndim == 4 and mask.shape[0] > 1 else slice(None), ..., :length]
            bias = _bias(xp, wide_q.dtype, own_mask, visible(xp, queries, length, length - queries, **window))
            y[one] = attend(xp, wide_q[one], wide_k[one, :, :length], wide_v[one, :, :length], bias=bias, **common)
    else:
        bias = _bias(xp, wide_q.dtype, mask, visible(xp, queries, keys, past, **window))
        y = attend(xp, wide_q, wide_k, wide_v, bias=bias, **common)
    y = y.astype(dtype, copy=False)
    return merge_heads(y) if packed else y, k, v, qk


def _padded(xp: Any, mask: Any, keys: int) -> Any:
    """The mask with its last dimension padded to `keys` with "do not attend"."""
    missing = keys - mask.shape[-1] if mask.ndim else 0
    if missing <= 0:
        return mask
    nothing = False if mask.dtype == bool else -xp.inf
    return xp.concatenate((mask, xp.full((*mask.shape[:-1], missing), nothing, mask.dtype)), axis=-1)


def _lengths(nonpad: Any, batch: int, keys: int) -> Any:
    lengths = nonpad.reshape(-1)
    if len(lengths) != batch or (lengths < 0).any() or (lengths > keys).any():
        raise NodeError(f"nonpad_kv_seqlen must hold {batch} numbers in [0, {keys}], but is {nonpad.tolist()}")
    return lengths


def _rank4(mask: Any) -> Any:
    return mask if mask.ndim == 4 else mask.reshape((1,) * (4 - mask.ndim) + mask.shape)


def _bias(xp: Any, dtype: Any, mask: Any, *allowed: Any) -> Any:
    """The mask as numbers of rank 4 to add to scores, -inf where one of `allowed` (booleans or None) is False; or None."""
    together = None
    for part in (*allowed, mask if mask is not None and mask.dtype == bool else None):
        if part is not None:
            together = part if together is None else together & part
    if mask is None or mask.dtype == bool:
        return None if together is None else _rank4(xp.where(together, dtype.type(0), dtype.type(-xp.inf)))
    return _rank4(mask if together is None else xp.where(together, mask, dtype.type(-xp.inf)))


def _attend_and_show(
    xp: Any, q: Any, k: Any, v: Any, bias: Any, mode: int, dtype: Any, *, scale: float, softcap: float, softmax_dtype: Any
) -> tuple[Any, Any]:
    """attend() that also returns the scores of stage `mode`: 0 raw, 1 softcapped, 2 with bias, 3 after the softmax."""
    s = scores(xp, q, k, scale, 0.0 if mode == 0 else softcap)
    shown = None
    if mode == 0:
        shown = s.astype(dtype)
        if softcap > 0.0:
            s = softcap * xp.tanh(s / softcap)
    elif mode == 1:
        shown = s.astype(dtype)
    if bias is not None:
        s += bias
    if mode == 2:
        shown = s.astype(dtype)
    p = probabilities(xp, s if softmax_dtype is None else s.astype(softmax_dtype))
    if mode == 3:
        shown = p.astype(dtype)
    y = packed_output(xp, q, v.shape[3])
    weighted_values(xp, p.astype(q.dtype, copy=False), v, y)
    return y, shown


attention_24 = ops.add("Attention", since=24)(older(attention, without=("left_window_size", "right_window_size")))


@ops.add("Attention", since=23)
def attention_23(
    xp: Any,
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    *,
    is_causal: int = 0,
    kv_num_heads: int | None = None,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
    n_outputs: int = 4,
) -> _Outputs:
    """Attention without an external cache; its mask's last dimension may be 1, to be broadcast."""
    if attn_mask is not None and attn_mask.ndim and attn_mask.shape[-1] == 1:
        keys = k.shape[-2] + (0 if past_key is None else past_key.shape[2])
        attn_mask = xp.broadcast_to(attn_mask, (*attn_mask.shape[:-1], keys))
    return attention_24(
        xp,
        q,
        k,
        v,
        attn_mask,
        past_key,
        past_value,
        is_causal=is_causal,
        kv_num_heads=kv_num_heads,
        q_num_heads=q_num_heads,
        qk_matmul_output_mode=qk_matmul_output_mode,
        scale=scale,
        softcap=softcap,
        softmax_precision=softmax_precision,
        n_outputs=n_outputs,
    )
