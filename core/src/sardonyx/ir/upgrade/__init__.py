"""Raise nodes to the newest form of their operator wherever nothing is lost.

One small function per change of form, each in the module of its family: it rewrites a node of an older version in place,
gives the nodes that replace it, or leaves it as it is where no newer form means the same. Versions that only widen types
or add attributes with neutral defaults need no function.
"""

from __future__ import annotations

from sardonyx.ir.graph import Graph, Node
from sardonyx.ir.upgrade import attributes, axes, broadcast, normalization, resize, sequence, softmax
from sardonyx.ir.upgrade.steps import Steps, fresh_names

__all__ = ["steps", "upgrade", "upgrade_node"]

steps = Steps().include(attributes.steps, axes.steps, broadcast.steps, normalization.steps, resize.steps, sequence.steps, softmax.steps)


def upgrade(graph: Graph) -> None:
    """Upgrade every node of the graph and its bodies in place. Types of values must have been inferred."""
    names = None
    for level in graph.walk_graphs():
        nodes: list[Node] = []
        changed = False
        for node in level.nodes:
            new = upgrade_node(node)
            if new is None:
                nodes.append(node)
                continue
            names = names if names is not None else {n.name for n in graph.walk_nodes()}
            node.set_inputs(())
            fresh_names(new, node, names)
            for n in new:
                n.graph = level
            nodes += new
            changed = True
        if changed:
            level.nodes = nodes


def upgrade_node(node: Node) -> list[Node] | None:
    """Raise one node. None: it was raised in place (or kept). Else: the nodes to put in its place, of which one gives each
    of its outputs; they carry its origins and no graph yet."""
    return steps.raise_node(node)
