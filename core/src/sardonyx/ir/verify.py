"""Verify that a graph is well-formed: what passes must keep true."""

from __future__ import annotations

from typing import Any

from sardonyx.errors import InvalidModel
from sardonyx.ir.attributes import FLOAT, FLOATS, INT, INTS, SPARSE_TENSOR, STRINGS, TENSOR, TENSORS, kind_of
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.schema import Schema, schema

__all__ = ["verify"]

# Where a schema wants the first kind of attribute, a value of the second is as good.
ALIKE = {(FLOAT, INT), (FLOATS, INTS), (SPARSE_TENSOR, TENSOR)}
LISTS = frozenset((FLOATS, INTS, STRINGS, TENSORS))
TYPE_NAMES = (
    "?",
    "float",
    "int",
    "string",
    "tensor",
    "graph",
    "floats",
    "ints",
    "strings",
    "tensors",
    "graphs",
    "sparse tensor",
    "sparse tensors",
    "type",
    "types",
)


def verify(graph: Graph) -> None:
    """Check order, uses, arity and attributes of the graph and its bodies; InvalidModel names the node."""
    _verify(graph, set(), set(), {})


def _verify(graph: Graph, outer: set[Value], names: set[str], uses: dict[Value, set[tuple[Node, int]]]) -> None:
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
            if len(v.uses) == 1:
                listed = v.uses[0] == (node, i)
            else:
                if v not in uses:
                    uses[v] = set(v.uses)
                listed = (node, i) in uses[v]
            if not listed:
                raise InvalidModel(f"value {v.name!r} does not know its use by node {node.name!r}")
        _check_schema(node)
        for body in node.bodies:
            _verify(body, known, names, uses)
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
    given = len(node.inputs)
    if not known.min_input <= given <= known.max_input:
        _fail(node, f"{given} inputs, but the operator takes {known.min_input} to {known.max_input}")
    if len(node.outputs) > known.max_output:
        _fail(node, f"{len(node.outputs)} outputs, but the operator gives at most {known.max_output}")
    for i, formal in enumerate(known.inputs[:given]):
        if node.inputs[i] is None and not formal.optional and (not formal.variadic or i < known.min_input):
            _fail(node, f"required input {i} ({formal.name}) is missing")
    missing = [name for name in known.required if node.attrs.get(name) is None]
    if missing:
        _fail(node, f"required attribute {min(missing)!r} is missing")
    for name, value in node.attrs.items():
        if value is not None:
            _check_attribute(node, known, name, value)
    if node.op in BODIES and not node.domain:
        BODIES[node.op](node)


def _check_attribute(node: Node, known: Schema, name: str, value: Any) -> None:
    wanted = known.attribute_types.get(name)
    if wanted is None:
        _fail(node, f"unknown attribute {name!r}; the operator has {sorted(known.attributes) or 'none'}")
        return
    kind = kind_of(value)
    if kind != wanted and (wanted, kind) not in ALIKE and not (value == [] and wanted in LISTS):
        _fail(node, f"attribute {name!r} is of type {TYPE_NAMES[kind]}, not {TYPE_NAMES[wanted]}")


def _fail(node: Node, what: str) -> None:
    raise InvalidModel(f"node {node.name!r} ({node.title}-{node.since}): {what}")


def _check_if(node: Node) -> None:
    for name in ("then_branch", "else_branch"):
        branch = node.attrs[name]
        if branch.inputs:
            _fail(node, f"{name} has inputs; a branch has none")
        if len(branch.outputs) != len(node.outputs):
            _fail(node, f"{name} gives {len(branch.outputs)} values for {len(node.outputs)} outputs")


def _check_loop(node: Node) -> None:
    body = node.attrs["body"]
    states = len(node.inputs) - 2
    if len(body.inputs) != states + 2:
        _fail(node, f"its body has {len(body.inputs)} inputs; iteration, condition and {states} states are given")
    if len(body.outputs) < states + 1 or len(node.outputs) > len(body.outputs) - 1:
        _fail(node, f"its body gives {len(body.outputs)} values for a condition, {states} states and {len(node.outputs)} outputs")


def _check_scan(node: Node) -> None:
    body = node.attrs["body"]
    given = len(node.inputs) - (node.since < 9)
    scans = node.attrs["num_scan_inputs"]
    if not 1 <= scans <= given or len(body.inputs) != given:
        _fail(node, f"its body has {len(body.inputs)} inputs; {given} are given, {scans} of them to scan")
    if len(body.outputs) < given - scans or len(node.outputs) > len(body.outputs):
        _fail(node, f"its body gives {len(body.outputs)} values for {given - scans} states and {len(node.outputs)} outputs")


BODIES = {"If": _check_if, "Loop": _check_loop, "Scan": _check_scan}
