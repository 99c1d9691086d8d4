"""The addition before a layer normalisation, done while the row is in the first-level cache."""

from __future__ import annotations

import numpy as np

from sardonyx.ep.rules import Edit, Outcome, made_by, no, rule, same_shape
from sardonyx.ir.graph import Graph, Node

__all__ = ["norm_residual"]


@rule("LayerNormalization", "RMSNormalization")
def norm_residual(node: Node, graph: Graph) -> Outcome:
    """LayerNormalization(Add(x, r)) -> AddLayerNorm(x, r), which also gives the sum where others read it."""
    add = made_by(node.inputs[0], "Add")
    if add is None:
        return None
    x, residual = add.inputs
    total = add.outputs[0]
    if x is None or residual is None or total is None or total.dtype != np.float32:
        return None
    if any(v is not None and (v.uses or v in graph.outputs) for v in node.outputs[1:]):
        return no("its statistics are read")
    if any(v is not None and v.producer is not None for v in node.inputs[1:]):
        return no("its scale or bias is computed")
    if not same_shape(x, total) or not same_shape(residual, total):
        return no("the terms have not surely one shape")
    attrs = {"axis": node.attrs.get("axis", -1), "epsilon": node.attrs.get("epsilon", 9.999999747378752e-06), "rms": int(node.op[0] == "R")}
    edit = Edit(node, add)
    y, total_again = edit.add("AddLayerNorm", [x, residual, *node.inputs[1:]], attrs, domain="sx", like=total, outputs=2)
    edit.replace(node.outputs[0], y)  # type: ignore[arg-type]
    return edit.replace(total, total_again)
