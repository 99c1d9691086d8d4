"""Attributes and names back to their older spelling."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.dtypes import dtype_name, from_onnx, is_float, to_onnx
from sardonyx.ir.graph import Node
from sardonyx.ir.lower.engine import Lowering
from sardonyx.ir.upgrade.steps import constant, new_node

__all__ = ["lowering"]

lowering = Lowering()


@lowering.undo("Cast", since=24)
def cast_24(node: Node) -> str | None:
    """See the upgrade: infinities to FNUZ types."""
    return "the FNUZ types saturated otherwise" if node.attrs.get("to") in (18, 20) else None


@lowering.undo("CastLike", since=24)
def cast_like_24(node: Node) -> str | None:
    """As Cast."""
    target = node.inputs[1].dtype if node.inputs[1] is not None else None
    return "the FNUZ types saturated otherwise" if target is None or to_onnx(target) in (18, 20) else None


@lowering.undo("Cast", since=6)
def cast_6(node: Node) -> str | None:
    """`to` becomes a name."""
    node.attrs["to"] = dtype_name(from_onnx(node.attrs["to"])).upper()
    return None


@lowering.undo("GlobalLpPool", "LpPool", since=2)
def lp_pool_2(node: Node) -> str | None:
    """`p` was a float."""
    node.attrs["p"] = float(node.attrs.get("p", 2))
    return None


@lowering.undo("AveragePool", since=19)
@lowering.undo("LpPool", since=18)
@lowering.undo("MaxPool", since=10)
def no_dilations(node: Node) -> str | None:
    """There were no dilations; ones say as much."""
    if all(d == 1 for d in node.attrs.get("dilations", ())):
        node.attrs.pop("dilations", None)
    return None


@lowering.undo("GridSample", since=20)
def grid_sample_20(node: Node) -> str | None:
    """Images only, and modes with a `bi`."""
    x = node.inputs[0]
    if x is None or x.rank != 4:
        return "it samples other than images"
    mode = node.attrs.get("mode", "linear")
    node.attrs["mode"] = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    return None


@lowering.undo("RoiAlign", since=16)
def roi_align_16(node: Node) -> str | None:
    """Coordinates were not shifted."""
    if node.attrs.get("coordinate_transformation_mode", "half_pixel") != "output_half_pixel":
        return "it shifts coordinates by half a pixel"
    del node.attrs["coordinate_transformation_mode"]
    return None


@lowering.undo("Mod", since=28)
def mod_28(node: Node) -> str | None:
    """Floats only with fmod."""
    x = node.inputs[0]
    floats = x is None or x.dtype is None or is_float(x.dtype)
    return "it rounds a quotient of floats down" if floats and not node.attrs.get("fmod", 0) else None


@lowering.undo("ScatterElements", since=11)
def scatter_elements_11(node: Node) -> list[Node]:
    """It was called Scatter."""
    return [Node("Scatter", node.inputs, node.outputs, dict(node.attrs), since=9, name=node.name, origins=node.origins)]


@lowering.undo("Hardmax", "LogSoftmax", "Softmax", since=13)
def softmax_13(node: Node) -> str | list[Node] | None:
    """All dims from the axis on were one row: the axis has to be last, or is brought there."""
    x, axis = node.inputs[0], node.attrs.get("axis", -1)
    if x is None or x.shape is None:
        if axis != -1:
            return "its axis may not be the last"
        node.attrs["axis"] = -1
        return None
    rank = len(x.shape)
    axis %= rank
    if all(d == 1 for d in x.shape[axis + 1 :]):
        node.attrs["axis"] = axis
        return None
    order = [*range(axis), *range(axis + 1, rank), axis]
    there = new_node(node, "Transpose", [x], perm=order)
    rows = new_node(node, node.op, there.outputs, axis=-1)
    back = new_node(node, "Transpose", rows.outputs, node.outputs, perm=[order.index(i) for i in range(rank)])
    return [there, rows, back]


@lowering.undo("QuantizeLinear", since=21)
def quantize_linear_21(node: Node) -> str | None:
    """The output's type was that of the zero point."""
    to = node.attrs.get("output_dtype", 0)
    if not to or node.input(2) is not None:
        node.attrs.pop("output_dtype", None)
        return None
    scale = node.inputs[1]
    if scale is None or scale.shape is None or not all(isinstance(d, int) for d in scale.shape):
        return "the shape of its scale is not known"
    del node.attrs["output_dtype"]
    zeros = np.zeros([d for d in scale.shape if isinstance(d, int)], from_onnx(to))
    node.set_inputs([node.inputs[0], scale, constant(f"{node.name}/zero_point", zeros)])
    return None


@lowering.undo("DequantizeLinear", "QuantizeLinear", since=13)
def per_tensor(node: Node) -> str | None:
    """There was one scale only."""
    scale = node.inputs[1]
    if scale is None or scale.shape not in ((), (1,)):
        return "it has more than one scale"
    node.attrs.pop("axis", None)
    return None


@lowering.undo("GRU", "LSTM", "RNN", since=7)
def recurrent_7(node: Node) -> str | None:
    """The sequence had to be asked for."""
    if node.outputs and node.outputs[0] is not None:
        node.attrs["output_sequence"] = 1
    return None


@lowering.undo("Tile", since=6)
def tile_6(node: Node) -> str | None:
    """Tile repeated along one axis."""
    repeats, x = node.const(1), node.inputs[0]
    if repeats is None or x is None or x.dtype is None:
        return "repeats are computed while running"
    axes = [i for i, r in enumerate(repeats) if r != 1] or [0]
    if len(axes) > 1:
        return "it repeats along several axes"
    parts = [constant(f"{node.name}/{n}", np.array(v, x.dtype)) for n, v in (("tiles", repeats[axes[0]]), ("axis", axes[0]))]
    node.set_inputs([x, *parts])
    return None
