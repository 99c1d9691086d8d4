"""Operators that select or reorder elements: Compress, Unique, Trilu, EyeLike, ReverseSequence."""

from __future__ import annotations

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import normalize_axis
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.precision import named_dtype, widen

__all__ = ["ops", "trilu", "unique_flat"]

ops = KernelSet()


@ops.add("Compress", since=9)
def compress(xp, input, condition, *, axis=None):
    """The slices along `axis` (of the raveled input by default) where the rank-1 `condition` is true; it may be shorter."""
    if condition.ndim != 1:
        raise NodeError(f"condition must have rank 1, not shape {condition.shape}")
    if axis is None:
        input, axis = input.reshape(-1), 0
    axis = normalize_axis(axis, input.ndim)
    return input.take(xp.nonzero(condition[: input.shape[axis]])[0], axis)


def unique_flat(xp, x, in_order_of_value):
    """(index of the first occurrence, inverse, counts), all int64, of the distinct elements of rank-1 `x`; NaNs are equal."""
    _, first, inverse, counts = xp.unique(widen(x), return_index=True, return_inverse=True, return_counts=True)
    if not in_order_of_value:
        order = xp.argsort(first)
        place = xp.empty_like(order)
        place[order] = xp.arange(order.size)
        first, inverse, counts = first[order], place[inverse], counts[order]
    return first.astype(np.int64), inverse.reshape(-1).astype(np.int64), counts.astype(np.int64)


@ops.add("Unique", since=11)
def unique(xp, X, *, axis=None, sorted=1):
    """(distinct elements or slices along `axis`, index of their first occurrence, place of each of X in them, counts).

    In ascending (for slices: lexicographic) order, or by first occurrence if `sorted` is 0.
    """
    if axis is None:
        X, axis = X.reshape(-1), 0
        return (X[(found := unique_flat(xp, X, sorted))[0]], *found)
    axis = normalize_axis(axis, X.ndim)
    slices = xp.moveaxis(X, axis, 0).reshape(X.shape[axis], X.size // max(X.shape[axis], 1))
    # Ranks of the elements order slices just as the elements do, and serve strings and NaN too.
    ranks = unique_flat(xp, slices.reshape(-1), True)[1].reshape(slices.shape)
    order = xp.lexsort(ranks.T[::-1]) if ranks.shape[1] else xp.arange(len(ranks))
    ordered = ranks[order]
    starts = xp.concatenate(([True] * min(1, len(ranks)), (ordered[1:] != ordered[:-1]).any(1)))
    codes = xp.empty(len(ranks), np.int64)
    codes[order] = xp.cumsum(starts) - 1
    first, inverse, counts = unique_flat(xp, codes, sorted)
    return X.take(first, axis), first, inverse, counts


@ops.add("Trilu", since=14, host=(1,))
def trilu(xp, input, k=None, *, upper=1):
    """The upper (lower) triangle of the last two dims, on and above (below) diagonal `k`; zeros elsewhere."""
    if input.ndim < 2:
        raise NodeError(f"Trilu needs rank 2 or more, not shape {input.shape}")
    rows, columns = input.shape[-2:]
    diagonal = 0 if k is None else max(-rows - 1, min(int(k.item()), columns + 1))
    lower = xp.tri(rows, columns, diagonal - 1 if upper else diagonal, bool)
    zero = "" if input.dtype == object else xp.zeros((), input.dtype)
    return xp.where(lower, zero, input) if upper else xp.where(lower, input, zero)


@ops.add("EyeLike", since=9)
def eye_like(xp, input, *, dtype=None, k=0):
    """A matrix of the shape of `input` (rank 2) with ones at [i, i + k]; its dtype unless `dtype` names another."""
    if input.ndim != 2:
        raise NodeError(f"EyeLike needs rank 2, not shape {input.shape}")
    rows, columns = input.shape
    output = xp.zeros((rows, columns), input.dtype if dtype is None else named_dtype("dtype", dtype))
    k = max(-rows, min(k, columns))
    i = xp.arange(max(0, -k), min(rows, columns - k))
    output[i, i + k] = 1
    return output


@ops.add("ReverseSequence", since=10)
def reverse_sequence(xp, input, sequence_lens, *, batch_axis=1, time_axis=0):
    """`input` with the first sequence_lens[b] entries along `time_axis` reversed in each batch entry b."""
    if input.ndim < 2 or sorted((batch_axis, time_axis)) != [0, 1]:
        raise NodeError(f"batch_axis {batch_axis} and time_axis {time_axis} must be 0 and 1, and the input's rank at least 2")
    steps, batch = input.shape[time_axis], input.shape[batch_axis]
    if sequence_lens.shape != (batch,):
        raise NodeError(f"sequence_lens must have shape ({batch},), not {sequence_lens.shape}")
    if batch and (sequence_lens.min() < 0 or sequence_lens.max() > steps):
        raise NodeError(f"sequence_lens {sequence_lens.tolist()} must lie between 0 and {steps}")
    time = xp.arange(steps)[:, None]
    time = xp.where(time < sequence_lens, sequence_lens - 1 - time, time)
    entry = xp.arange(batch)
    return input[time, entry] if time_axis == 0 else input[entry[:, None], time.T]
