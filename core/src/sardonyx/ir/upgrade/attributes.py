"""Attributes that were dropped, spelled otherwise or given explicit defaults, and operators that got another name."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.dtypes import from_name, is_float, to_onnx
from sardonyx.ir.graph import Node
from sardonyx.ir.upgrade.steps import Steps, rename

__all__ = ["steps"]

steps = Steps()


@steps.add("Abs", "Add", "Ceil", "Clip", "Div", "Elu", "Exp", "Floor", "HardSigmoid", "InstanceNormalization", "LeakyRelu", to=6)
@steps.add("Log", "Max", "Mean", "Min", "Mul", "Neg", "PRelu", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Sub", "Sum", "Tanh", to=6)
def consumed_inputs_6(node: Node) -> bool:
    """Opset 6 dropped `consumed_inputs`, a hint about reusing memory."""
    node.attrs.pop("consumed_inputs", None)
    return True


@steps.add("Selu", to=6)
def selu_6(node: Node) -> bool:
    """Selu-1 has rounder defaults."""
    node.attrs.pop("consumed_inputs", None)
    node.attrs.setdefault("alpha", 1.673200011253357)
    node.attrs.setdefault("gamma", 1.0506999492645264)
    return True


@steps.add("Concat", to=4)
def concat_4(node: Node) -> bool:
    """Concat-1's axis is 1 by default; since 4 it has to be given."""
    node.attrs.setdefault("axis", 1)
    return True


@steps.add("Cast", to=6)
def cast_6(node: Node) -> bool:
    """Cast-1 names the type; since 6 `to` is its number."""
    to = node.attrs.get("to")
    if isinstance(to, str):
        try:
            node.attrs["to"] = to_onnx(from_name(to.lower()))
        except KeyError:
            return False
    return True


@steps.add("Cast", to=24)
def cast_24(node: Node) -> bool:
    """Until 23 an infinity saturates to NaN in the FNUZ types, since 24 to their largest value."""
    return node.attrs.get("to") not in (18, 20)


@steps.add("CastLike", to=24)
def cast_like_24(node: Node) -> bool:
    """As for Cast, where the target's type is known."""
    target = node.inputs[1].dtype if node.inputs[1] is not None else None
    return target is not None and to_onnx(target) not in (18, 20)


@steps.add("GlobalLpPool", "LpPool", to=2)
def lp_pool_2(node: Node) -> bool:
    """`p` became an integer, and LpPool's kernel_shape required."""
    p = node.attrs.get("p", 2.0)
    if p != int(p) or (node.op == "LpPool" and "kernel_shape" not in node.attrs):
        return False
    node.attrs["p"] = int(p)
    return True


@steps.add("GridSample", to=20)
def grid_sample_20(node: Node) -> bool:
    """The modes lost their `bi`."""
    mode = node.attrs.get("mode", "bilinear")
    node.attrs["mode"] = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return True


@steps.add("RoiAlign", to=16)
def roi_align_16(node: Node) -> bool:
    """RoiAlign-10 does not shift coordinates by half a pixel, which became the default."""
    node.attrs["coordinate_transformation_mode"] = "output_half_pixel"
    return True


@steps.add("Erf", to=13)
@steps.add("ReduceLogSum", "ReduceLogSumExp", to=28)
def floats_only(node: Node) -> bool:
    """The newer version takes floating-point numbers only."""
    x = node.inputs[0]
    return x is not None and x.dtype is not None and is_float(x.dtype)


@steps.add("OneHot", to=11)
def one_hot_11(node: Node) -> bool:
    """Until 9 a negative index means no hot value at all; since 11 it counts from the back."""
    indices = node.inputs[0]
    if indices is None or indices.dtype is None:
        return False
    values = node.const(0)
    return indices.dtype.kind == "u" or (values is not None and not (values < 0).any())


@steps.add("Scatter", to=11)
def scatter_11(node: Node) -> bool | list[Node]:
    """Scatter goes on under the name ScatterElements."""
    return rename(node, "ScatterElements", node.inputs, dict(node.attrs))


@steps.add("LabelEncoder", to=2, domain="ai.onnx.ml")
def label_encoder_2(node: Node) -> bool:
    """LabelEncoder-1 has one list of classes; the input's type says which way it maps. The first of equal labels counts."""
    x = node.inputs[0]
    classes = node.attrs.get("classes_strings")
    if x is None or x.dtype is None or classes is None:
        return False
    attrs = node.attrs
    del attrs["classes_strings"]
    if x.dtype == np.int64:
        attrs |= {"keys_int64s": list(range(len(classes))), "values_strings": classes}
        attrs.pop("default_int64", None)
    else:
        first = {label: i for i, label in reversed(list(enumerate(classes)))}
        attrs |= {"keys_strings": list(first), "values_int64s": list(first.values())}
        attrs.pop("default_string", None)
    return True
