"""Run the bodies of control flow in a session and in another engine side by side, and compare their tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sardonyx.errors import NotSupported
from sardonyx.ir.extract import extract
from sardonyx.ir.graph import Graph, Model, Node, Value
from sardonyx.runtime.control import ControlStep
from sardonyx.runtime.session import InferenceSession
from sardonyx.tools.difference import Difference, Tolerance, difference, value_text
from sardonyx.tools.engines import Engine
from sardonyx.tools.original import near_proto
from sardonyx.tools.tensor_row import TensorRow

__all__ = ["Open", "compare_bodies"]

Open = Callable[[Any], tuple[InferenceSession, Engine]]
Values = Callable[[Value], Any]


def compare_bodies(model: Model, node: Node, values: Values, open_sides: Open, tolerance: Tolerance) -> list[TensorRow]:
    """A row for every tensor that nodes in the bodies of `node` (If, Loop or Scan) give, bodies within bodies included.

    Each run of a body begins with the reference's values on both sides, so a row that differs shows what its own node does. A
    row is of the first run in which the tensor differs, else of the one with the largest difference; bodies that do not run
    have none. `values` gives what the node reads from outside, `open_sides` loads a model on both sides. Raises NotSupported for
    other operators with bodies, SardonyxError where a side cannot run a body.
    """
    return _Walk(model, open_sides, tolerance).rows(node, values, ())


class _Walk:
    """What holds for one model: `sides` has each body's session and engine."""

    def __init__(self, model: Model, open_sides: Open, tolerance: Tolerance):
        self.model, self.open_sides, self.tolerance = model, open_sides, tolerance
        self.bodies: dict[Graph, _Body] = {}

    def rows(self, node: Node, values: Values, iteration: tuple[int, ...]) -> list[TensorRow]:
        """Run the node's bodies as often as it asks for; the rows of all that ran, in the order of the file."""
        if node.domain or node.op not in ("If", "Loop", "Scan"):
            raise NotSupported(f"{node.title} runs them itself")
        env: list[Any] = []

        def slot(v: Value) -> int:
            env.append(values(v))
            return len(env) - 1

        inputs = [None if v is None else slot(v) for v in node.inputs]
        plans: dict[str, Any] = {}
        for name, graph in node.attrs.items():
            if isinstance(graph, Graph):
                if graph not in self.bodies:
                    self.bodies[graph] = _Body(self, node, graph)
                body = self.bodies[graph]
                plans[name] = (_Runs(body, iteration, node.op != "If"), [slot(v) for v in body.captured])
        ControlStep(node, inputs, plans, [])(env, None)
        return [row for graph in node.bodies for row in self.bodies[graph].rows()]


class _Runs:
    """Stands for a body's plan in a ControlStep, and counts its runs."""

    def __init__(self, body: _Body, iteration: tuple[int, ...], counts: bool):
        self.body, self.iteration, self.counts, self.count = body, iteration, counts, 0
        self.outputs = body.graph.outputs

    def run(self, inputs: list[Any], ctx: Any) -> list[Any]:
        """The reference's outputs."""
        iteration = (*self.iteration, self.count) if self.counts else self.iteration
        self.count += 1
        return self.body.run(inputs, iteration)


class _Body:
    """One body as a model of its own, with every tensor an output, on both sides."""

    def __init__(self, walk: _Walk, node: Node, graph: Graph):
        self.walk, self.within, self.graph = walk, node.name, graph
        self.captured = [v for v in graph.captures() if v.const is None]
        self.given = [v for n in graph.nodes for v in n.outputs if v is not None and v.name]
        self.best: dict[Value, TensorRow] = {}
        self.inner: dict[Node, list[TensorRow]] = {}
        self.sides: tuple[InferenceSession, Engine] | None = None
        self.eps: dict[str, str] = {}

    def run(self, inputs: list[Any], iteration: tuple[int, ...]) -> list[Any]:
        """Run it on both sides, compare, look into its own bodies, and give the reference's outputs."""
        known = dict(zip([*self.graph.inputs, *self.captured], (_array(x) for x in inputs), strict=True))
        got, want = self._both(known)
        known |= zip(self.given, want, strict=True)
        for v, g, w in zip(self.given, got, want, strict=True):
            self._note(v, difference(g, w, self.walk.tolerance), w, iteration)

        def value(v: Value) -> Any:
            return v.const.numpy() if v.const is not None else known[v]

        for node in self.graph.nodes:
            if node.bodies:
                self.inner[node] = self.walk.rows(node, value, iteration)
        return [value(v) for v in self.graph.outputs]

    def _both(self, known: dict[Value, Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        if not self.given:
            return (), ()
        if self.sides is None:
            cut = extract(self.graph.nodes, list(known), self.given, self.graph.name or "body")
            self.sides = self.walk.open_sides(near_proto(Model(graph=cut, opsets=dict(self.walk.model.opsets))))
            self.eps = {name: p.ep for p in self.sides[0].explain().nodes for name in p.outputs}
        session, engine = self.sides
        feeds = {v.name: x for v, x in known.items()}
        want = engine.run(None, feeds)
        return session.run(None, feeds), [_array(x) for x in want]

    def _note(self, v: Value, d: Difference, value: Any, iteration: tuple[int, ...]) -> None:
        """Keep the row that says most of a tensor."""
        old = self.best.get(v)
        if old is not None and (not old.difference.ok or (d.ok and d.relative <= old.difference.relative)):
            return
        node = v.producer
        assert node is not None
        own = (self.eps.get(v.name, ""), value_text(value), False, d)
        self.best[v] = TensorRow(v.name, node.name, node.title, *own, within=self.within, iteration=iteration)

    def rows(self) -> list[TensorRow]:
        """Of its own tensors and of those further in, in the order of the nodes."""
        found: list[TensorRow] = []
        for node in self.graph.nodes:
            found += self.inner.get(node, ())
            found += [self.best[v] for v in node.outputs if v in self.best]
        return found


def _array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, np.generic) else value
