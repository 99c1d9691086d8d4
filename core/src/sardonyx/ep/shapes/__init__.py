"""Shape arithmetic that every provider shares: pads, windows, broadcasting, slices, resize coordinates.

Pure functions over Python ints and small numpy arrays; nothing here touches tensor data.
"""

from __future__ import annotations

from sardonyx.ep.shapes.axes import normalize_axes, normalize_axis, reduction_axes
from sardonyx.ep.shapes.broadcast import broadcast_shape
from sardonyx.ep.shapes.pads import pad_widths
from sardonyx.ep.shapes.reshape import reshape_shape
from sardonyx.ep.shapes.resize import ResizeAxis, ResizeMode, resize_axis, resize_sizes
from sardonyx.ep.shapes.size import available_memory, check_size
from sardonyx.ep.shapes.slices import clamp_slice, slice_index
from sardonyx.ep.shapes.split import even_split, split_sizes
from sardonyx.ep.shapes.windows import Windows, conv_windows, pool_windows, tap_range, tap_ranges, transpose_windows, window_counts

__all__ = [
    "ResizeAxis",
    "ResizeMode",
    "Windows",
    "available_memory",
    "broadcast_shape",
    "check_size",
    "clamp_slice",
    "conv_windows",
    "even_split",
    "normalize_axes",
    "normalize_axis",
    "pad_widths",
    "pool_windows",
    "reduction_axes",
    "reshape_shape",
    "resize_axis",
    "resize_sizes",
    "slice_index",
    "split_sizes",
    "tap_range",
    "tap_ranges",
    "transpose_windows",
    "window_counts",
]
