"""Put the branch of an If whose condition is constant in place of the node."""

from __future__ import annotations

from sardonyx.ir.graph import Graph, Node
from sardonyx.ir.schema import newest

__all__ = ["inline_if"]


def inline_if(graph: Graph) -> int:
    """Inline every If with a constant condition, in bodies too; returns how many."""
    count = 0
    index = 0
    while index < len(graph.nodes):
        node = graph.nodes[index]
        if node.op == "If" and node.domain == "" and node.const(0) is not None and node.const(0).size == 1:  # type: ignore[union-attr]
            graph.nodes[index : index + 1] = _branch(node, graph)
            count += 1
            continue
        for body in node.bodies:
            count += inline_if(body)
        index += 1
    return count


def _branch(node: Node, graph: Graph) -> list[Node]:
    condition = node.const(0)
    assert condition is not None
    chosen, other = ("then_branch", "else_branch") if condition.reshape(-1)[0] else ("else_branch", "then_branch")
    body: Graph = node.attrs[chosen]
    unused: Graph = node.attrs[other]
    unused.remove(list(unused.nodes))
    node.set_inputs(())
    nodes = list(body.nodes)
    for inner in nodes:
        inner.graph = graph
    for result, value in zip(node.outputs, body.outputs, strict=False):
        if result is not None:
            copy = Node("Identity", [value], [result], since=newest("", "Identity") or 1, name=f"{node.name}/{result.name}")
            copy.graph, copy.origins = graph, node.origins
            nodes.append(copy)
    return nodes
