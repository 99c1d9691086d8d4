"""Pad in all its versions and modes.

Negative widths crop, before anything is mirrored, repeated or wrapped.
"""

from __future__ import annotations

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import pad_widths
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
    for axis, (before, after) in enumerate(widths):
        if before or after:
            data = data.take(_sources(xp, data.shape, axis, before, after, mode), axis)
    return data


def _pad_constant(xp, data, widths, value):
    shape = tuple([dim + before + after for dim, (before, after) in zip(data.shape, widths, strict=True)])
    if min(shape) < 0:
        raise NodeError(f"pads {widths} crop more than the tensor of shape {data.shape} has")
    if value is None and data.dtype == object:
        value = ""
    if value is None:
        output = xp.zeros(shape, data.dtype)
    else:
        output = xp.empty(shape, data.dtype)
        output[...] = value
    target = tuple([slice(max(0, before), max(0, dim - max(0, after))) for dim, (before, after) in zip(shape, widths, strict=True)])
    source = tuple([slice(max(0, -before), max(0, dim - max(0, -after))) for dim, (before, after) in zip(data.shape, widths, strict=True)])
    output[target] = data[source]
    return output


def _sources(xp, shape, axis, before, after, mode):
    """The index along `axis` that each element of the padded dim is copied from."""
    first, end = max(0, -before), shape[axis] - max(0, -after)
    size = end - first
    before, after = max(0, before), max(0, after)
    if size < 0 or (size == 0 and (before or after)):
        raise NodeError(f"mode {mode} has nothing to pad axis {axis} of shape {shape} with")
    position = xp.arange(-before, size + after)
    if mode == "edge":
        return first + xp.clip(position, 0, size - 1)
    if mode == "wrap":
        return first + position % max(size, 1)
    if max(before, after) >= max(size, 1):
        raise NodeError(f"mode reflect cannot add {max(before, after)} elements to axis {axis}, which has {size}: at most {size - 1}")
    return first + (size - 1 - xp.abs(size - 1 - xp.abs(position)))


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
    return pad(xp, data, pad_widths(pads.tolist(), data.ndim), mode, _scalar(constant_value))


@ops.add("Pad", since=18, host=(1, 3))
def pad_18(xp, data, pads, constant_value=None, axes=None, *, mode="constant"):
    """As Pad-11 for the dims `axes` only; mode wrap (opset 19) repeats the tensor periodically."""
    widths = pad_widths(pads.tolist(), data.ndim, None if axes is None else axes.tolist())
    return pad(xp, data, widths, mode, _scalar(constant_value))
