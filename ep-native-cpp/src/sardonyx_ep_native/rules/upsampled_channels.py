"""Transposed convolutions to few channels whose windows do not overlap, as at the end of segmentation nets."""

from __future__ import annotations

from math import prod

import numpy as np

from sardonyx.ep.rules import Edit, Outcome, constant, no, rule
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.types import TensorType

__all__ = ["upsampled_channels"]

FEW = 4


@rule("ConvTranspose")
def upsampled_channels(node: Node, graph: Graph) -> Outcome:
    """ConvTranspose with windows as large as its strides: a 1x1 Conv that gives a window's elements as channels, and DepthToSpace.

    In the blocked layout a tensor of few channels is mostly padding, and such a tensor would be the largest of the net.
    """
    x, weights, bias = (*node.inputs, None)[:3]
    out = node.outputs[0]
    if x is None or weights is None or out is None or x.rank != 4 or x.dtype != np.float32:
        return None
    w, b = node.const(1), None if bias is None else node.const(2)
    if w is None or (bias is not None and b is None):
        return no("its weights or bias are no constants")
    channels, few, height, width = w.shape
    if node.attrs.get("group", 1) != 1 or few > FEW or height != width or height < 2:
        return no(f"it has groups, more than {FEW} output channels, or no square windows")
    if not _is_aligned(node, [height, width]):
        return no("its windows overlap or leave gaps, or the output is cropped or extended")
    filters = w.transpose(1, 2, 3, 0).reshape(few * height * width, channels, 1, 1)
    inputs: list[Value | None] = [x, constant(np.ascontiguousarray(filters), f"{node.name}/filters")]
    if b is not None:
        inputs.append(constant(np.repeat(b, height * width), f"{node.name}/bias"))
    sizes = (None, None) if x.shape is None else x.shape[2:]
    batch = None if x.shape is None else x.shape[0]
    edit = Edit(node)
    y = edit.add("Conv", inputs, type=TensorType(out.dtype, (batch, few * height * width, *sizes)))
    return edit.replace(out, edit.add("DepthToSpace", [y], {"blocksize": height, "mode": "CRD"}, like=out))


def _is_aligned(node: Node, kernel: list[int]) -> bool:
    attrs = node.attrs
    zeros = (*(attrs.get("pads") or ()), *(attrs.get("output_padding") or ()))
    return (
        list(attrs.get("strides") or [1, 1]) == kernel
        and prod(attrs.get("dilations") or [1]) == 1
        and not any(zeros)
        and not attrs.get("output_shape")
        and attrs.get("auto_pad", "NOTSET") in ("NOTSET", "VALID")
    )
