"""Gelu, FastGelu, BiasGelu, QuickGelu."""

from __future__ import annotations

from sardonyx.ir.graph import Graph, Node
from sardonyx.passes.match import attribute
from sardonyx.passes.rules import Edit, Outcome, rule

__all__ = ["ACTIVATIONS"]


@rule("Gelu", "FastGelu", "BiasGelu", domain="com.microsoft")
def standard_gelu(node: Node, graph: Graph) -> Outcome:
    """Gelu (exact, or by tanh for FastGelu) of x plus a bias."""
    edit, out, x, bias = Edit(node), node.outputs[0], node.inputs[0], node.input(1)
    assert out is not None
    if bias is not None:
        x = edit.add("Add", [x, bias], like=out)
    attrs = {"approximate": "tanh"} if node.op == "FastGelu" else None
    return edit.replace(out, edit.add("Gelu", [x], attrs, like=out))


@rule("QuickGelu", domain="com.microsoft")
def standard_quick_gelu(node: Node, graph: Graph) -> Outcome:
    """x * sigmoid(alpha x): Swish."""
    edit, out = Edit(node), node.outputs[0]
    assert out is not None
    alpha = attribute(node, "alpha", 1.7020000219345093)
    return edit.replace(out, edit.add("Swish", node.inputs, {"alpha": alpha}, like=out))


ACTIVATIONS = (standard_gelu, standard_quick_gelu)
