"""Geometry of sliding windows: convolutions, transposed convolutions and pools of any rank.

Sizes, kernels, strides and dilations are sequences with one int per spatial axis; `pads` has the begins of all axes,
then the ends, as in ONNX. Every function raises NodeError where the numbers do not fit together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sardonyx.errors import NodeError

__all__ = ["Windows", "conv_windows", "pool_windows", "tap_range", "tap_ranges", "transpose_windows", "window_counts"]

Ints = Sequence[int] | None


@dataclass(frozen=True, slots=True)
class Windows:
    """Resolved geometry, one entry per spatial axis.

    `begin` and `end` are the pads and `out` the output size. For a transposed convolution the pads crop the output;
    there they are negative where the output is longer than what the windows reach.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def extent(self) -> tuple[int, ...]:
        """The length each kernel spans with its dilation: (kernel - 1) * dilation + 1."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    @property
    def padded(self) -> bool:
        """Whether any pad differs from 0."""
        return any(self.begin) or any(self.end)


def conv_windows(
    size: Sequence[int],
    kernel: Sequence[int],
    *,
    strides: Ints = None,
    pads: Ints = None,
    dilations: Ints = None,
    auto_pad: str = "NOTSET",
) -> Windows:
    """The windows of Conv over an input of spatial `size`; `auto_pad` other than NOTSET overrides `pads`."""
    return _windows(tuple(size), tuple(kernel), _key(strides), _key(pads), _key(dilations), auto_pad, False)


def pool_windows(
    size: Sequence[int],
    kernel: Sequence[int],
    *,
    strides: Ints = None,
    pads: Ints = None,
    dilations: Ints = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
) -> Windows:
    """The windows of a pool. With `ceil_mode` a last partial window counts, unless it would start in the end padding."""
    return _windows(tuple(size), tuple(kernel), _key(strides), _key(pads), _key(dilations), auto_pad, bool(ceil_mode))


def transpose_windows(
    size: Sequence[int],
    kernel: Sequence[int],
    *,
    strides: Ints = None,
    pads: Ints = None,
    dilations: Ints = None,
    auto_pad: str = "NOTSET",
    output_padding: Ints = None,
    output_shape: Ints = None,
) -> Windows:
    """The windows of ConvTranspose over an input of spatial `size`.

    `output_shape` may be the spatial sizes alone or the whole output shape. The split of an odd total padding follows
    the text of opset 11 (SAME_UPPER crops more at the end, everything else at the beginning), for all opsets:
    the text of opset 1 contradicts itself there.
    """
    return _transposed(
        tuple(size), tuple(kernel), _key(strides), _key(pads), _key(dilations), auto_pad, _key(output_padding), _key(output_shape)
    )


def tap_range(size: int, out: int, offset: int, stride: int) -> tuple[int, int]:
    """The windows [first, last) of one axis for which the tap at `offset` from the window's start lies in the input.

    `offset` is tap * dilation - begin; window i reads input element i * stride + offset.
    """
    first = max(0, -(offset // stride))
    last = min(out, (size - 1 - offset) // stride + 1)
    return first, max(first, last)


def tap_ranges(windows: Windows, size: Sequence[int], a: int) -> list[tuple[int, int, int]]:
    """(tap, first, last) for those taps of axis `a` of an input of spatial `size` that lie in the input for any window: for
    windows [first, last). A kernel may be far longer than what it can reach."""
    n, out, stride = size[a], windows.out[a], windows.strides[a]
    dilation, begin = windows.dilations[a], windows.begin[a]
    low = max(0, -(((out - 1) * stride - begin) // dilation)) if out else 0
    high = min(windows.kernel[a], (n - 1 + begin) // dilation + 1) if out else 0
    ranges = [(t, *tap_range(n, out, t * dilation - begin, stride)) for t in range(low, high)]
    return [r for r in ranges if r[1] < r[2]]


@lru_cache(maxsize=512)
def window_counts(windows: Windows, size: tuple[int, ...], include_pad: bool) -> tuple[np.ndarray, ...]:
    """For each axis, how many taps of each window count: those in the input, or with `include_pad` in the padded input.

    What `ceil_mode` lets hang over the padded input never counts. The arrays (int64) are read-only.
    """
    counts = []
    for n, k, s, d, low, high, out in zip(
        size, windows.kernel, windows.strides, windows.dilations, windows.begin, windows.end, windows.out, strict=True
    ):
        first, last = (-low, n + high) if include_pad else (0, n)
        start = np.arange(out) * s - low
        count = np.clip(-((start - last) // d), 0, k) - np.clip(-((start - first) // d), 0, k)
        count.flags.writeable = False
        counts.append(count)
    return tuple(counts)


def _key(values: Ints) -> tuple[int, ...] | None:
    return tuple(map(int, values)) if values is not None and len(values) else None


@lru_cache(maxsize=1024)
def _windows(
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...] | None,
    pads: tuple[int, ...] | None,
    dilations: tuple[int, ...] | None,
    auto_pad: str,
    ceil_mode: bool,
) -> Windows:
    strides, dilations = _check(size, kernel, strides, dilations)
    begin, end, out = [], [], []
    explicit = _pads(pads, len(size))
    for a, (n, k, s, d) in enumerate(zip(size, kernel, strides, dilations, strict=True)):
        extent = (k - 1) * d + 1
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            count = -(-n // s)
            low, high = _split(max(0, (count - 1) * s + extent - n), auto_pad == "SAME_UPPER") if n else (0, 0)
        else:
            _known(auto_pad)
            low, high = explicit[a] if auto_pad in ("NOTSET", "") else (0, 0)
            room = n + low + high - extent
            count = -(-room // s) + 1 if ceil_mode and auto_pad != "VALID" else room // s + 1
            if ceil_mode and (count - 1) * s >= n + low:
                count -= 1
            if count < 1 and n:
                raise NodeError(
                    f"kernel {k} with dilation {d} spans {extent} elements of axis {a + 2}, but the input has only "
                    f"{n} with pads ({low}, {high}): use a larger input or more padding"
                )
            count = max(0, count)
        begin.append(low)
        end.append(high)
        out.append(count)
    return Windows(kernel, strides, dilations, tuple(begin), tuple(end), tuple(out))


@lru_cache(maxsize=512)
def _transposed(
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...] | None,
    pads: tuple[int, ...] | None,
    dilations: tuple[int, ...] | None,
    auto_pad: str,
    output_padding: tuple[int, ...] | None,
    output_shape: tuple[int, ...] | None,
) -> Windows:
    strides, dilations = _check(size, kernel, strides, dilations)
    _known(auto_pad)
    rank = len(size)
    extra = output_padding or (0,) * rank
    if len(extra) != rank or min(extra) < 0:
        raise NodeError(f"output_padding {list(extra)} must have one value of at least 0 for each of {rank} spatial axes")
    if output_shape and len(output_shape) == rank + 2:
        output_shape = output_shape[2:]
    if output_shape and len(output_shape) != rank:
        raise NodeError(f"output_shape {list(output_shape)} must have one value for each of {rank} spatial axes")
    full = [s * (n - 1) + x + (k - 1) * d + 1 for n, k, s, d, x in zip(size, kernel, strides, dilations, extra, strict=True)]
    wanted = output_shape
    if not wanted and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = tuple(n * s for n, s in zip(size, strides, strict=True))
    if wanted:
        split = [_split(f - w, auto_pad == "SAME_UPPER") for f, w in zip(full, wanted, strict=True)]
    else:
        split = list(_pads(pads, rank)) if auto_pad in ("NOTSET", "") else [(0, 0)] * rank
        wanted = tuple(f - low - high for f, (low, high) in zip(full, split, strict=True))
        if any(w < 0 and n for w, n in zip(wanted, size, strict=True)):
            raise NodeError(f"pads {split} crop more than the {full} elements that the transposed windows reach")
    out = output_shape or tuple(max(w, 0) for w in wanted)
    return Windows(kernel, strides, dilations, tuple(p[0] for p in split), tuple(p[1] for p in split), out)


def _split(total: int, more_at_end: bool) -> tuple[int, int]:
    half = total // 2
    return (half, total - half) if more_at_end else (total - half, half)


def _check(
    size: tuple[int, ...], kernel: tuple[int, ...], strides: tuple[int, ...] | None, dilations: tuple[int, ...] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank = len(size)
    if rank == 0:
        raise NodeError("the input needs at least one spatial axis after batch and channels")
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    for name, values in (("kernel_shape", kernel), ("strides", strides), ("dilations", dilations)):
        if len(values) != rank or min(values) < 1:
            raise NodeError(f"{name} {list(values)} must have one value of at least 1 for each of the {rank} spatial axes")
    return strides, dilations


def _pads(pads: tuple[int, ...] | None, rank: int) -> tuple[tuple[int, int], ...]:
    if pads is None:
        return ((0, 0),) * rank
    if len(pads) != 2 * rank or min(pads) < 0:
        raise NodeError(f"pads {list(pads)} must have two values of at least 0 for each of the {rank} spatial axes")
    return tuple(zip(pads[:rank], pads[rank:], strict=True))


def _known(auto_pad: str) -> None:
    if auto_pad not in ("NOTSET", "", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise NodeError(f"auto_pad {auto_pad!r} is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID")
