"""GridSample (ai.onnx and com.microsoft) and AffineGrid."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import check_size
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.spatial.resize import narrow
from sardonyx_ep_cpu.ops.spatial.sampling import cubic_taps, linear_taps, nearest_taps, sample
from sardonyx_ep_cpu.precision import widen

__all__ = ["affine_grid", "grid_sample", "ops"]

ops = KernelSet()

_TAPS = {
    "nearest": nearest_taps,
    "linear": linear_taps,
    "bilinear": linear_taps,
    "cubic": cubic_taps,
    "bicubic": cubic_taps,
}


@ops.add("GridSample", since=16)
@ops.add("GridSample", domain="com.microsoft")
def grid_sample_16(xp, x, grid, *, align_corners=0, mode="bilinear", padding_mode="zeros"):
    """X [N, C, H, W] at the points of grid [N, H_out, W_out, 2] -> [N, C, H_out, W_out]."""
    return grid_sample(xp, x, grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)


@ops.add("GridSample", since=20)
def grid_sample(xp, x, grid, *, align_corners=0, mode="linear", padding_mode="zeros"):
    """X [N, C, *D] (r axes) at the points of grid [N, *out, r], which counts axes from the last -> [N, C, *out].

    Positions are computed in grid's dtype (float32 for the halves), integers interpolated in float64 and rounded.
    """
    rank = x.ndim - 2
    if rank < 1 or grid.ndim != x.ndim or grid.shape[-1] != rank or grid.shape[0] != x.shape[0]:
        raise NodeError(f"GridSample takes X [N, C, D1, ...] and grid [N, out1, ..., {max(rank, 1)}], got {x.shape} and {grid.shape}")
    if mode not in _TAPS or padding_mode not in ("zeros", "border", "reflection"):
        raise NodeError(f"GridSample knows no mode {mode!r} with padding_mode {padding_mode!r}")
    taps = _TAPS[mode]
    if taps is not nearest_taps and x.dtype == object:
        raise NodeError(f"GridSample of strings needs mode nearest, not {mode}")
    source = x
    if taps is not nearest_taps:
        source = x.astype(np.float64) if x.dtype.kind in "iub" else widen(x)
    out = grid.shape[1:-1]
    y = xp.empty((*x.shape[:2], prod(out)), source.dtype)
    if y.size and 0 in x.shape[2:]:
        raise NodeError(f"GridSample cannot sample X {x.shape}, which has no elements")
    points = widen(grid).reshape(x.shape[0], prod(out), rank)
    for n in range(x.shape[0] if y.size else 0):
        axes = [_axis(xp, points[n, :, rank - 1 - a], x.shape[2 + a], taps, padding_mode, bool(align_corners)) for a in range(rank)]
        y[n] = sample(xp, source[n], axes)
    return narrow(xp, y.reshape(*x.shape[:2], *out), x.dtype)


@ops.add("AffineGrid", since=20, host=(1,))
def affine_grid(xp, theta, size, *, align_corners=0):
    """theta [N, r, r + 1] applied to the evenly spaced points of an image of `size` (N, C, *D) -> [N, *D, r]."""
    dims = size.tolist()[2:]
    rank = len(dims)
    if rank not in (2, 3) or theta.shape != (size[0], rank, rank + 1):
        raise NodeError(
            f"AffineGrid takes theta (N, r, r + 1) and size (N, C, D1, ..., Dr) with r 2 or 3, got {theta.shape}, {size.tolist()}"
        )
    wide = widen(theta)
    check_size((*dims, rank + 1), wide.itemsize)
    points = xp.ones((*dims, rank + 1), wide.dtype)
    for a, n in enumerate(dims):
        step = xp.arange(n, dtype=wide.dtype)
        line = (2 * step / max(1, n - 1) - (n > 1)) if align_corners else (2 * step + 1) / n - 1
        points[..., rank - 1 - a] = line.reshape((-1,) + (1,) * (rank - 1 - a))
    y = xp.matmul(points.reshape(-1, rank + 1), wide.swapaxes(1, 2))
    return y.reshape(theta.shape[0], *dims, rank).astype(theta.dtype, copy=False)


def _axis(xp: Any, g: Any, size: int, taps: Any, padding_mode: str, align_corners: bool) -> tuple[Any, Any]:
    """Indices and weights along one axis for normalised positions g [P]."""
    if align_corners:
        x, low, high = (g + 1) / 2 * (size - 1), 0.0, size - 1.0
    else:
        x, low, high = ((g + 1) * size - 1) / 2, -0.5, size - 0.5
    if taps is nearest_taps:
        x = xp.rint(x)
    if padding_mode == "reflection":
        x = _reflect(xp, x, low, high)
    indices, weights = taps(xp, x)
    if padding_mode == "border":
        indices = xp.clip(indices, 0, size - 1)
    elif padding_mode == "reflection":
        indices = xp.clip(_reflect(xp, indices.astype(np.float64), low, high).astype(np.int64), 0, size - 1)
    return indices, weights


def _reflect(xp: Any, x: Any, low: float, high: float) -> Any:
    """x mirrored at low and high until it lies between them; x itself where it already does."""
    span = high - low
    if span == 0:
        return xp.full_like(x, low)
    beyond = xp.abs(x - xp.clip(x, low, high))
    turns = xp.floor(beyond / span)
    rest = beyond - turns * span
    from_low = (x < low) == (turns % 2 == 0)
    return xp.where(beyond > 0, xp.where(from_low, low + rest, high - rest), x)
