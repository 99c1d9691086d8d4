"""How lowering proceeds: version by version, function bodies where there is no older form."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from sardonyx.errors import InvalidModel
from sardonyx.ir.functions import replacement
from sardonyx.ir.graph import Graph, Node
from sardonyx.ir.schema import Schema, in_force, schema, since_version
from sardonyx.ir.types import TensorType, type_string
from sardonyx.ir.upgrade.steps import fresh_names, is_used

__all__ = ["Lowering", "lower_graph"]

Step = Callable[[Node], str | list[Node] | None]


class Lowering:
    """Functions that undo a change of form, by operator and the version that made it.

    Such a function returns None after rewriting the node in place to the form before that version, a list of nodes that
    replace it, or a reason (str) why there is none; it must then have left the node as it was.
    """

    def __init__(self) -> None:
        self.table: dict[tuple[str, str, int], Step] = {}

    def undo(self, *ops: str, since: int, domain: str = "") -> Callable[[Step], Step]:
        """Register the decorated function for what version `since` of `ops` changed."""

        def register(step: Step) -> Step:
            for op in ops:
                self.table[domain, op, since] = step
            return step

        return register

    def include(self, *others: Lowering) -> Lowering:
        """Take over the functions of other tables; returns self."""
        for other in others:
            self.table |= other.table
        return self


def lower_graph(graph: Graph, domain: str, opset: int, table: Lowering) -> None:
    """See `lower`."""
    names = {n.name for n in graph.walk_nodes()}
    for level in graph.walk_graphs():
        done: list[Node] = []
        idle = {n for n in level.nodes if not _is_read(n)}
        work = deque(level.nodes)
        while work:
            node = work.popleft()
            new = _lower_node(node, opset, table) if node.domain == domain else None
            if new is None:
                done.append(node)
                continue
            if node.inputs:
                node.set_inputs(())
            fresh_names(new, node, names)
            for n in new:
                n.graph = level
            work.extendleft(reversed(new))
        level.nodes = done
        for node in reversed(done):
            if node not in idle and not _is_read(node):
                level.remove([node])


def _is_read(node: Node) -> bool:
    return any(is_used(v) for v in node.outputs)


def _lower_node(node: Node, opset: int, table: Lowering) -> list[Node] | None:
    goal = in_force(node.domain, node.op, opset)
    known = schema(node.domain, node.op, node.since)
    if known is None or node.since == goal:
        return None
    if goal is None and known.has_function:
        body = replacement(node, opset)
        if body is not None:
            return body
    while node.since != goal:
        if goal is not None and node.since < goal:
            raise _failure(node, opset, f"it is kept at version {node.since}, which has no newer form")
        older = _older(node)
        reason = _types_fit(node, older) if older is not None else None
        step = table.table.get((node.domain, node.op, node.since))
        outcome: str | list[Node] | None = reason
        if reason is None and step is not None:
            outcome = step(node)
        elif reason is None and older is None:
            outcome = "there is no such operator"
        if isinstance(outcome, list):
            return outcome
        if outcome is not None:
            body = replacement(node, opset)
            if body is not None:
                return body
            raise _failure(node, opset, outcome)
        assert older is not None
        reason = _adapt(node, older)
        if reason is not None:
            raise _failure(node, opset, reason)
        node.since = older.since
    return None


def _failure(node: Node, opset: int, reason: str) -> InvalidModel:
    return InvalidModel(f"cannot write opset {opset}: node {node.name!r} ({node.title}-{node.since}): {reason}")


def _older(node: Node) -> Schema | None:
    since = since_version(node.domain, node.op, node.since - 1) if node.since > 1 else None
    return schema(node.domain, node.op, since) if since is not None else None


def _types_fit(node: Node, older: Schema) -> str | None:
    bound: dict[str, str] = {}
    for values, formal_of in ((node.inputs, older.input), (node.outputs, older.output)):
        for i, v in enumerate(values):
            formal = formal_of(i)
            if v is None or v.type is None or formal is None or (isinstance(v.type, TensorType) and v.dtype is None):
                continue
            name = type_string(v.type)
            if name not in older.type_strings[formal.type]:
                return f"{v.name!r} has type {name}, which version {older.since} does not take"
            if not formal.variadic and bound.setdefault(formal.type, name) != name:
                return f"version {older.since} wants one type for inputs and outputs that have {bound[formal.type]} and {name}"
    return None


def _adapt(node: Node, older: Schema) -> str | None:
    """Fit attributes and arity to the older schema where that changes nothing."""
    newer = schema(node.domain, node.op, node.since)
    assert newer is not None
    for name in [n for n in node.attrs if n not in older.attributes]:
        if node.attrs[name] is not None and node.attrs[name] != newer.attributes.get(name):
            return f"version {older.since} has no attribute {name!r} (here {node.attrs[name]!r})"
        del node.attrs[name]
    for name, default in newer.attributes.items():
        if name not in node.attrs and default is not None and older.attributes.get(name, default) != default:
            node.attrs[name] = default
    missing = [name for name in older.required if name not in node.attrs]
    if missing:
        return f"version {older.since} requires attribute {missing[0]!r}"
    while node.inputs and node.inputs[-1] is None and len(node.inputs) > older.min_input:
        node.set_inputs(node.inputs[:-1])
    if not older.min_input <= len(node.inputs) <= older.max_input:
        return f"version {older.since} takes {older.min_input} to {older.max_input} inputs, not {len(node.inputs)}"
    absent = [f.name for i, f in enumerate(older.inputs) if not (f.optional or f.variadic) and node.input(i) is None]
    if absent:
        return f"version {older.since} requires input {absent[0]!r}"
    while node.outputs and node.outputs[-1] is None and len(node.outputs) > older.max_output:
        node.outputs = node.outputs[:-1]
    if len(node.outputs) > older.max_output:
        return f"version {older.since} gives at most {older.max_output} outputs"
    return None
