"""What is known of a convolution before its data: geometry, blocking, and which copies fill the column matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import gcd, prod

from sardonyx.ep.shapes import Windows, check_size, conv_windows, tap_range
from sardonyx.errors import NodeError

__all__ = ["ConvPlan", "Run", "Shifts", "plan_conv"]

COLUMN_BYTES = 1 << 21
"""The column buffer's size: small enough that the product reads it from a cache, large enough to make few blocks."""

MOST_PHASES = 16
"""With more phases of the strides than this, splitting the input costs more calls than the long runs save."""

Key = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Run:
    """The taps kernel[slices] that read one plane: tap (i, j, ...) of them reads it `shift + i * steps[0] + ...` further on."""

    phase: tuple[int, ...]
    kernel: tuple[slice, ...]
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    shift: int


@dataclass(frozen=True, slots=True)
class Shifts:
    """Columns as shifted copies of whole planes.

    A plane holds the input's elements of one phase of the strides, flat, its inner axes as long as the output's.
    `before` and `after` are how far the shifts reach outside the planes. What is then wrong lies at the edges:
    `rows` has for each tap of the first axis the output's rows [first, last) that are inside the input, `edges` are
    indices into one block's columns [..., *kernel, *output] that are outside on an inner axis. `by_rows`: so many rows are
    outside that copying each tap's own rows costs less than copying all and clearing some.
    """

    runs: tuple[Run, ...]
    before: int
    after: int
    rows: tuple[tuple[int, int], ...]
    edges: tuple[tuple[object, ...], ...]
    by_rows: bool


@dataclass(frozen=True, slots=True)
class ConvPlan:
    """Geometry and blocking of one convolution for one input shape.

    The loops run over blocks of `batch` samples, `groups` groups and `rows` indices of the first output axis; at most
    one of the three is neither 1 nor everything. `shifts` is None where the windows are not shifts of whole planes;
    columns are then copied from a strided view of the padded input.
    """

    windows: Windows
    group: int
    out_shape: tuple[int, ...]
    pointwise: bool
    strided: bool
    batch: int
    groups: int
    rows: int
    shifts: Shifts | None


@lru_cache(maxsize=1024)
def plan_conv(
    x: tuple[int, ...],
    w: tuple[int, ...],
    group: int,
    strides: Key,
    pads: Key,
    dilations: Key,
    auto_pad: str,
    itemsize: int,
) -> ConvPlan:
    """Plan Conv of X [N, C, *D] with W [M, C / group, *K]; NodeError where the shapes do not fit."""
    if len(x) != len(w) or len(x) < 3:
        raise NodeError(f"Conv takes X [N, C, D1, ...] and W [M, C/group, K1, ...] of equal rank, got shapes {x} and {w}")
    if group < 1 or x[1] != w[1] * group or w[0] % group:
        raise NodeError(
            f"group {group} does not divide X {x} and W {w} into equal groups: X has C = group * W.shape[1], W.shape[0] = group * m"
        )
    windows = conv_windows(x[2:], w[2:], strides=strides, pads=pads, dilations=dilations, auto_pad=auto_pad)
    out_shape = (x[0], w[0], *windows.out)
    check_size(out_shape, itemsize)
    pointwise = not windows.padded and all(k == 1 for k in windows.kernel)
    bytes_per_row = w[1] * prod(w[2:]) * prod(windows.out[1:]) * itemsize
    batch, groups, rows = _blocks(x[0], group, windows.out[0], max(1, bytes_per_row))
    shifts = None if pointwise or not prod(out_shape) else _shifts(x[2:], windows)
    return ConvPlan(windows, group, out_shape, pointwise, any(s > 1 for s in windows.strides), batch, groups, rows, shifts)


def _blocks(batch: int, group: int, rows: int, row_bytes: int) -> tuple[int, int, int]:
    """The block sizes (samples, groups, rows) whose columns fit COLUMN_BYTES, balanced so that no small rest is left."""
    unit = row_bytes * max(1, rows)
    if unit * group <= COLUMN_BYTES:
        return _even(batch, COLUMN_BYTES // (unit * group)), group, rows
    if unit <= COLUMN_BYTES:
        return 1, _even(group, COLUMN_BYTES // unit), rows
    return 1, 1, _even(rows, COLUMN_BYTES // row_bytes)


def _even(count: int, most: int) -> int:
    most = max(1, min(count, most))
    blocks = -(-count // most) if count else 1
    return -(-count // blocks) if count else 1


def _shifts(size: tuple[int, ...], windows: Windows) -> Shifts | None:
    if any(pad >= extent for pads in (windows.begin, windows.end) for pad, extent in zip(pads, windows.extent, strict=True)):
        return None
    rank = len(size)
    axes = [
        _axis_taps(*axis)
        for axis in zip(size, *(getattr(windows, f) for f in ("kernel", "strides", "dilations", "begin", "out")), strict=True)
    ]
    if any(last > first and last - 1 + shift >= windows.out[a] for a in range(1, rank) for _, shift, first, last in axes[a]):
        return None
    if any(s > 1 for s in windows.strides):
        phases = prod(len({tap[0] for tap in taps}) for taps in axes)
        if phases > MOST_PHASES or prod(windows.kernel) <= phases:
            return None
    elif size[1:] != windows.out[1:]:
        return None
    pitch = [prod(windows.out[a + 1 :]) for a in range(rank)]
    runs = tuple(
        Run(
            tuple(axes[a][c.start][0] for a, c in enumerate(chosen)),
            chosen,
            tuple(len(range(k)[c]) for k, c in zip(windows.kernel, chosen, strict=True)),
            tuple(d * c.step // s * p for d, c, s, p in zip(windows.dilations, chosen, windows.strides, pitch, strict=True)),
            sum(axes[a][c.start][1] * pitch[a] for a, c in enumerate(chosen)),
        )
        for chosen in product(*(_classes(*axis) for axis in zip(windows.kernel, windows.strides, windows.dilations, strict=True)))
    )
    reach = [run.shift + sum((n - 1) * step for n, step in zip(run.shape, run.steps, strict=True)) for run in runs]
    planes = [-(-(size[0] - run.phase[0]) // windows.strides[0]) * pitch[0] for run in runs]
    after = max(high + windows.out[0] * pitch[0] - plane for high, plane in zip(reach, planes, strict=True))
    edges = tuple(edge for a in range(1, rank) for edge in _edges(axes[a], windows.out[a], a, rank))
    rows = tuple(tap[2:] for tap in axes[0])
    by_rows = sum(last - first for first, last in rows) < 0.9 * windows.kernel[0] * windows.out[0]
    return Shifts(runs, max(0, -min(run.shift for run in runs)), max(0, after), rows, edges, by_rows)


def _edges(taps: list[tuple[int, int, int, int]], out: int, axis: int, rank: int) -> Iterator[tuple[object, ...]]:
    """Indices of what lies outside on one axis: position by position, which makes long strided runs of what is written."""
    complete = range(max(first for _, _, first, _ in taps), min(last for *_, last in taps))
    for i in (i for i in range(out) if i not in complete):
        inside = [t for t, (_, _, first, last) in enumerate(taps) if first <= i < last]
        low, high = (inside[0], inside[-1] + 1) if inside else (len(taps), len(taps))
        for outside in (slice(0, low), slice(high, len(taps))):
            if outside.start < outside.stop:
                kernel = [slice(None)] * rank
                kernel[axis] = outside
                yield (..., *kernel, *(i if a == axis else slice(None) for a in range(rank)))


def _axis_taps(size: int, kernel: int, stride: int, dilation: int, begin: int, out: int) -> list[tuple[int, int, int, int]]:
    """For each tap of one axis: phase, shift in whole strides, and the windows [first, last) for which it is in the input."""
    offsets = [t * dilation - begin for t in range(kernel)]
    return [(offset % stride, offset // stride, *tap_range(size, out, offset, stride)) for offset in offsets]


def _classes(kernel: int, stride: int, dilation: int) -> list[slice]:
    """The taps of one axis by phase: every `period`-th tap has the same."""
    period = stride // gcd(stride, dilation)
    return [slice(c, None, period) for c in range(min(period, kernel))]
