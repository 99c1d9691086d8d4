"""InstanceNormalization, GroupNormalization and com.microsoft's GroupNorm and SkipGroupNorm."""

from __future__ import annotations

from math import prod
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.rows import row_dots, row_sums
from sardonyx_ep_cpu.precision import stash_dtype, widen

__all__ = ["group_normalization", "instance_normalization", "ops"]

ops = KernelSet()


@ops.add("InstanceNormalization", since=1)
def instance_normalization_1(xp, input, scale, b, *, consumed_inputs=None, epsilon=1e-5):
    """Input [N, C, H, W] normalised over H and W."""
    return instance_normalization(xp, input, scale, b, epsilon=epsilon)


@ops.add("InstanceNormalization", since=6)
def instance_normalization(xp, input, scale, b, *, epsilon=1e-5):
    """Input [N, C, *D] normalised over D for each sample and channel, then times scale [C] plus B [C]."""
    if input.ndim < 2:
        raise NodeError(f"InstanceNormalization takes [N, C, D1, ...], got shape {input.shape}")
    return _scaled_groups(xp, input, scale, b, max(input.shape[1], 1), epsilon)


@ops.add("GroupNormalization", since=18)
def group_normalization_18(xp, x, scale, bias, *, epsilon=1e-5, num_groups):
    """X [N, C, *D] normalised over each group of channels; scale and bias are [num_groups]."""
    _check_groups(x, num_groups)
    n, size = x.shape[0], prod(x.shape[1:]) // num_groups
    y = _standardize(xp, widen(x).reshape(n * num_groups, size), epsilon).reshape(n, num_groups, size)
    y *= _column(scale, num_groups, "scale", y.dtype)
    y += _column(bias, num_groups, "bias", y.dtype)
    return y.reshape(x.shape).astype(x.dtype, copy=False)


@ops.add("GroupNormalization", since=21)
def group_normalization(xp, x, scale, bias, *, epsilon=1e-5, num_groups, stash_type=1):
    """X [N, C, *D] normalised over each group of channels; scale and bias are [C].

    Everything is computed in float32 (float64 for float64), whatever smaller type `stash_type` names.
    """
    stash_dtype(stash_type)
    _check_groups(x, num_groups)
    return _scaled_groups(xp, x, scale, bias, num_groups, epsilon)


@ops.add("GroupNorm", domain="com.microsoft")
def group_norm(xp, x, gamma, beta, *, activation, channels_last=1, epsilon=1e-5, groups):
    """X [N, *D, C] (or [N, C, *D] with `channels_last` 0), normalised by groups; SiLU after it where `activation` is 1."""
    if activation not in (0, 1):
        raise NodeError(f"activation {activation} of GroupNorm is neither 0 (none) nor 1 (SiLU)")
    moved = xp.moveaxis(x, -1, 1) if channels_last else x
    _check_groups(moved, groups)
    y = _scaled_groups(xp, widen(moved), gamma, beta, groups, epsilon)
    if activation:
        y = y / (1 + xp.exp(-y))
    y = xp.moveaxis(y, 1, -1) if channels_last else y
    return xp.ascontiguousarray(y, dtype=x.dtype)


@ops.add("SkipGroupNorm", domain="com.microsoft")
def skip_group_norm(xp, x, gamma, beta, skip, bias=None, *, activation, channels_last=1, epsilon=1e-5, groups):
    """GroupNorm of S = X + skip + bias, with skip of X's shape or [N, C] or [N, 1, 1, C], bias [C] -> (Y, S)."""
    channel = (-1,) if channels_last else (-1,) + (1,) * (x.ndim - 2)
    if skip.size == x.shape[0] * gamma.size and skip.shape != x.shape:
        skip = skip.reshape((x.shape[0],) + (1,) * (x.ndim - 2) + channel if channels_last else (x.shape[0], *channel))
    total = widen(x) + widen(skip)
    if bias is not None:
        total = total + widen(bias).reshape(channel)
    y = group_norm(xp, total, gamma, beta, activation=activation, channels_last=channels_last, epsilon=epsilon, groups=groups)
    return y.astype(x.dtype, copy=False), total.astype(x.dtype, copy=False)


def _check_groups(x: Any, groups: int) -> None:
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise NodeError(f"{groups} groups do not divide the channels of X {x.shape}")


def _column(v: Any, size: int, name: str, dtype: Any) -> Any:
    if v.shape != (size,):
        raise NodeError(f"{name} must have shape ({size},), got {v.shape}")
    return v.astype(dtype, copy=False).reshape(size, 1)


def _scaled_groups(xp: Any, x: Any, scale: Any, bias: Any, groups: int, epsilon: float) -> Any:
    """X [N, C, *D] standardised by groups of channels, then scaled and shifted by channel."""
    n, c, inner = x.shape[0], x.shape[1], prod(x.shape[2:])
    y = _standardize(xp, widen(x).reshape(n * groups, c // groups * inner), epsilon).reshape(n, c, inner)
    y *= _column(scale, c, "scale", y.dtype)
    y += _column(bias, c, "bias", y.dtype)
    return y.reshape(x.shape).astype(x.dtype, copy=False)


def _standardize(xp: Any, rows: Any, epsilon: float) -> Any:
    """(rows - mean) / sqrt(variance + epsilon) of each row, a fresh array; rows [R, S] is float32 or float64."""
    if rows.size == 0:
        return rows.copy()
    y = rows - row_sums(xp, rows) / rows.shape[1]
    deviation = row_dots(xp, y, y)
    deviation /= rows.shape[1]
    deviation += epsilon
    y /= xp.sqrt(deviation, out=deviation)
    return y
