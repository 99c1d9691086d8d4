"""Operators in terms of others: a node's function body, from onnx.defs or own_bodies, as IR nodes."""

from __future__ import annotations

from typing import Any

from sardonyx.errors import SardonyxError
from sardonyx.ir.attribute_values import undefined_attribute
from sardonyx.ir.build import Builder
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.infer import infer_missing
from sardonyx.ir.own_bodies import own_body
from sardonyx.ir.proto import type_to_proto
from sardonyx.ir.save import Names, node_to_proto
from sardonyx.ir.schema import KNOWN, schema
from sardonyx.ir.scope import Scope
from sardonyx.ir.upgrade import upgrade
from sardonyx.ir.upgrade.steps import fresh_names

__all__ = ["body_of", "drop_unused", "expand", "replacement"]


def body_of(node: Node, opset: int | None = None) -> Graph | None:
    """The function body of a node as a graph of its own, or None if its operator has none (or none for these types), or if
    an attribute has a value that the operator does not define.

    The graph's inputs and outputs stand for those that the node has, in order, absent ones left out; constants stay
    constants, values that a body of the node captures are the same objects (so `remove` the nodes of a graph that is not
    used). The nodes have inferred types, their newest form and
    the origins of `node`; a body may use operators that have bodies in turn. The node itself is left alone. `opset` prefers
    the body that ONNX gives for that version of its operator set.
    """
    inputs = [None if v is None else Value(v.name, v.type, v.const) for v in node.inputs]
    outputs = [None if v is None else Value(v.name, v.type) for v in node.outputs]
    return _build(node, inputs, outputs, opset)


def expand(node: Node, opset: int | None = None) -> list[Node] | None:
    """Replace a node in its graph by its function body: returns the new nodes, which give the node's own outputs.

    None, and nothing changed, if the operator has no body (or none for these types and attributes). See body_of.
    """
    graph = node.graph
    nodes = replacement(node, opset)
    if graph is None or nodes is None:
        return None
    fresh_names(nodes, node, {n.name for n in graph.walk_nodes()})
    graph.insert_before(node, nodes)
    graph.remove([node])
    return nodes


def replacement(node: Node, opset: int | None = None) -> list[Node] | None:
    """The nodes that `expand` puts in place of a node; they give its outputs already, but are in no graph."""
    body = _build(node, list(node.inputs), list(node.outputs), opset)
    return None if body is None else list(body.nodes)


def _build(node: Node, inputs: list[Value | None], outputs: list[Value | None], opset: int | None) -> Graph | None:
    names = Names()
    proto = _function(node, names, opset)
    if proto is None:
        return None
    known = schema(node.domain, node.op, node.since)
    assert known is not None
    builder = Builder((), {node.domain: node.since, "": KNOWN[""]}, 10)
    outer = Scope()
    outer.values = {name: v for v, name in names.of.items() if v not in node.inputs and v not in node.outputs}
    body = Graph(node.name, [v for v in inputs if v is not None and v.const is None])
    attrs = {k: v for k, v in known.attributes.items() if v is not None} | {k: v for k, v in node.attrs.items() if v is not None}
    types = [None if v is None else v.type for v in outputs]
    try:
        builder.inline(proto, body, inputs, outputs, attrs, node.name, outer)
    except SardonyxError:
        body.remove(list(body.nodes))
        for v in node.outputs:
            if v is not None:
                v.producer, v.const = node, None
        return None
    body.outputs = [v for v in outputs if v is not None]
    for v, t in zip(outputs, types, strict=True):
        if v is not None and t is not None:
            v.type = t
    drop_unused(body)
    for n in body.walk_nodes():
        n.origins = node.origins
    infer_missing(body)
    upgrade(body)
    return body


def _function(node: Node, names: Names, opset: int | None) -> Any:
    """The FunctionProto that fits the node best, or None. `names` gets the names that the node's proto uses."""
    import onnx
    from onnx import defs

    if undefined_attribute(node) is not None:
        return None
    if (own := own_body(node.domain, node.op)) is not None:
        return own
    limit = min(opset or KNOWN.get(node.domain, 0), KNOWN.get(node.domain, 0))
    try:
        s: Any = defs.get_schema(node.op, node.since, node.domain)
    except Exception:
        return None
    if s.has_function:
        return onnx.FunctionProto.FromString(s.get_function_with_opset_version(_closest(s.function_opset_versions, limit)))
    if not s.has_context_dependent_function:
        return None
    proto = node_to_proto(node, names)
    types = [(onnx.TypeProto() if v is None else type_to_proto(v.type)).SerializeToString() for v in node.inputs]
    version = _closest(s.context_dependent_function_opset_versions, limit)
    try:
        made = s.get_context_dependent_function_with_opset_version(version, proto.SerializeToString(), types)
    except Exception:
        return None
    function = onnx.FunctionProto.FromString(made)
    return function if function.node else None


def _closest(versions: list[int], limit: int) -> int:
    """The newest version up to `limit`, else the oldest."""
    return max((v for v in versions if v <= limit), default=min(versions))


def drop_unused(graph: Graph) -> None:
    """Remove nodes of a graph, not of its bodies, that no output needs."""
    needed: set[Value] = set(graph.outputs)
    gone = []
    for node in reversed(graph.nodes):
        if any(v in needed for v in node.outputs):
            needed.update(v for v in node.inputs if v is not None)
            for body in node.bodies:
                needed.update(body.captures())
        else:
            gone.append(node)
    graph.remove(gone)
