"""Rewrite rules: pure functions `(node, graph) -> Edit | None`, applied until none of them fires any more.

    @rule("Mul")
    def fuse_swish(node, graph):
        ...
        edit = Edit(node, sigmoid)
        return edit.replace(node.outputs[0], edit.add("Swish", [x], {"alpha": alpha}))

A rule sees nodes in the newest form of their operator only. It roots at the last node of its pattern, looks upwards, and
changes nothing itself. New nodes get the origins of all matched nodes.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from sardonyx.errors import InternalError
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.names import fresh_name
from sardonyx.ir.schema import newest
from sardonyx.ir.types import TensorType, ValueType
from sardonyx.passes.budget import current
from sardonyx.passes.edit import Edit, No, Outcome, constant, no
from sardonyx.passes.match import is_needed

__all__ = ["Edit", "No", "Outcome", "Rule", "apply_rules", "constant", "no", "rule", "sharper"]

log = logging.getLogger("sardonyx")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rewrite of nodes of the operators `ops` ((domain, operator) pairs)."""

    name: str
    ops: tuple[tuple[str, str], ...]
    function: Callable[[Node, Graph], Outcome]

    def __call__(self, node: Node, graph: Graph) -> Outcome:
        return self.function(node, graph)


def rule(*ops: str, domain: str = "") -> Callable[[Callable[[Node, Graph], Outcome]], Rule]:
    """Make the decorated function a Rule for the named operators; the rule's name is the function's."""

    def make(function: Callable[[Node, Graph], Outcome]) -> Rule:
        return Rule(function.__name__, tuple((domain, op) for op in ops), function)

    return make


def apply_rules(
    graph: Graph,
    rules: Iterable[Rule],
    *,
    disabled: Collection[str] = (),
    reasons: list[tuple[str, str, str]] | None = None,
) -> int:
    """Apply the rules to the graph and its bodies until none fires; returns the number of edits.

    `disabled` names rules to leave out. `reasons` collects (rule, node, why it did not fire). InternalError names the rules
    that undo each other for ever.
    """
    return _Rewriter(graph, [r for r in rules if r.name not in disabled], reasons).run()


def sharper(a: ValueType, b: ValueType) -> ValueType:
    """What two true types of one value say together: `a`, with the numbers and names that only `b` knows."""
    if a is b:
        return a
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return a if a is not None else b
    if a == b:
        return a
    dtype = a.dtype if a.dtype is not None else b.dtype
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return TensorType(dtype, a.shape if a.shape is not None else b.shape)
    dims = (y if x is None or (isinstance(y, int) and not isinstance(x, int)) else x for x, y in zip(a.shape, b.shape, strict=True))
    return TensorType(dtype, tuple(dims))


class _Rewriter:
    def __init__(self, graph: Graph, rules: list[Rule], reasons: list[tuple[str, str, str]] | None):
        self.graph, self.reasons = graph, reasons
        self.table: dict[str, dict[str, list[Rule]]] = {}
        for r in rules:
            for domain, op in r.ops:
                self.table.setdefault(op, {}).setdefault(domain, []).append(r)
        self.graphs = list(graph.walk_graphs())
        self.results = {v for g in self.graphs for v in g.outputs}
        self.names: set[str] = set()  # of all nodes, once there is an edit
        # Of each new node the nodes that it stands for, whose origins it gets when all is done: a long chain that becomes
        # one node would otherwise list them anew at every step.
        self.made_of: dict[Node, tuple[Node, ...]] = {}
        self.edits = 0
        self.limit = 20 * sum(len(g.nodes) for g in self.graphs) + 200
        self.recent: deque[str] = deque(maxlen=40)
        self.unordered = False
        self.foreign: set[Graph] = set()
        self.budget = current()

    def run(self) -> int:
        before = -1
        while before != self.edits:
            before = self.edits
            for graph in self.graphs:
                self._sweep(graph)
                for other in self.foreign:
                    other.nodes = [n for n in other.nodes if n.graph is not None]
                self.foreign.clear()
        for node in list(self.made_of):
            if node.graph is not None:
                self._settle_origins(node)
        return self.edits

    def _sweep(self, graph: Graph) -> None:
        done: list[Node] = []
        stack = graph.nodes[::-1]
        edits = self.edits
        while stack:
            node = stack.pop()
            if node.graph is None:
                continue
            domains = self.table.get(node.op)
            rules = domains.get(node.domain) if domains is not None else None
            edit = self._match(node, graph, rules) if rules is not None else None
            if edit is None:
                done.append(node)
                continue
            self._apply(edit, graph)
            if node.graph is not None:
                stack.append(node)
            stack += edit.nodes[::-1]
        if self.edits == edits:
            return
        graph.nodes = [n for n in done if n.graph is not None]
        if self.unordered:
            self.unordered = False
            if graph.sort() is not None:
                raise InternalError(f"rewriting made a cycle; the last rules applied were {', '.join(dict.fromkeys(self.recent))}")

    def _match(self, node: Node, graph: Graph, rules: list[Rule]) -> Edit | None:
        form = newest(node.domain, node.op)
        if form is not None and node.since != form:
            return None
        if self.budget is not None and self.budget.spent:
            return None
        for r in rules:
            try:
                outcome = r.function(node, graph)
            except Exception as e:
                # A rule is never worth a model that does not load.
                log.warning(
                    "rule %s failed at node %r (%s) and left it as it is: %r",
                    r.name,
                    node.name,
                    node.title,
                    e,
                    exc_info=log.isEnabledFor(logging.DEBUG),
                )
                continue
            if outcome is None:
                continue
            if isinstance(outcome, Edit):
                if outcome.known and all(self._movable(old, new, outcome) for old, new in outcome.moves):
                    self._count(r.name)
                    if self.budget is not None:
                        for matched in outcome.matched:
                            self._settle_origins(matched)
                        self.budget.note(r.name, outcome.matched)
                    return outcome
            elif self.reasons is not None:
                self.reasons.append((r.name, node.name, outcome.reason))
        return None

    def _count(self, name: str) -> None:
        self.edits += 1
        self.recent.append(name)
        if self.edits > self.limit:
            raise InternalError(f"these rules undo each other for ever: {', '.join(dict.fromkeys(self.recent))}")

    def _movable(self, old: Value, new: Value, edit: Edit) -> bool:
        """Whether `new` can stand for `old`: a graph's output keeps its Value, so `new` must be able to give way to it."""
        if old not in self.results or new.const is not None or new.producer in edit.nodes:
            return True
        home = old.producer.graph if old.producer is not None else None
        return new not in self.results and new.producer is not None and new.producer.graph is home

    def _apply(self, edit: Edit, graph: Graph) -> None:
        root = edit.matched[0]
        fresh = edit.nodes
        if not self.names:
            self.names = {n.name for g in self.graphs for n in g.nodes}
        for node in fresh:
            node.graph = graph
            given, node.inputs = node.inputs, ()
            node.set_inputs(given)
        for old, new in edit.moves:
            self.unordered |= old.producer is not root
            if new.producer in fresh and new not in self.results:
                _take_place(old, new)
            elif new.const is not None:
                _detach(old)
                old.const, old.type = new.const, new.type
            elif old in self.results:
                new.type = sharper(new.type, old.type)
                _take_place(old, new)
            else:
                new.type = sharper(new.type, old.type)
                _redirect(old, new)
        for node in edit.matched:
            if node.graph is not graph and node.graph is not None:
                self.foreign.add(node.graph)
            self._drop_if_dead(node)
        self._christen(fresh, edit.matched)
        edit.infer()

    def _drop_if_dead(self, node: Node) -> None:
        stack = [node]
        while stack:
            n = stack.pop()
            if n.graph is None or is_needed(n, self.results):
                continue
            home = n.graph
            stack += [v.producer for v in n.inputs if v is not None and v.producer is not None and v.producer.graph is home]
            n.set_inputs(())
            for body in n.bodies:
                body.remove(list(body.nodes))
            n.graph = None

    def _christen(self, fresh: list[Node], matched: tuple[Node, ...]) -> None:
        root = matched[0]
        for i, node in enumerate(fresh):
            self.made_of[node] = matched
            if root.graph is None and i == len(fresh) - 1:
                node.name = root.name
            else:
                node.name = fresh_name(f"{root.name}/{node.op}", self.names)
            for k, v in enumerate(node.outputs):
                if v is not None and not v.name:
                    v.name = node.name + (f":{k}" if k else "")

    def _settle_origins(self, node: Node) -> None:
        """Give a node the origins of all that it was made of, in the order in which rules matched it."""
        if node not in self.made_of:
            return
        names: dict[str, None] = {}
        seen: set[Node] = set()
        stack = [node]
        while stack:
            n = stack.pop()
            if n not in seen:
                seen.add(n)
                parts = self.made_of.get(n)
                if parts is None:
                    names |= dict.fromkeys(n.origins)
                else:
                    stack += parts[::-1]
        node.origins = tuple(names)


def _take_place(old: Value, new: Value) -> None:
    """`old` becomes what the producer of `new` gives; `new` is forgotten."""
    producer = new.producer
    assert producer is not None
    _detach(old)
    producer.outputs = tuple(old if v is new else v for v in producer.outputs)
    old.producer = producer
    old.type = sharper(old.type, new.type)
    _redirect(new, old)


def _detach(value: Value) -> None:
    """Take a value from its producer, which gets a nameless one in its stead."""
    producer = value.producer
    if producer is not None:
        stand_in = Value(value.name, value.type)
        stand_in.producer = producer
        producer.outputs = tuple(stand_in if v is value else v for v in producer.outputs)
        value.producer = None


def _redirect(old: Value, new: Value) -> None:
    for node in {n: None for n, _ in old.uses}:
        node.set_inputs(new if v is old else v for v in node.inputs)
