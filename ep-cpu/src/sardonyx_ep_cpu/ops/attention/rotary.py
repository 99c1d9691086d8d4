"""RotaryEmbedding of ai.onnx and of com.microsoft."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.precision import widen

__all__ = ["cache_rows", "rotate"]

ops = KernelSet()


def rotate(xp: Any, x: Any, cos: Any, sin: Any, interleaved: int) -> Any:
    """Rotate pairs of x (..., size) by angles given as cos and sin (broadcast to (..., half)); a new contiguous array.

    The first 2 * half elements form the pairs: neighbours if `interleaved`, else element i with element i + half. The
    rest is kept.
    """
    half = cos.shape[-1]
    turned = 2 * half
    if turned > x.shape[-1] or sin.shape != cos.shape:
        raise NodeError(f"caches of shapes {cos.shape} and {sin.shape} do not fit heads of size {x.shape[-1]}")
    y = xp.empty(x.shape, x.dtype)
    y[..., turned:] = x[..., turned:]
    first, second = (slice(0, turned, 2), slice(1, turned, 2)) if interleaved else (slice(0, half), slice(half, turned))
    real, imaginary = x[..., first], x[..., second]
    xp.multiply(real, cos, out=y[..., first])
    y[..., first] -= imaginary * sin
    xp.multiply(imaginary, cos, out=y[..., second])
    y[..., second] += real * sin
    return y


def cache_rows(xp: Any, cache: Any, positions: Any) -> Any:
    """Rows of a cache (positions, half) in float32 or wider; raises NodeError for a position outside the cache."""
    if positions.size and (int(positions.min()) < 0 or int(positions.max()) >= cache.shape[0]):
        raise NodeError(f"a position is outside [0, {cache.shape[0]}), the rows of the cos and sin caches")
    return widen(cache[positions])


def _rotate_heads(xp: Any, x: Any, cos: Any, sin: Any, interleaved: int, head_size: int | None) -> Any:
    """x is (batch, heads, sequence, size), or (batch, sequence, hidden) if head_size is given; caches (batch, sequence, half)."""
    wide = widen(x)
    if head_size is None:
        y = rotate(xp, wide, cos[:, None], sin[:, None], interleaved)
    else:
        batch, sequence, hidden = x.shape
        if not head_size or hidden % head_size:
            raise NodeError(f"an input of shape {x.shape} cannot be split into heads of size {head_size}")
        heads = wide.reshape(batch, sequence, hidden // head_size, head_size)
        y = rotate(xp, heads, cos[:, :, None], sin[:, :, None], interleaved).reshape(x.shape)
    return y.astype(x.dtype, copy=False)


@ops.add("RotaryEmbedding", since=23)
def rotary_embedding(
    xp: Any,
    x: Any,
    cos_cache: Any,
    sin_cache: Any,
    position_ids: Any = None,
    *,
    interleaved: int = 0,
    num_heads: int | None = None,
    rotary_embedding_dim: int = 0,
) -> Any:
    """x, (batch, heads, sequence, size) or (batch, sequence, hidden) with `num_heads`, rotated by position.

    Caches are (positions, half) with position_ids (batch, sequence), or (batch, sequence, half) without; half is half the
    head size or half of `rotary_embedding_dim`. Half precision is computed in float32.
    """
    if position_ids is None:
        cos, sin = widen(cos_cache), widen(sin_cache)
    else:
        cos, sin = cache_rows(xp, cos_cache, position_ids), cache_rows(xp, sin_cache, position_ids)
    size = x.shape[-1]
    if x.ndim == 3:
        if not num_heads:
            raise NodeError(f"an input of rank 3 (shape {x.shape}) needs num_heads")
        size //= num_heads
    if cos.ndim != 3 or 2 * cos.shape[-1] != (rotary_embedding_dim or size):
        raise NodeError(f"a cache of shape {cos_cache.shape} does not fit {rotary_embedding_dim or size} rotated elements")
    return _rotate_heads(xp, x, cos, sin, interleaved, size if x.ndim == 3 else None)


@ops.add("RotaryEmbedding", domain="com.microsoft")
def rotary_embedding_microsoft(
    xp: Any,
    x: Any,
    position_ids: Any,
    cos_cache: Any,
    sin_cache: Any,
    *,
    interleaved: int | None = None,
    is_packed_batching: int | None = None,
    num_heads: int | None = None,
    rotary_embedding_dim: int | None = None,
    scale: float | None = None,
) -> Any:
    """RotaryEmbedding whose position_ids may also be (1,): the position of the first token.

    `scale` changes nothing, as in onnxruntime.
    """
    sequence = x.shape[1] if x.ndim == 3 else x.shape[2]
    positions = position_ids
    if positions.size == 1 and positions.ndim == 1:
        positions = positions.reshape(1, 1) + xp.arange(sequence)
    cos, sin = cache_rows(xp, cos_cache, positions), cache_rows(xp, sin_cache, positions)
    size = None
    if x.ndim == 3:
        size = x.shape[2] // num_heads if num_heads else 2 * cos_cache.shape[1]
    return _rotate_heads(xp, x, cos, sin, interleaved or 0, size)
