"""The graphs of a model without asking every node: only control flow and foreign operators have bodies."""

from __future__ import annotations

from sardonyx.ir.graph import Graph, Node

__all__ = ["bodies", "levels"]

CONTROL = frozenset({"If", "Loop", "Scan", "SequenceMap"})


def bodies(node: Node) -> list[Graph]:
    """The graphs among a node's attributes."""
    return node.bodies if node.op in CONTROL or node.domain else []


def levels(graph: Graph) -> list[Graph]:
    """The graph and every body in it, outermost first."""
    found = [graph]
    for node in graph.nodes:
        if node.op in CONTROL or node.domain:
            for body in node.bodies:
                found += levels(body)
    return found
