"""What the engine takes of operators that place, pick and make elements: any dtype it holds, mostly."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx_ep_native.claims import DTYPES, F32, add, dtypes, named_dtype


@add("Transpose")
@add("Slice", since=10)
@add("Split", since=18)
@add("Concat", since=4)
@add("Expand", since=8)
@add("Tile", since=6)
@add("DepthToSpace")
@add("SpaceToDepth")
@add("Gather")
@add("GatherElements", since=11)
@add("GatherND", since=11)
@add("ReverseSequence", since=10)
@add("ScatterElements", since=11)
@add("ScatterND", since=11)
@add("Scatter", since=9)
@add("Pad", since=11)
@add("CenterCropPad", since=18)
@add("Trilu", since=14)
@add("OneHot", since=11)
@add("TopK", since=10)
@add("NonZero", since=9)
@add("Compress", since=9)
@add("Unique", since=11)
@add("NonMaxSuppression", since=10)
def any_dtype(node: Node) -> str | None:
    """Every dtype the engine holds."""
    return None


@add("Range", since=11)
def range_(node: Node) -> str | None:
    """Half precision by way of float32."""
    return named_dtype(node, "stash_type", F32)


@add("EyeLike", since=9)
def eye_like(node: Node) -> str | None:
    """Every dtype the engine holds."""
    return named_dtype(node, "dtype", tuple(DTYPES))


@add("TensorScatter", since=24)
def tensor_scatter(node: Node) -> str | None:
    """Modes linear and circular."""
    mode = node.attrs.get("mode", "linear")
    return None if mode in ("linear", "circular") else f"mode {mode!r} is neither linear nor circular"


@add("ConstantOfShape", since=9)
def constant_of_shape(node: Node) -> str | None:
    """A value of one element."""
    value = node.attrs.get("value")
    if value is not None and value.dtype == np.uint64 and value.max(initial=0) > np.iinfo(np.int64).max:
        return "its value exceeds int64"
    return None if value is None or value.size == 1 else f"value must have one element, not shape {value.shape}"


@add("Dropout", since=7)
def dropout(node: Node) -> str | None:
    """Inference."""
    if node.input(2) is None:
        return None
    training = node.const(2)
    return "its training mode is not known to be off" if training is None or training.any() else None


@add("Col2Im", since=18)
def col2im(node: Node) -> str | None:
    """Numbers."""
    v = node.inputs[0]
    return "it is of bool" if v is not None and v.dtype == np.bool_ else None


@add("CropAndResize", domain="com.microsoft")
def crop_and_resize(node: Node) -> str | None:
    """float32."""
    return dtypes(node, F32, (0, 1))
