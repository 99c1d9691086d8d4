"""Remove nodes whose outputs nobody needs."""

from __future__ import annotations

from sardonyx.ir.graph import Graph, Value
from sardonyx.passes.match import is_needed

__all__ = ["remove_dead_nodes"]


def remove_dead_nodes(graph: Graph) -> int:
    """Remove unneeded nodes from the graph and its bodies; returns how many."""
    results = {v for level in graph.walk_graphs() for v in level.outputs}
    return _remove(graph, results)


def _remove(graph: Graph, results: set[Value]) -> int:
    count = 0
    dead = []
    for node in reversed(graph.nodes):
        if is_needed(node, results):
            for body in node.bodies:
                count += _remove(body, results)
            continue
        node.set_inputs(())
        for body in node.bodies:
            body.remove(list(body.nodes))
        dead.append(node)
    if dead:
        gone = set(dead)
        graph.nodes = [n for n in graph.nodes if n not in gone]
    return count + len(dead)
