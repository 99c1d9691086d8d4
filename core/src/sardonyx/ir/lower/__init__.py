"""Lower nodes to the operators of an older operator set: the way back from `upgrade`, and from newer operators.

A node is taken down version by version. Where a version changed the form, a small function in the module of its family
undoes that; otherwise attributes that the older version lacks must have their defaults, and types must be allowed. What
has no older form is replaced by its ONNX function body.
"""

from __future__ import annotations

from sardonyx.ir.graph import Graph
from sardonyx.ir.lower import axes, broadcast, forms, normalization, resize
from sardonyx.ir.lower.engine import Lowering, lower_graph

__all__ = ["lower", "lowering"]

lowering = Lowering().include(axes.lowering, broadcast.lowering, forms.lowering, normalization.lowering, resize.lowering)


def lower(graph: Graph, domain: str, opset: int) -> None:
    """Lower every node of the graph and its bodies, in place, to what `opset` of `domain` has; InvalidModel names the node
    for which there is no way."""
    lower_graph(graph, domain, opset, lowering)
