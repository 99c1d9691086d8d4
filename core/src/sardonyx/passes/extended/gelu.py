"""Gelu in its exact and its tanh form."""

from __future__ import annotations

import math

from sardonyx.ir.dtypes import is_float
from sardonyx.ir.graph import Graph, Node
from sardonyx.passes.algebra import affine, others, product
from sardonyx.passes.match import close, made_by, only_use
from sardonyx.passes.polynomial import polynomial
from sardonyx.passes.rules import Edit, Outcome, no, rule

__all__ = ["fuse_gelu"]

ROOT = math.sqrt(2 / math.pi)
INNER = {"Erf": {1: math.sqrt(0.5)}, "Tanh": {1: ROOT, 3: ROOT * 0.044715}}


@rule("Mul", "Div")
def fuse_gelu(node: Node, graph: Graph) -> Outcome:
    """x/2 * (1 + erf(x/√2)), or x/2 * (1 + tanh(√(2/π) (x + 0.044715 x³))), in any order of the factors."""
    total, out = product(node, 2), node.outputs[0]
    if total is None or len(total.factors) != 2 or out is None or out.dtype is None or not is_float(out.dtype):
        return None
    for u in total.factors:
        add = made_by(u, "Add")
        inside = affine(u) if add is not None and only_use(u) else None
        gate = made_by(inside.x, *INNER) if inside is not None else None
        if inside is None or gate is None or not only_use(inside.x):
            continue
        if not (close(total.scale * inside.bias, 0.5, out.dtype) and close(total.scale * inside.scale, 0.5, out.dtype)):
            return no(f"it is not x/2 * (1 + {gate.op.lower()}(...))")
        (x,) = others(total.factors, u) or (None,)
        if x is None:
            continue
        argument = polynomial(gate.inputs[0], x)
        if argument is None or not argument.equals(INNER[gate.op], out.dtype):
            return no(f"the argument of {gate.op} is another one")
        edit = Edit(*total.nodes, *inside.nodes, gate, *argument.nodes)
        attrs = {"approximate": "tanh"} if gate.op == "Tanh" else None
        return edit.replace(out, edit.add("Gelu", [x], attrs, like=out))
    return None
