"""The differentiated part of the graph, at the values that a Gradient node is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

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
    """What computes `y` from `named` tensors (of which the first `count` are differentiated by) at the values `given` for them.

    A node that reads nothing but what the graph computes anyway stays the graph's own; others are copied to the tape. What
    has no rule is written there as what it is composed of. Afterwards `xs` are the values to differentiate by, `y` the one
    to differentiate, `active` those that depend on xs, `nodes` what computes them, in order; the gradient of `twins[v]` is
    one of v too.
    """

    def __init__(self, t: Tape, rules: Rules, named: Sequence[Value], count: int, y: Value, given: Sequence[Value]):
        self.t, self.rules, self.named = t, rules, set(named)
        self.now = {v: t("Identity", value) for v, value in zip(named, given, strict=True) if value is not v}
        self.xs = [self.now.get(v, v) for v in named[:count]]
        self.active = set(self.xs)
        self.nodes: list[Node] = []
        self.twins: dict[Value, Value] = {}
        for node in _between(y, self.named):
            self._visit(node)
        self.y = self.now.get(y, y)

    def _visit(self, node: Node) -> None:
        self.t.at = node
        if any(v in self.now for v in _reads(node)):
            copy = self._copy(node)
            self.now.update((v, c) for v, c in _outputs(node, copy) if v not in self.named)
            self._trace(copy, True)
        elif self._is_active(node):
            self._trace(node, False)

    def _is_active(self, node: Node) -> bool:
        return any(v in self.active for v in _reads(node))

    def _trace(self, node: Node, new: bool) -> None:
        """Put a node among `nodes` if it is active, or what it is composed of, and on the tape if it is new."""
        if self._is_active(node) and node.key not in self.rules.table:
            copy = node if new else self._copy(node)
            parts = self._composed(copy) or self._inlined(copy)
            if parts is not None or not new:
                copy.set_inputs(())
            if parts is not None:
                for part in parts:
                    self._trace(part, True)
                if not new:
                    twins = {c: v for v, c in _outputs(node, copy) if c in self.active and v not in self.named}
                    self.twins |= twins
                    self.active.update(twins.values())
                return
        if new:
            self.t.append(node)
        if self._is_active(node):
            self.nodes.append(node)
            self.active.update(v for v in node.outputs if v is not None and v not in self.named and _may_vary(v))

    def _copy(self, node: Node) -> Node:
        """The node at the given values, with outputs of its own."""
        inputs = [None if v is None else self.now.get(v, v) for v in node.inputs]
        outputs = [None if v is None else Value(f"{self.t.gradient.name}/{v.name}") for v in node.outputs]
        attrs = {k: self._copy_body(a) if isinstance(a, Graph) else a for k, a in node.attrs.items()}
        name = f"{self.t.gradient.name}/{node.name}"
        copy = Node(node.op, inputs, outputs, attrs, domain=node.domain, since=node.since, name=name, origins=self.t.origins())
        self.t.infer(copy)
        for v, c in _outputs(node, copy):
            if c.type is None:
                c.type = TensorType(v.dtype) if isinstance(v.type, TensorType) else v.type
        return copy

    def _copy_body(self, body: Graph) -> Graph:
        copy = clone_graph(body, self.now)
        for v in copy.inputs:
            v.type = None
        for node in copy.walk_nodes():
            node.name = f"{self.t.gradient.name}/{node.name}"
            for out in node.outputs:
                if out is not None:
                    out.type = None
        return copy

    def _composed(self, node: Node) -> list[Node] | None:
        function = self.rules.compositions.get(node.key)
        if function is None:
            return None
        attrs = {k: v for k, v in node.attrs.items() if v is not None}
        with self.t.aside() as nodes:
            results = function(self.t, *node.inputs, **attrs)
            for v, result in zip(node.outputs, results, strict=False):
                if v is not None:
                    self.t("Identity", result).producer.outputs = (v,)
                    v.producer = nodes[-1]
        return nodes

    @staticmethod
    def _inlined(node: Node) -> list[Node] | None:
        try:
            return replacement(node)
        except SardonyxError:
            return None


def _may_vary(v: Value) -> bool:
    """Whether a derivative of the value can be other than zero: it is no tensor of integers, bools or strings."""
    return not isinstance(v.type, TensorType) or v.dtype is None or is_float(v.dtype)


def _outputs(node: Node, copy: Node) -> Iterator[tuple[Value, Value]]:
    return ((v, c) for v, c in zip(node.outputs, copy.outputs, strict=True) if v is not None and c is not None)


def _reads(node: Node) -> Iterator[Value]:
    yield from (v for v in node.inputs if v is not None)
    for body in node.bodies:
        yield from body.captures()


def _between(y: Value, leaves: set[Value]) -> list[Node]:
    """The nodes that y depends on, without those that only the leaves depend on, in an order in which they can run."""

    def producers(values: Iterable[Value]) -> Iterator[Node]:
        return (v.producer for v in values if v.producer is not None and v not in leaves)

    order: list[Node] = []
    seen: set[Node] = set()
    path: list[Node] = []
    stack = [producers([y])]
    while stack:
        node = next((n for n in stack[-1] if n not in seen), None)
        if node is not None:
            seen.add(node)
            path.append(node)
            stack.append(producers(_reads(node)))
        else:
            stack.pop()
            order += [path.pop()] if path else []
    return order
