"""A tensor added to itself times a gate per channel (squeeze-excite with a shortcut) is one pass over it instead of two."""

from __future__ import annotations

import numpy as np

from sardonyx.ep.rules import Edit, Outcome, constant, made_by, no, only_use, rule
from sardonyx.ir.graph import Graph, Node, Value

__all__ = ["gated_residual"]


@rule("Add")
def gated_residual(node: Node, graph: Graph) -> Outcome:
    """x + x * gate -> x * (gate + 1): what makes the gate can take the 1 over."""
    for x, product in (node.inputs, node.inputs[::-1]):
        mul = made_by(product, "Mul")
        if mul is None or x is None or x not in mul.inputs:
            continue
        gate = mul.inputs[1] if mul.inputs[0] is x else mul.inputs[0]
        if gate is None or gate is x or x.dtype != np.float32 or node.outputs[0] is None:
            return None
        if not only_use(product) or not only_use(gate):
            return no("the gate or the product has another user")
        if not _per_channel(gate, x):
            return no("the gate is not surely one number per channel")
        edit = Edit(node, mul)
        more = edit.add("Add", [gate, constant(np.float32(1), f"{node.name}/one")], like=gate)
        return edit.replace(node.outputs[0], edit.add("Mul", [x, more], like=node.outputs[0]))
    return None


def _per_channel(gate: Value, x: Value) -> bool:
    if gate.shape is None or x.rank is None or len(gate.shape) != x.rank or x.rank < 3:
        return False
    return all(d == 1 for d in gate.shape[2:])
