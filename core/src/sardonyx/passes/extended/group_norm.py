"""GroupNormalization, written as an InstanceNormalization of grouped channels."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Graph, Node
from sardonyx.passes.match import attribute, made_by, only_use, same_shape
from sardonyx.passes.rules import Edit, Outcome, constant, no, rule

__all__ = ["fuse_group_norm"]


@rule("Reshape")
def fuse_group_norm(node: Node, graph: Graph) -> Outcome:
    """x [n, c, ...] seen as [n, g, m], instance-normalised, seen as x again: GroupNormalization with g groups."""
    norm, out = made_by(node.inputs[0], "InstanceNormalization"), node.outputs[0]
    view = made_by(norm.inputs[0], "Reshape") if norm is not None else None
    x = view.inputs[0] if view is not None else None
    if norm is None or view is None or x is None or out is None or not only_use(node.inputs[0]) or not only_use(norm.inputs[0]):
        return None
    grouped, scale, bias = view.outputs[0], norm.const(1), norm.const(2)
    if scale is None or bias is None or grouped is None or grouped.rank != 3 or x.shape is None or len(x.shape) < 3:
        return no("its scale or bias is not constant, or the ranks differ")
    channels, groups = x.shape[1], scale.size
    same = same_shape(x, out) and grouped.shape is not None and grouped.shape[:2] == (x.shape[0], groups)
    if not same or not isinstance(channels, int) or groups == 0 or channels % groups:
        return no("the channels are not known, or are not what is grouped")
    terms = [constant(np.repeat(c, channels // groups), name) for c, name in ((scale, "scale"), (bias, "bias"))]
    edit = Edit(node, norm, view)
    attrs = {"num_groups": groups, "epsilon": attribute(norm, "epsilon", 1e-5)}
    return edit.replace(out, edit.add("GroupNormalization", [x, *terms], attrs, like=out))
