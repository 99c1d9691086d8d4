"""What the engine takes of operators that resample images and transform signals."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx_ep_native.claims import DTYPES, add, dtypes, one_of

_REAL = tuple(DTYPES[:4])
_SINGLE_DOUBLE = tuple(DTYPES[:2])


@add("Resize", since=11)
def resize(node: Node) -> str | None:
    """Every dtype and mode."""
    mode = node.attrs.get("mode", "nearest")
    if mode not in ("nearest", "linear", "cubic"):
        return f"mode {mode!r} is none of nearest, linear, cubic"
    return "antialias is for the modes linear and cubic" if mode == "nearest" and node.attrs.get("antialias") else None


@add("GridSample", since=16)
@add("GridSample", domain="com.microsoft")
def grid_sample(node: Node) -> str | None:
    """Floating-point numbers on up to three axes."""
    x = node.inputs[0]
    if x is not None and x.rank is not None and not 3 <= x.rank <= 5:
        return f"its input has rank {x.rank}; the engine samples one to three axes"
    mode, padding = node.attrs.get("mode", "linear"), node.attrs.get("padding_mode", "zeros")
    if mode not in ("nearest", "linear", "bilinear", "cubic", "bicubic") or padding not in ("zeros", "border", "reflection"):
        return f"there is no mode {mode!r} with padding_mode {padding!r}"
    return dtypes(node, _REAL, (0, 1))


@add("RoiAlign", since=16)
def roi_align(node: Node) -> str | None:
    """float32 and float64."""
    x, rois = node.inputs[0], node.inputs[1]
    if x is not None and rois is not None and x.dtype != rois.dtype:
        return "its regions are of another type than its input"
    modes = one_of(node, "mode", "avg", ("avg", "max")) or one_of(
        node, "coordinate_transformation_mode", "half_pixel", ("half_pixel", "output_half_pixel")
    )
    return modes or dtypes(node, _SINGLE_DOUBLE, (0, 1))


@add("DFT", since=20)
@add("STFT", since=17)
def fourier(node: Node) -> str | None:
    """Floating-point numbers; a window of the signal's type."""
    x, window = node.inputs[0], node.input(2) if node.op == "STFT" else None
    if window is not None and x is not None and x.dtype != window.dtype:
        return "its window is of another type than its signal"
    return dtypes(node, _REAL)
