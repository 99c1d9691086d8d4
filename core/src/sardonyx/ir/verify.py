"""Verify that a graph is well-formed: what passes must keep true."""

from __future__ import annotations

from sardonyx.errors import InvalidModel
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.schema import schema

__all__ = ["verify"]


def verify(graph: Graph) -> None:
    """Check order, uses, arity and required attributes of the graph and its bodies; InvalidModel names the node."""
    _verify(graph, set(), set())


def _verify(graph: Graph, outer: set[Value], names: set[str]) -> None:
    known = outer | set(graph.inputs)
    for node in graph.nodes:
        if node.graph is not graph:
            raise InvalidModel(f"node {node.name!r} ({node.op}) does not belong to the graph that lists it")
        if node.name in names:
            raise InvalidModel(f"two nodes are called {node.name!r}")
        names.add(node.name)
        for i, v in enumerate(node.inputs):
            if v is None:
                continue
            if v.const is None and v not in known:
                raise InvalidModel(f"node {node.name!r} ({node.op}) reads {v.name!r} before anything gives it")
            if (node, i) not in v.uses:
                raise InvalidModel(f"value {v.name!r} does not know its use by node {node.name!r}")
        _check_schema(node)
        for body in node.bodies:
            _verify(body, known, names)
        for v in node.outputs:
            if v is not None:
                if v.producer is not node:
                    raise InvalidModel(f"value {v.name!r} does not know its producer {node.name!r}")
                known.add(v)
    for v in graph.outputs:
        if v.const is None and v not in known:
            raise InvalidModel(f"graph {graph.name!r}: output {v.name!r} is given by nothing")


def _check_schema(node: Node) -> None:
    known = schema(node.domain, node.op, node.since)
    if known is None:
        return
    where = f"node {node.name!r} ({node.title}-{node.since})"
    given = len(node.inputs)
    if not known.min_input <= given <= known.max_input:
        raise InvalidModel(f"{where}: {given} inputs, but the operator takes {known.min_input} to {known.max_input}")
    if len(node.outputs) > known.max_output:
        raise InvalidModel(f"{where}: {len(node.outputs)} outputs, but the operator gives at most {known.max_output}")
    missing = [name for name in known.required if name not in node.attrs]
    if missing:
        raise InvalidModel(f"{where}: required attribute {missing[0]!r} is missing")
    for i, formal in enumerate(known.inputs):
        if not formal.optional and not formal.variadic and i < given and node.inputs[i] is None:
            raise InvalidModel(f"{where}: required input {i} ({formal.name}) is missing")
    unknown = [name for name in node.attrs if name not in known.attributes]
    if unknown:
        raise InvalidModel(f"{where}: unknown attribute {unknown[0]!r}; the operator has {sorted(known.attributes) or 'none'}")
