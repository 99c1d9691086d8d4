"""SimplifiedLayerNormalization, SkipLayerNormalization, SkipSimplifiedLayerNormalization."""

from __future__ import annotations

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.schema import newest
from sardonyx.passes.match import attribute
from sardonyx.passes.rules import Edit, Outcome, Rule, no, rule

__all__ = ["NORMS"]


def _unused(node: Node, graph: Graph, indices: tuple[int, ...]) -> bool:
    outputs = [node.outputs[i] for i in indices if i < len(node.outputs)]
    return all(v is None or (not v.uses and v not in graph.outputs) for v in outputs)


def _simplified(node: Node, graph: Graph) -> Outcome:
    """Without mean: RMSNormalization."""
    out = node.outputs[0]
    if out is None or not _unused(node, graph, (1,)):
        return no("its statistics are used")
    edit = Edit(node)
    attrs = {k: v for k, v in node.attrs.items() if k in ("axis", "epsilon", "stash_type")}
    return edit.replace(out, edit.add("RMSNormalization", node.inputs, attrs, like=out))


# ONNX Runtime knows the operator in its own domain and, unofficially, in the default one.
standard_simplified = Rule(
    "standard_simplified", (("com.microsoft", "SimplifiedLayerNormalization"), ("", "SimplifiedLayerNormalization")), _simplified
)


@rule("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain="com.microsoft")
def standard_skip(node: Node, graph: Graph) -> Outcome:
    """x + skip (+ bias), normalised over the last axis: Add and LayerNormalization or RMSNormalization."""
    out, x, skip, gamma = node.outputs[0], node.inputs[0], node.inputs[1], node.inputs[2]
    if out is None or not _unused(node, graph, (1, 2)) or newest("", "RMSNormalization") is None:
        return no("its statistics are used")
    simplified = node.op == "SkipSimplifiedLayerNormalization"
    bias: Value | None = node.input(3 if simplified else 4)
    beta: Value | None = None if simplified else node.input(3)
    edit = Edit(node)
    total = edit.add("Add", [x, skip], like=out)
    if bias is not None:
        total = edit.add("Add", [total, bias], like=out)
    attrs = {"axis": -1, "epsilon": attribute(node, "epsilon", 9.999999960041972e-13)}
    inputs = [total, gamma] if beta is None else [total, gamma, beta]
    edit.replace(out, edit.add("RMSNormalization" if simplified else "LayerNormalization", inputs, attrs, like=out))
    summed = node.outputs[3] if len(node.outputs) > 3 else None
    return edit if summed is None else edit.replace(summed, total)


NORMS = (standard_simplified, standard_skip)
