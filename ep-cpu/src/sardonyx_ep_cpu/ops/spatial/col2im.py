"""Col2Im, and the scattering of columns that it shares with ConvTranspose."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import Windows, check_size, conv_windows, tap_range
from sardonyx.errors import NodeError

__all__ = ["col2im", "ops", "scatter_columns"]

ops = KernelSet()


@ops.add("Col2Im", since=18, host=(1, 2))
def col2im(xp, input, image_shape, block_shape, *, dilations=None, pads=None, strides=None):
    """Columns [N, C * prod(block), L] added up at their places in an image [N, C, *image_shape]."""
    image, block = tuple(image_shape.tolist()), tuple(block_shape.tolist())
    windows = conv_windows(image, block, strides=strides, pads=pads, dilations=dilations)
    if input.ndim != 3 or input.shape[1] % prod(block) or input.shape[2] != prod(windows.out):
        raise NodeError(f"Col2Im takes [N, C * {prod(block)}, {prod(windows.out)}] for image {image} and block {block}, got {input.shape}")
    check_size((input.shape[0], input.shape[1] // prod(block), *image), input.itemsize)
    y = xp.zeros((input.shape[0], input.shape[1] // prod(block), *image), input.dtype)
    if y.dtype == object:
        y.fill("")
    if input.size:
        scatter_columns(y, input.reshape(*y.shape[:2], *block, *windows.out), windows)
    return y


def scatter_columns(y: Any, columns: Any, windows: Windows) -> None:
    """Add columns [N, C, *kernel, *count] into y [N, C, *size], zeros, in place: window i starts at i * stride - begin."""
    rank = y.ndim - 2
    apart = all(extent <= stride for extent, stride in zip(windows.extent, windows.strides, strict=True))
    count = columns.shape[2 + rank :]
    axes = [
        [
            (t * d - low, *tap_range(n, c, t * d - low, s))
            for t in range(k)
            for d, low, s in [(windows.dilations[a], windows.begin[a], windows.strides[a])]
        ]
        for a, (n, c, k) in enumerate(zip(y.shape[2:], count, windows.kernel, strict=True))
    ]
    for tap in product(*(range(k) for k in windows.kernel)):
        chosen = [axes[a][t] for a, t in enumerate(tap)]
        if all(first < last for _, first, last in chosen):
            target = tuple(
                slice(first * s + offset, (last - 1) * s + offset + 1, s)
                for (offset, first, last), s in zip(chosen, windows.strides, strict=True)
            )
            part = columns[(slice(None), slice(None), *tap, *(slice(first, last) for _, first, last in chosen))]
            if apart:
                y[(..., *target)] = part
            else:
                y[(..., *target)] += part
