"""Layer normalisations of com.microsoft that first add a residual or look up embeddings."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.layernorm.standardize import layer_norm, rms_norm
from sardonyx_ep_cpu.precision import widen

ops = KernelSet("com.microsoft")

_EPSILON = 9.999999960041972e-13


@ops.add("SkipLayerNormalization")
def skip_layer_normalization(
    xp: Any, x: Any, skip: Any, gamma: Any, beta: Any = None, bias: Any = None, *, epsilon: float = _EPSILON
) -> tuple[Any, Any, Any, Any]:
    """LayerNormalization over the last axis of x + skip + bias; returns it, mean, 1 / standard deviation, and the sum.

    x (batch, sequence, hidden) or (tokens, hidden), skip of x's shape or broadcast to it, the others (hidden,).
    """
    total = _summed(x, skip, bias)
    y, mean, inverse = layer_norm(xp, total, widen(gamma), widen(beta), epsilon)
    return y.astype(x.dtype, copy=False), mean, inverse, total.astype(x.dtype, copy=False)


@ops.add("SkipSimplifiedLayerNormalization")
def skip_simplified_layer_normalization(
    xp: Any, x: Any, skip: Any, gamma: Any, bias: Any = None, *, epsilon: float = _EPSILON
) -> tuple[Any, None, Any, Any]:
    """RMSNormalization over the last axis of x + skip + bias; returns it, None, 1 / root mean square, and the sum."""
    total = _summed(x, skip, bias)
    y, inverse = rms_norm(xp, total, widen(gamma), epsilon)
    return y.astype(x.dtype, copy=False), None, inverse, total.astype(x.dtype, copy=False)


def _summed(x: Any, skip: Any, bias: Any) -> Any:
    total = widen(x) + widen(skip)
    if total.shape != x.shape:
        raise NodeError(f"skip of shape {skip.shape} does not broadcast to the input's shape {x.shape}")
    if bias is not None:
        total += widen(bias)
    return total


@ops.add("EmbedLayerNormalization")
def embed_layer_normalization(
    xp: Any,
    input_ids: Any,
    segment_ids: Any,
    word_embedding: Any,
    position_embedding: Any,
    segment_embedding: Any,
    gamma: Any,
    beta: Any,
    mask: Any = None,
    position_ids: Any = None,
    *,
    epsilon: float = _EPSILON,
    mask_index_type: int | None = None,
) -> tuple[Any, Any, Any]:
    """LayerNormalization of the sum of word, position and segment embeddings; returns it, the mask index, and the sum.

    input_ids and segment_ids (batch, sequence), embeddings (ids, hidden), mask (batch, sequence) of 1 and 0, position_ids
    (batch or 1, sequence), by default 0, 1, 2, ... The mask index (batch,) counts the ones of each row, 0 without a mask.
    Raises NodeError for an id outside its table.
    """
    batch, sequence = input_ids.shape
    total = _rows(word_embedding, input_ids, "word").astype(widen(gamma).dtype)
    if position_ids is None:
        if sequence > position_embedding.shape[0]:
            raise NodeError(f"{sequence} positions, but only {position_embedding.shape[0]} position embeddings")
        total += widen(position_embedding[:sequence])
    else:
        total += widen(_rows(position_embedding, position_ids, "position"))
    if segment_embedding is not None and segment_ids is not None:
        total += widen(_rows(segment_embedding, segment_ids, "segment"))
    y = layer_norm(xp, total, widen(gamma), widen(beta), epsilon)[0]
    if mask is None:
        mask_index = xp.zeros(batch, xp.int32)
    else:
        mask_index = xp.sum(mask == 1, axis=1).astype(xp.int32)
    return y.astype(gamma.dtype, copy=False), mask_index, total.astype(gamma.dtype, copy=False)


def _rows(table: Any, ids: Any, what: str) -> Any:
    if ids.size and (ids.min() < 0 or ids.max() >= table.shape[0]):
        raise NodeError(f"a {what} id is outside [0, {table.shape[0]})")
    return table[ids]
