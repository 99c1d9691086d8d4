"""Resize back to older Resize and Upsample."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.lower.engine import Lowering
from sardonyx.ir.upgrade.steps import constant

__all__ = ["lowering"]

lowering = Lowering()


@lowering.undo("Resize", since=19)
def resize_19(node: Node) -> str | None:
    """Without the symmetric mode."""
    mode = node.attrs.get("coordinate_transformation_mode", "half_pixel")
    return "half_pixel_symmetric came with opset 19" if mode == "half_pixel_symmetric" else None


@lowering.undo("Resize", since=18)
def resize_18(node: Node) -> str | None:
    """Scales, sizes and regions are given for all axes."""
    x, axes = node.inputs[0], node.attrs.get("axes")
    if axes is None:
        return None
    if x is None or x.shape is None:
        return "its rank is not known"
    rank = len(x.shape)
    named = [a % rank for a in axes]
    neutral = {1: [0.0] * rank + [1.0] * rank, 2: [1.0] * rank, 3: [d if isinstance(d, int) else -1 for d in x.shape]}
    inputs: list[Value | None] = [x]
    for i in range(1, len(node.inputs)):
        value, given = node.inputs[i], node.const(i)
        if value is not None and given is None:
            return "its sizes are computed while running"
        if value is not None and given is not None and given.size:
            whole = np.array(neutral[i], given.dtype)
            whole[[*named, *(a + rank for a in named)] if i == 1 else named] = given
            if (whole < 0).any():
                return "it keeps dims whose size is not known"
            value = constant(value.name, whole)
        inputs.append(value)
    del node.attrs["axes"]
    node.set_inputs(inputs)
    return None


@lowering.undo("Resize", since=13)
def resize_13(node: Node) -> str | None:
    """Inputs without effect are empty, not absent."""
    empty = np.zeros(0, np.float32)
    x, roi, scales, sizes = (node.input(i) for i in range(4))
    roi = roi if roi is not None else constant(f"{node.name}/roi", empty)
    scales = scales if scales is not None else constant(f"{node.name}/scales", empty)
    node.set_inputs([x, roi, scales] if sizes is None else [x, roi, scales, sizes])
    return None


@lowering.undo("Resize", since=11)
def resize_11(node: Node) -> str | None:
    """Index i came from i / scale, rounded down where it enlarges and up where it shrinks."""
    mode, scales = node.attrs.get("mode", "nearest"), node.const(2)
    if node.attrs.get("coordinate_transformation_mode", "half_pixel") != "asymmetric" or mode == "cubic":
        return "only asymmetric coordinates were known"
    if node.input(3) is not None or (scales is None and mode == "nearest") or (scales is not None and scales.size == 0):
        return "it is not given by known scales"
    if mode == "nearest" and scales is not None:
        rounding = node.attrs.get("nearest_mode", "round_prefer_floor")
        if not ((rounding == "floor" and (scales >= 1).all()) or (rounding == "ceil" and (scales <= 1).all())):
            return f"{rounding!r} was not known for such scales"
    node.attrs.clear()
    node.attrs["mode"] = mode
    node.set_inputs([node.inputs[0], node.inputs[2]])
    return None


@lowering.undo("Resize", since=10)
def resize_10(node: Node) -> str | list[Node]:
    """It was called Upsample."""
    scales = node.const(1)
    if scales is None or (scales < 1).any():
        return "Upsample does not shrink"
    return [Node("Upsample", node.inputs, node.outputs, dict(node.attrs), since=9, name=node.name, origins=node.origins)]


@lowering.undo("Upsample", since=9)
def upsample_9(node: Node) -> str | None:
    """`scales` becomes an attribute."""
    scales = node.const(1)
    if scales is None:
        return "its scales are computed while running"
    node.attrs["scales"] = [float(s) for s in scales]
    node.set_inputs(node.inputs[:1])
    return None


@lowering.undo("Upsample", since=7)
def upsample_7(node: Node) -> str | None:
    """Images only."""
    scales = node.attrs["scales"]
    if len(scales) != 4 or scales[:2] != [1.0, 1.0]:
        return "it enlarges other than images"
    mode = node.attrs.get("mode", "nearest")
    node.attrs.clear()
    node.attrs |= {"mode": "bilinear" if mode == "linear" else mode, "height_scale": scales[2], "width_scale": scales[3]}
    return None
