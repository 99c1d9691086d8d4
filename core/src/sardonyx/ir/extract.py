"""Copy part of a graph into a graph of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sardonyx.ir.graph import Graph, Node, Value

__all__ = ["clone_graph", "extract"]


def extract(nodes: Iterable[Node], inputs: Iterable[Value], outputs: Iterable[Value], name: str = "") -> Graph:
    """A new Graph with copies of `nodes` (in their order) and of the values they touch. `inputs` become its inputs, in
    order; constants are shared; every other value must be given by one of the nodes."""
    return _copy(nodes, list(inputs), list(outputs), name, {})


def clone_graph(graph: Graph, captured: dict[Value, Value] | None = None) -> Graph:
    """A deep copy of a graph; the tensors of constants are shared. Values captured from outside stay the same objects, but
    for those that `captured` gives others for."""
    return _copy(graph.nodes, graph.inputs, graph.outputs, graph.name, dict(captured or {}))


def _copy(nodes: Iterable[Node], inputs: list[Value], outputs: list[Value], name: str, known: dict[Value, Value]) -> Graph:
    def value(v: Value | None) -> Value | None:
        if v is None:
            return None
        twin = known.get(v)
        if twin is None:
            if v.const is None:
                return v
            twin = known[v] = Value(v.name, v.type, v.const)
        return twin

    def define(v: Value | None) -> Value | None:
        if v is None:
            return None
        twin = known[v] = Value(v.name, v.type)
        return twin

    def attribute(a: Any) -> Any:
        return _copy(a.nodes, a.inputs, a.outputs, a.name, known) if isinstance(a, Graph) else a

    graph = Graph(name, [define(v) for v in inputs])  # type: ignore[misc]
    for n in nodes:
        attrs = {k: attribute(a) for k, a in n.attrs.items()}
        ins = [value(v) for v in n.inputs]
        graph.append(Node(n.op, ins, [define(v) for v in n.outputs], attrs, domain=n.domain, since=n.since, name=n.name, origins=n.origins))
    graph.outputs = [value(v) for v in outputs]  # type: ignore[misc]
    return graph
