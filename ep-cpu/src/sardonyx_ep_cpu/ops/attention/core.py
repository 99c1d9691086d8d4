"""Scaled dot-product attention on (batch, heads, sequence, size) views, shared by every attention operator."""

from __future__ import annotations

from typing import Any

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.rows import row_sums

__all__ = ["attend", "merge_heads", "packed_output", "probabilities", "scores", "split_heads", "visible", "weighted_values"]

# Scores held at once; a block that stays in the second-level cache is faster, and long sequences stay within memory.
_BLOCK = 1 << 18


def split_heads(x: Any, heads: int) -> Any:
    """(batch, sequence, heads * size) as a (batch, heads, sequence, size) view."""
    batch, sequence, hidden = x.shape
    if heads <= 0 or hidden % heads:
        raise NodeError(f"an input of shape {x.shape} cannot be split into {heads} heads")
    return x.reshape(batch, sequence, heads, hidden // heads).swapaxes(1, 2)


def merge_heads(x: Any) -> Any:
    """(batch, heads, sequence, size) as (batch, sequence, heads * size)."""
    batch, heads, sequence, size = x.shape
    return x.swapaxes(1, 2).reshape(batch, sequence, heads * size)


def visible(xp: Any, queries: int, keys: int, offset: Any, *, causal: bool = False, left: int = -1, right: int = -1) -> Any:
    """Which key each query may see, as booleans (queries, keys), or None if all may see all.

    Query i stands at position p = i + offset and sees the keys j with p - left <= j <= p + right; -1 leaves a side open,
    `causal` closes the right side at p. An offset of shape (batch, 1, 1, 1) gives a result (batch, 1, queries, keys).
    """
    if causal:
        right = 0
    if isinstance(offset, int) and (right < 0 or offset + right >= keys - 1) and (left < 0 or offset + queries - 1 <= left):
        return None
    distance = xp.arange(keys) - xp.arange(queries)[:, None] - offset
    if left < 0:
        return distance <= right if right >= 0 else xp.ones(distance.shape, bool)
    seen = distance >= -left
    return seen if right < 0 else seen & (distance <= right)


def scores(xp: Any, q: Any, k: Any, scale: float, softcap: float = 0.0) -> Any:
    """scale * q kᵀ, softcapped if softcap > 0, as a new contiguous (batch, heads, queries, keys).

    q is (batch, heads, queries, size), k (batch, kv heads, keys, size); consecutive query heads share a kv head.
    """
    batch, heads, queries, size = q.shape
    groups = k.shape[1]
    if groups == 0 or heads % groups or k.shape[0] != batch or k.shape[3] != size:
        raise NodeError(f"queries of shape {q.shape} do not fit keys of shape {k.shape} (batch, heads, sequence, size)")
    scaled = (q * scale).reshape(batch, groups, heads // groups * queries, size)
    result = xp.matmul(scaled, k.swapaxes(2, 3)).reshape(batch, heads, queries, k.shape[2])
    if softcap > 0.0:
        result /= softcap
        xp.tanh(result, out=result)
        result *= softcap
    return result


def probabilities(xp: Any, s: Any, sink: Any = None) -> Any:
    """Softmax of scores over the keys, written into `s`; a row of only -inf becomes zeros.

    `sink` (broadcast to (..., queries, 1)) is the score of one more key whose value is zero.
    """
    if not s.size:
        return s
    top = s.max(axis=-1, keepdims=True)
    if sink is not None:
        top = xp.maximum(top, sink)
    top[top == -xp.inf] = 0
    s -= top
    xp.exp(s, out=s)
    total = row_sums(xp, s)
    if sink is not None:
        total += xp.exp(sink - top)
    total[total == 0] = 1
    s /= total
    return s


def weighted_values(xp: Any, p: Any, v: Any, out: Any) -> None:
    """Write the sums of values (batch, kv heads, keys, size) weighted by p (batch, heads, queries, keys) into `out`."""
    batch, heads, queries, keys = p.shape
    groups, size = v.shape[1], v.shape[3]
    if v.shape[0] != batch or not groups or heads % groups or v.shape[2] != keys:
        raise NodeError(f"values of shape {v.shape} do not fit attention weights of shape {p.shape}")
    if groups == heads:
        xp.matmul(p, v, out=out)
    else:
        out[...] = xp.matmul(p.reshape(batch, groups, heads // groups * queries, keys), v).reshape(batch, heads, queries, size)


def packed_output(xp: Any, q: Any, size: int) -> Any:
    """An empty (batch, heads, queries, size) for the queries q that lies in memory so that merging heads copies nothing."""
    batch, heads, queries, _ = q.shape
    return xp.empty((batch, queries, heads, size), q.dtype).swapaxes(1, 2)


def attend(
    xp: Any, q: Any, k: Any, v: Any, *, scale: float, bias: Any = None, softcap: float = 0.0, sink: Any = None, softmax_dtype: Any = None
) -> Any:
    """softmax(softcap(scale * q kᵀ) + bias) v, shape (batch, heads, queries, value size).

    q (batch, heads, queries, size), k and v (batch, kv heads, keys, ...) are of one dtype, float32 or float64. `bias` has
    rank 4 and broadcasts to the scores; a row in which it forbids every key (-inf) gives zeros. `softmax_dtype` is wider
    than the inputs, or None. Long inputs are taken in blocks of queries.
    """
    batch, heads, queries, _ = q.shape
    y = packed_output(xp, q, v.shape[3])
    total = batch * heads * queries * k.shape[2]
    if total <= _BLOCK or batch * queries <= 1:
        _attend_block(xp, q, k, v, y, scale, bias, softcap, sink, softmax_dtype)
        return y
    step = max(_BLOCK * queries * batch // total, 32)
    for n in range(batch):
        one = slice(n, n + 1)
        for start in range(0, queries, step):
            part = slice(start, start + step)
            block_bias = bias
            if bias is not None:
                block_bias = bias[one if bias.shape[0] > 1 else slice(None), :, part if bias.shape[2] > 1 else slice(None)]
            _attend_block(xp, q[one, :, part], k[one], v[one], y[one, :, part], scale, block_bias, softcap, sink, softmax_dtype)
    return y


def _attend_block(xp: Any, q: Any, k: Any, v: Any, y: Any, scale: float, bias: Any, softcap: float, sink: Any, softmax_dtype: Any) -> None:
    s = scores(xp, q, k, scale, softcap)
    if bias is not None:
        s += bias
    if softmax_dtype is None:
        weighted_values(xp, probabilities(xp, s, sink), v, y)
    else:
        weighted_values(xp, probabilities(xp, s.astype(softmax_dtype), sink).astype(s.dtype), v, y)
