"""Pooling one axis at a time: a window's maximum or sum is that of its rows' maxima or sums."""

from __future__ import annotations

from math import prod
from typing import Any

from sardonyx.ep.shapes import Windows, check_size, tap_ranges, window_counts
from sardonyx.errors import NodeError

__all__ = ["argmax_windows", "check_rank", "combine_windows", "lowest", "require_elements", "spatial_sums"]


def lowest(xp: Any, dtype: Any) -> Any:
    """The neutral element of the maximum: -inf, or the smallest integer."""
    return -xp.inf if dtype.kind == "f" else xp.iinfo(dtype).min


def check_rank(x: Any) -> None:
    """Raise unless X is [N, C, D1, ...]."""
    if x.ndim < 3:
        raise NodeError(f"a pool takes X [N, C, D1, ...] with at least one spatial axis, got shape {x.shape}")


def require_elements(windows: Windows, size: tuple[int, ...]) -> None:
    """Raise if a window sees nothing but padding: its maximum or average does not exist."""
    check_size(windows.out)
    for a, (n, counts) in enumerate(zip(size, window_counts(windows, size, False), strict=True)):
        if n and counts.size and not counts.all():
            raise NodeError(
                f"window {int(counts.argmin())} of axis {a + 2} covers only padding: size {n}, kernel {windows.kernel[a]}, "
                f"pads ({windows.begin[a]}, {windows.end[a]}), stride {windows.strides[a]}; use pads smaller than the kernel"
            )


def combine_windows(xp: Any, x: Any, windows: Windows, ufunc: Any, neutral: Any) -> Any:
    """Reduce every window of X [N, C, *D] with `ufunc` (maximum, add) -> [N, C, *out]; padding counts as `neutral`."""
    for a in range(x.ndim - 2):
        x = _combine_axis(xp, x, windows, a, ufunc, neutral)
    return x


def argmax_windows(xp: Any, x: Any, windows: Windows) -> tuple[Any, tuple[Any, ...]]:
    """Maxima of the windows of X [N, C, *D], and their coordinates: one int64 array [N, C, *out] for each spatial axis.

    Of equal maxima the first in row-major order wins; NaN counts as larger than everything.
    """
    where: list[Any] = []
    for a in reversed(range(x.ndim - 2)):
        x, where = _argmax_axis(xp, x, where, windows, a)
    return x, tuple(where)


def spatial_sums(xp: Any, x: Any) -> Any:
    """Sums over all spatial axes of a float X [N, C, *D] -> [N, C, 1, ...], through a product: faster than a reduction."""
    count = prod(x.shape[2:])
    y = xp.matmul(x.reshape(prod(x.shape[:2]), count), xp.ones((count, 1), x.dtype))
    return y.reshape(*x.shape[:2], *(1,) * (x.ndim - 2))


def _tap(x: Any, axis: int, windows: Windows, a: int, t: int, first: int, last: int) -> Any:
    start = first * windows.strides[a] + t * windows.dilations[a] - windows.begin[a]
    stop = start + (last - first - 1) * windows.strides[a] + 1
    return x[(slice(None),) * axis + (slice(start, stop, windows.strides[a]),)]


def _combine_axis(xp: Any, x: Any, windows: Windows, a: int, ufunc: Any, neutral: Any) -> Any:
    axis, out = a + 2, windows.out[a]
    if windows.kernel[a] == 1 and windows.strides[a] == 1 and out == x.shape[axis]:
        return x
    if out == 1 and windows.dilations[a] == 1:
        inside = x[(slice(None),) * axis + (slice(max(0, windows.kernel[a] - windows.begin[a])),)]
        return ufunc.reduce(inside, axis=axis, keepdims=True, initial=neutral)
    shape = (*x.shape[:axis], out, *x.shape[axis + 1 :])
    check_size(shape, x.itemsize)
    ranges = tap_ranges(windows, x.shape[2:], a)
    ranges.sort(key=lambda r: r[1] - r[2])
    if a == x.ndim - 3 and windows.strides[a] > 1 and len(ranges) > 1:
        taps = _contiguous_taps(xp, x, windows, a, ranges)
    else:
        taps = [_tap(x, axis, windows, a, *r) for r in ranges]
    y = xp.empty(shape, x.dtype)
    full = [r[2] - r[1] == out for r in ranges[:2]]
    if full == [True, True]:
        ufunc(taps[0], taps[1], out=y)
        done = 2
    elif full[:1] == [True]:
        y[...] = taps[0]
        done = 1
    else:
        y[...] = neutral
        done = 0
    for (_, first, last), tap in zip(ranges[done:], taps[done:], strict=True):
        part = y[(slice(None),) * axis + (slice(first, last),)]
        ufunc(part, tap, out=part)
    return y


def _contiguous_taps(xp: Any, x: Any, windows: Windows, a: int, ranges: list[tuple[int, int, int]]) -> list[Any]:
    """The taps of the last axis read from one contiguous array per phase: numpy's ufuncs are slow on strided runs."""
    stride, phases, taps = windows.strides[a], {}, []
    for t, first, last in ranges:
        start = first * stride + t * windows.dilations[a] - windows.begin[a]
        if start % stride not in phases:
            phases[start % stride] = xp.ascontiguousarray(x[..., start % stride :: stride])
        taps.append(phases[start % stride][..., start // stride : start // stride + last - first])
    return taps


def _argmax_axis(xp: Any, x: Any, where: list[Any], windows: Windows, a: int) -> tuple[Any, list[Any]]:
    axis = a + 2
    shape = (*x.shape[:axis], windows.out[a], *x.shape[axis + 1 :])
    check_size(shape, 24)
    best = xp.full(shape, lowest(xp, x.dtype), x.dtype)
    coordinates = [xp.zeros(shape, xp.int64) for _ in range(len(where) + 1)]
    untouched = xp.ones(shape, bool)
    position = xp.arange(x.shape[axis]).reshape((-1,) + (1,) * (x.ndim - 1 - axis))
    sources = [xp.broadcast_to(position, x.shape), *where]
    for t, first, last in tap_ranges(windows, x.shape[2:], a):
        index = (slice(None),) * axis + (slice(first, last),)
        tap, part = _tap(x, axis, windows, a, t, first, last), best[index]
        better = ~(tap <= part)
        better &= part == part
        better |= untouched[index]
        untouched[index] = False
        xp.copyto(part, tap, where=better)
        for target, source in zip(coordinates, sources, strict=True):
            xp.copyto(target[index], _tap(source, axis, windows, a, t, first, last), where=better)
    return best, coordinates
