"""Operators that joined the standard after they were com.microsoft's."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Graph, Node
from sardonyx.passes.match import attribute, ints
from sardonyx.passes.rules import Edit, Outcome, constant, no, rule

__all__ = ["RENAMED"]


@rule("Trilu", "GatherND", "Range", "Pad", domain="com.microsoft")
def standard_name(node: Node, graph: Graph) -> Outcome:
    """The same operator in the standard domain."""
    edit, out = Edit(node), node.outputs[0]
    assert out is not None
    if node.op == "Range" and len(node.inputs) < 3:
        return no("its step is left out")
    return edit.replace(out, edit.add(node.op, node.inputs, dict(node.attrs), like=out))


@rule("ExpandDims", domain="com.microsoft")
def standard_expand_dims(node: Node, graph: Graph) -> Outcome:
    """A new axis at a constant place: Unsqueeze."""
    axis, out = ints(node.inputs[1]), node.outputs[0]
    if axis is None or len(axis) != 1 or out is None:
        return no("its axis is not constant")
    edit = Edit(node)
    return edit.replace(out, edit.add("Unsqueeze", [node.inputs[0], constant(np.array(axis, np.int64), "axes")], like=out))


@rule("QuantizeLinear", "DequantizeLinear", domain="com.microsoft")
def standard_quantization(node: Node, graph: Graph) -> Outcome:
    """QuantizeLinear and DequantizeLinear by one scale, or by one per element of a named axis."""
    scale, out = node.inputs[1], node.outputs[0]
    if scale is None or scale.rank is None or out is None or (scale.rank > 0 and "axis" not in node.attrs):
        return no("it has a scale per element of an axis it does not name")
    edit = Edit(node)
    attrs = {"axis": node.attrs["axis"], "block_size": attribute(node, "block_size", 0)} if scale.rank > 0 else {}
    return edit.replace(out, edit.add(node.op, node.inputs, attrs, like=out))


RENAMED = (standard_name, standard_expand_dims, standard_quantization)
