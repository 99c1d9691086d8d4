"""Upsample and Resize."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.upgrade.steps import Steps, constant, rename

__all__ = ["steps"]

steps = Steps()

ASYMMETRIC = {"coordinate_transformation_mode": "asymmetric"}


@steps.add("Upsample", to=7)
def upsample_7(node: Node) -> bool:
    """Upsample-1 knows images only."""
    height, width = node.attrs.get("height_scale"), node.attrs.get("width_scale")
    if height is None or width is None:
        return False
    mode = node.attrs.get("mode", "nearest")
    node.attrs.clear()
    node.attrs |= {"mode": "linear" if mode == "bilinear" else mode, "scales": [1.0, 1.0, height, width]}
    return True


@steps.add("Upsample", to=9)
def upsample_9(node: Node) -> bool:
    """`scales` became an input."""
    scales = node.attrs.get("scales")
    if scales is None:
        return False
    del node.attrs["scales"]
    node.set_inputs([node.inputs[0], constant(f"{node.name}/scales", np.array(scales, np.float32))])
    return True


@steps.add("Upsample", to=10)
def upsample_10(node: Node) -> bool | list[Node]:
    """Upsample goes on as Resize; it never shrinks, and maps index i to i / scale, rounded down for `nearest`."""
    mode = node.attrs.get("mode", "nearest")
    if mode not in ("nearest", "linear", "bilinear"):
        return False
    attrs = ASYMMETRIC | ({"mode": "nearest", "nearest_mode": "floor"} if mode == "nearest" else {"mode": "linear"})
    return rename(node, "Resize", [node.inputs[0], None, node.inputs[1]], attrs)


@steps.add("Resize", to=11)
def resize_11(node: Node) -> bool:
    """Resize-10 maps index i to i / scale; `nearest` rounds down where it enlarges and up where it shrinks (as the cases
    published with opset 10 have it), which one newer node can say only if all scales go the same way."""
    x, scales = node.inputs
    attrs = dict(node.attrs) | ASYMMETRIC
    if attrs.get("mode", "nearest") == "nearest":
        factors = node.const(1)
        if factors is None:
            return False
        if (factors >= 1).all():
            attrs["nearest_mode"] = "floor"
        elif (factors <= 1).all():
            attrs["nearest_mode"] = "ceil"
        else:
            return False
    node.attrs.clear()
    node.attrs.update(attrs)
    node.set_inputs([x, None, scales])
    return True


@steps.add("Resize", to=13)
def resize_13(node: Node) -> bool:
    """Inputs without effect may be absent, where 11 wants empty tensors. One coordinate mode has no newer form."""
    mode = node.attrs.get("coordinate_transformation_mode", "half_pixel")
    if mode == "tf_half_pixel_for_nn":
        return False
    x, roi, scales, sizes = (node.input(i) for i in range(4))
    if sizes is not None:
        scales = None
    if mode != "tf_crop_and_resize" or _is_empty(roi):
        roi = None
    node.set_inputs([x, roi, scales] if sizes is None else [x, roi, None, sizes])
    return True


def _is_empty(value: Value | None) -> bool:
    return value is not None and value.const is not None and value.const.size == 0
