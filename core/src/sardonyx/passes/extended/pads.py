"""Pad before convolutions and pools."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ir.dtypes import is_float
from sardonyx.ir.graph import Graph, Node
from sardonyx.passes.match import attribute, ints, made_by, scalar
from sardonyx.passes.rules import Edit, Outcome, no, rule

__all__ = ["fold_pad"]


@rule("Conv", "AveragePool", "MaxPool")
def fold_pad(node: Node, graph: Graph) -> Outcome:
    """A constant Pad of spatial axes before a convolution or pool becomes its pads."""
    pad = made_by(node.inputs[0], "Pad")
    x = pad.inputs[0] if pad is not None else None
    if pad is None or x is None or x.rank is None or x.dtype is None:
        return None
    pads, axes = ints(pad.inputs[1]), ints(pad.input(3)) if pad.input(3) is not None else list(range(x.rank))
    value = 0.0 if pad.input(2) is None else scalar(pad.input(2))
    if attribute(pad, "mode", "constant") != "constant" or pads is None or axes is None or not is_float(x.dtype):
        return no("the Pad is not a constant one")
    axes = [a % x.rank for a in axes]
    half = len(axes)
    if min(pads) < 0 or any(pads[i] or pads[i + half] for i, a in enumerate(axes) if a < 2):
        return no("it crops, or pads batch or channels")
    spatial = x.rank - 2
    before, after = [0] * spatial, [0] * spatial
    for i, a in enumerate(axes):
        if a >= 2:
            before[a - 2], after[a - 2] = pads[i], pads[i + half]
    attrs = _padded(node, value, before, after)
    if attrs is None:
        return no("the pads would mean something else there")
    out = node.outputs[0]
    if out is None or any(v is not None for v in node.outputs[1:]):
        return None
    edit = Edit(node, pad)
    return edit.replace(out, edit.add(node.op, [x, *node.inputs[1:]], attrs, like=out))


def _padded(node: Node, value: float | None, before: list[int], after: list[int]) -> dict[str, Any] | None:
    """The attributes with the pads added, or None if the result would differ."""
    n = len(before)
    attrs = dict(node.attrs)
    own = attribute(node, "pads", [0] * (2 * n))
    if attribute(node, "auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return None
    attrs.pop("auto_pad", None)
    attrs["pads"] = [a + b for a, b in zip(own, before + after, strict=True)]
    if node.op == "Conv":
        return attrs if value == 0 else None
    kernel = node.attrs["kernel_shape"]
    if attribute(node, "ceil_mode", 0) or any(p >= k for p, k in zip(attrs["pads"], [*kernel, *kernel], strict=True)):
        return None
    if node.op == "MaxPool":
        return attrs if value == -np.inf else None
    if value != 0 or (any(own) and not attribute(node, "count_include_pad", 0)):
        return None
    attrs["count_include_pad"] = 1
    return attrs
