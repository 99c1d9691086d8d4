"""The differentiated part of the graph, at the values that a Gradient node is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sardonyx.errors import SardonyxError
from sardonyx.ir.dtypes import is_float
from sardonyx.ir.extract import clone_graph
from sardonyx.ir.functions import replacement
from sardonyx.ir.gradient.rules import Rules
from sardonyx.ir.gradient.tape import Tape
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.types import TensorType

__all__ = ["Forward"]


class Forward:
    """The nodes from `xs` and `zs` to `y`, evaluated at the values given for xs and zs.

    Nodes that read nothing but what the graph computes anyway are those of the graph; the others are copied to the tape.
    So are nodes without a rule, as what they are composed of. Afterwards `y` is the value to differentiate, `xs` the values
    to differentiate by, `active` the values that depend on those, and `nodes` what computes them, in order.
    """

    def __init__(self, t: Tape, rules: Rules, xs: list[Value], zs: list[Value], y: Value, given: list[Value]):
        self.t, self.rules = t, rules
        named = [*xs, *zs]
        self.now: dict[Value, Value] = {}
        for i, (name, value) in enumerate(zip(named, given, strict=True)):
            if value is not name:
                self.now[name] = t("Identity", value) if i < len(xs) else value
        self.xs = [self.now.get(v, v) for v in xs]
        self.active = set(self.xs)
        self.fixed = set(named) | set(self.now.values())
        self.nodes: list[Node] = []
        for node in _between(y, set(named)):
            self._visit(node)
        self.y = self.now.get(y, y)

    def _visit(self, node: Node) -> None:
        reads = list(_reads(node))
        self.t.at = node
        moved = any(v in self.now for v in reads)
        active = any(self.now.get(v, v) in self.active for v in reads)
        if moved:
            node = self._copy(node)
        elif not active:
            return
        if active and node.key not in self.rules.table and (simpler := self._simpler(node, moved)):
            for part in simpler:
                self._visit_part(part)
        else:
            self._keep(node, moved)

    def _visit_part(self, node: Node) -> None:
        """A node that something was composed of, in turn."""
        active = any(v in self.active for v in _reads(node))
        simpler = self._simpler(node, True) if active and node.key not in self.rules.table else None
        if simpler is None:
            self._keep(node, True)
        for part in simpler or ():
            self._visit_part(part)

    def _keep(self, node: Node, new: bool) -> None:
        if new:
            self.t.append(node)
        if any(v in self.active for v in _reads(node)):
            self.nodes.append(node)
            self.active.update(v for v in node.outputs if v is not None and v not in self.fixed and _may_vary(v))

    def _copy(self, node: Node) -> Node:
        """The node at the given values; what it gives takes the place of what the original gives."""
        inputs = [None if v is None else self.now.get(v, v) for v in node.inputs]
        outputs = [None if v is None else Value(f"{self.t.gradient.name}/{v.name}") for v in node.outputs]
        attrs = {k: self._copy_body(a) if isinstance(a, Graph) else a for k, a in node.attrs.items()}
        name = f"{self.t.gradient.name}/{node.name}"
        copy = Node(node.op, inputs, outputs, attrs, domain=node.domain, since=node.since, name=name, origins=self.t.origins())
        self.t.infer(copy)
        for old, new in zip(node.outputs, outputs, strict=True):
            if old is None or new is None:
                continue
            if new.type is None or (isinstance(new.type, TensorType) and new.type.dtype is None):
                new.type = TensorType(old.dtype, new.shape) if isinstance(old.type, TensorType) else old.type
            if old not in self.fixed:
                self.now[old] = new
        return copy

    def _copy_body(self, body: Graph) -> Graph:
        copy = clone_graph(body, self.now)
        for v in copy.inputs:
            v.type = None
        for node in copy.walk_nodes():
            node.name = f"{self.t.gradient.name}/{node.name}"
            for v in node.outputs:
                if v is not None:
                    v.type = None
        return copy

    def _simpler(self, node: Node, new: bool) -> list[Node] | None:
        """Nodes that compute the same as a node without a rule; None if there are none. A `new` node vanishes."""
        if not new:
            before = self.now
            self.now = dict(before)
            copy = self._copy(node)
        else:
            copy = node
        nodes = self._composed(copy) or self._inlined(copy)
        if nodes is None:
            if not new:
                copy.set_inputs(())
                self.now = before
            return None
        copy.set_inputs(())
        return nodes

    def _composed(self, node: Node) -> list[Node] | None:
        function = self.rules.compositions.get(node.key)
        if function is None:
            return None
        attrs = {k: v for k, v in node.attrs.items() if v is not None}
        start = len(self.t.graph.nodes)
        results = function(self.t, *node.inputs, **attrs)
        for v, result in zip(node.outputs, results, strict=False):
            if v is not None:
                self.t.append(Node("Identity", [result], [v], since=25, name=v.name, origins=self.t.origins()))
        nodes = self.t.graph.nodes[start:]
        del self.t.graph.nodes[start:]
        return nodes

    def _inlined(self, node: Node) -> list[Node] | None:
        try:
            return replacement(node)
        except SardonyxError:
            return None


def _may_vary(v: Value) -> bool:
    """Whether a derivative of the value can be other than zero: it is no tensor of integers, bools or strings."""
    return not isinstance(v.type, TensorType) or v.dtype is None or is_float(v.dtype)


def _reads(node: Node) -> Iterator[Value]:
    yield from (v for v in node.inputs if v is not None)
    for body in node.bodies:
        yield from body.captures()


def _between(y: Value, leaves: set[Value]) -> list[Node]:
    """The nodes that y depends on, without those that only the leaves depend on, in an order in which they can run."""
    order: list[Node] = []
    seen: set[Any] = set()

    def producers(values: Iterable[Value]) -> Iterator[Node]:
        return (v.producer for v in values if v.producer is not None and v not in leaves)

    stack = [producers([y])]
    path: list[Node] = []
    while stack:
        node = next((n for n in stack[-1] if n not in seen), None)
        if node is not None:
            seen.add(node)
            path.append(node)
            stack.append(producers(_reads(node)))
            continue
        stack.pop()
        if path:
            order.append(path.pop())
    return order
