"""Pad in all its versions and modes.

Negative widths crop, before anything is mirrored, repeated or wrapped; in mode constant they may take more than there is.
"""

from __future__ import annotations

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import check_size, pad_widths
from sardonyx.errors import NodeError

__all__ = ["ops", "pad"]

ops = KernelSet()

_MODES = ("constant", "reflect", "edge", "wrap")


def pad(xp, data, widths, mode, value=None):
    """`data` with (before, after) elements added to each dim; `value` is a scalar (0, False or "" by default)."""
    if mode not in _MODES:
        raise NodeError(f"pad mode {mode!r} is not one of {', '.join(_MODES)}")
    if not any(before or after for before, after in widths):
        return data
    if mode == "constant":
        return _pad_constant(xp, data, widths, value)
    data, widths = _crop(data, widths)
    shape = tuple([dim + before + after for dim, (before, after) in zip(data.shape, widths, strict=True)])
    check_size(shape, data.itemsize)
    inner = tuple([slice(before, before + dim) for dim, (before, _) in zip(data.shape, widths, strict=True)])
    output = xp.empty(shape, data.dtype)
    output[inner] = data
    for axis, (before, after) in enumerate(widths):
        lead, size = (slice(None),) * axis, data.shape[axis]
        for start, count in ((0, before), (before + size, after)):
            if count:
                source = before + _sources(xp, start - before, count, size, mode, axis)
                output[(*lead, slice(start, start + count), *inner[axis + 1 :])] = output[(*lead, source, *inner[axis + 1 :])]
    return output


def _pad_constant(xp, data, widths, value):
    shape = tuple([dim + before + after for dim, (before, after) in zip(data.shape, widths, strict=True)])
    if min(shape, default=0) < 0:
        raise NodeError(f"pads {widths} crop more than the tensor of shape {data.shape} has")
    check_size(shape, data.itemsize)
    if value is None and data.dtype != object:
        output = xp.zeros(shape, data.dtype)
    else:
        output = xp.empty(shape, data.dtype)
        output[...] = "" if value is None else value
    target = tuple([slice(max(0, before), max(0, dim - max(0, after))) for dim, (before, after) in zip(shape, widths, strict=True)])
    source = tuple([slice(max(0, -before), max(0, dim - max(0, -after))) for dim, (before, after) in zip(data.shape, widths, strict=True)])
    output[target] = data[source]
    return output


def _crop(data, widths):
    """`data` without what negative widths remove, and the widths that are left."""
    if min([min(width) for width in widths], default=0) >= 0:
        return data, widths
    for axis, (before, after) in enumerate(widths):
        if max(0, -before) + max(0, -after) > data.shape[axis]:
            raise NodeError(f"pads {before} and {after} crop more than the {data.shape[axis]} elements of axis {axis}")
    index = tuple([slice(max(0, -before), dim - max(0, -after)) for dim, (before, after) in zip(data.shape, widths, strict=True)])
    return data[index], [(max(0, before), max(0, after)) for before, after in widths]


def _sources(xp, start, count, size, mode, axis):
    """Which of `size` elements the `count` padded ones from position `start` (negative before the first element) repeat."""
    if size == 0:
        raise NodeError(f"mode {mode} has no element to pad axis {axis} with")
    position = xp.arange(start, start + count)
    if mode == "edge":
        return xp.clip(position, 0, size - 1)
    if mode == "wrap":
        return position % size
    if count >= size:
        raise NodeError(f"mode reflect cannot add {count} elements to axis {axis}, which has {size}: at most {size - 1}")
    return size - 1 - xp.abs(size - 1 - xp.abs(position))


@ops.add("Pad", since=1)
def pad_1(xp, data, *, paddings, mode="constant", value=0.0):
    """`paddings` [begins, ends], two per dim; `value` fills in mode constant; modes reflect and edge."""
    return pad(xp, data, pad_widths(paddings, data.ndim), mode, value)


@ops.add("Pad", since=2)
def pad_2(xp, data, *, pads, mode="constant", value=0.0):
    """As Pad-1 with `paddings` named `pads`; negative widths crop."""
    return pad(xp, data, pad_widths(pads, data.ndim), mode, value)


def _scalar(value):
    if value is None:
        return None
    if value.size != 1:
        raise NodeError(f"constant_value must be a scalar, not of shape {value.shape}")
    return value.reshape(())


@ops.add("Pad", since=11, host=(1,))
def pad_11(xp, data, pads, constant_value=None, *, mode="constant"):
    """As Pad-2 with `pads` (int64) and the fill value as tensors."""
    return pad(xp, data, pad_widths(pads.ravel().tolist(), data.ndim), mode, _scalar(constant_value))


@ops.add("Pad", since=18, host=(1, 3))
def pad_18(xp, data, pads, constant_value=None, axes=None, *, mode="constant"):
    """As Pad-11 for the dims `axes` only; mode wrap (opset 19) repeats the tensor periodically."""
    widths = pad_widths(pads.ravel().tolist(), data.ndim, None if axes is None else axes.ravel().tolist())
    return pad(xp, data, widths, mode, _scalar(constant_value))
