"""The graphs of a model, all at once."""

from __future__ import annotations

from sardonyx.ir.graph import BODIED, Graph, Node

__all__ = ["bodies", "levels"]


def bodies(node: Node) -> list[Graph]:
    """The graphs among a node's attributes."""
    return node.bodies if node.op in BODIED or node.domain else []


def levels(graph: Graph) -> list[Graph]:
    """The graph and every body in it, outermost first."""
    found = [graph]
    for node in [n for n in graph.nodes if n.op in BODIED or n.domain]:
        for body in node.bodies:
            found += levels(body)
    return found
