"""Compare a session with another engine, tensor by tensor, and find the first that differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sardonyx.errors import SardonyxError
from sardonyx.ir.graph import Graph, Model, Node
from sardonyx.ir.load import load
from sardonyx.ir.text import type_text
from sardonyx.runtime import arguments
from sardonyx.runtime.options import SessionOptions
from sardonyx.runtime.session import InferenceSession
from sardonyx.tools.bodies import Open, compare_bodies
from sardonyx.tools.branches import take_branches
from sardonyx.tools.difference import Tolerance, difference, value_text
from sardonyx.tools.engines import Engine, known_engine, open_engine
from sardonyx.tools.original import tensor_names
from sardonyx.tools.random_values import given_feeds, random_feeds
from sardonyx.tools.tensor_row import TensorRow

__all__ = ["TENSORS", "Comparison", "TensorRow", "compare", "compare_session"]

TENSORS = ("every", "kept", "outputs")


@dataclass
class Comparison:
    """`rows` in topological order of the model as it is in the file, those of a body before the outputs of its node; `first` is
    the first outside of the tolerance, and `reads` says of each value that its node reads (name, type and shape, whether it
    agrees and where it is from). `unseen` has the control-flow nodes whose bodies were not looked into, and why."""

    subject: str
    reference: str
    rows: list[TensorRow] = field(default_factory=list)
    reads: list[tuple[str, str, str]] = field(default_factory=list)
    unseen: dict[str, str] = field(default_factory=dict)

    @property
    def first(self) -> TensorRow | None:
        """The first tensor that differs, or None."""
        return next((r for r in self.rows if not r.difference.ok), None)

    @property
    def ok(self) -> bool:
        """Whether every tensor is within the tolerance."""
        return self.first is None

    def explanation(self) -> str:
        """What differs first, where, and what to do, in a few lines."""
        first = self.first
        if first is None:
            lines = [f"{len(self.rows)} tensors agree within the tolerance"]
        else:
            where = f"{first.ep or '?'}, in {first.place}" if first.place else first.ep or "?"
            lines = [
                f"first difference: tensor {first.tensor!r} ({first.value}) of node {first.node!r} ({first.op}) on {where}: "
                f"{first.difference.text}"
            ]
            lines += [f"  it reads {tensor!r} ({value}), which {state}" for tensor, value, state in self.reads]
            lines += self._blame(first)
        return "\n".join([*lines, *self.notes()])

    def _blame(self, first: TensorRow) -> list[str]:
        """What the rows besides the first that differs say of it."""
        if any(r.within == first.node for r in self.rows):
            return [
                "  every tensor in its bodies agrees where each iteration begins with the reference's values: small differences add "
                "up over the iterations, or how the loop is run is to blame"
            ]
        apart = {r.tensor: r.difference.ok for r in self.rows if not r.as_run and not r.within}
        if first.as_run and all(apart.values()) and apart:
            return ["  every tensor agrees where the plan is made to keep it: an optimization is to blame; `sardonyx bisect` finds it"]
        return []

    def notes(self) -> list[str]:
        """A line for each node whose bodies were not looked into."""
        return [f"the bodies of {node} were not looked into: {why}" for node, why in self.unseen.items()]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        first = self.first
        return {
            "ok": self.ok,
            "subject": self.subject,
            "reference": self.reference,
            "tensors": len(self.rows),
            "differ": sum(not r.difference.ok for r in self.rows),
            "first": first.to_dict() if first else None,
            "reads": [{"tensor": t, "value": v, "state": s} for t, v, s in self.reads],
            "unseen": self.unseen,
            "rows": [r.to_dict() for r in self.rows],
        }

    def __str__(self) -> str:
        return self.explanation()


def compare(
    model: Any,
    feeds: Mapping[str, Any] | None = None,
    *,
    providers: Sequence[Any] | None = None,
    against: str = "onnxruntime",
    options: SessionOptions | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    tensors: str = "every",
    inside: bool = False,
) -> Comparison:
    """Run a model in a session and in another engine on the same feeds, and compare all its tensors.

    `model` is a path, bytes or ModelProto; `feeds` default to random values. `against` is an engine (see
    `sardonyx.tools.engines.open_engine`): onnxruntime, onnx.reference, openvino, or providers such as "cpu". `rtol` and `atol`
    are as in `Tolerance`. `tensors` is every (those in bodies of If, Loop and Scan included), kept (those that optimization keeps)
    or outputs. With `inside`, every If is first replaced by the branch that the feeds take, so that the branch is optimized
    with what is around it. Raises InvalidInput for wrong arguments, SardonyxError where a side cannot run.
    """

    def open_session(source: Any) -> InferenceSession:
        return InferenceSession(source, options, providers)

    arguments.member("tensors", tensors, TENSORS)
    tolerance = Tolerance(rtol, atol)
    known_engine(against)
    session = open_session(model)
    given = given_feeds(feeds) if feeds is not None else random_feeds(session)
    if inside:
        model = take_branches(open_session, model, given)
        session = open_session(model)
    threads = session.get_session_options().threads

    def open_sides(source: Any) -> tuple[InferenceSession, Engine]:
        return open_session(source), open_engine(against, source, threads=threads)

    reference = open_engine(against, model, threads=threads)
    return compare_session(session, reference, model, given, tolerance, tensors, open_sides)


def compare_session(
    session: InferenceSession,
    reference: Engine,
    model: Any,
    feeds: Mapping[str, Any],
    tolerance: Tolerance,
    tensors: str,
    open_sides: Open,
) -> Comparison:
    """As compare(), with a session and an engine of `model` that exist already, and a function that loads others on both sides."""
    loaded = load(model)
    told = tensor_names(model)
    makers = {v.name: n for n in loaded.graph.nodes for v in n.outputs if v is not None and v.name in told}
    result = Comparison("+".join(session.get_providers()), reference.name)
    rows, wanted = _main_rows(session, reference, makers, feeds, tolerance, tensors)
    inner: dict[Node, list[TensorRow]] = {}
    if tensors == "every":
        known = _known(loaded, session, feeds, wanted)
        inner = _inner_rows(loaded, known, open_sides, tolerance, result.unseen)
    for node in loaded.graph.nodes:
        result.rows += inner.get(node, [])
        for v in node.outputs:
            result.rows += rows.pop(v.name, []) if v is not None else []
    result.rows += [r for rest in rows.values() for r in rest]
    result.reads = _reads(result, loaded.graph)
    return result


def _main_rows(
    session: InferenceSession, reference: Engine, makers: dict[str, Node], feeds: Mapping[str, Any], tolerance: Tolerance, tensors: str
) -> tuple[dict[str, list[TensorRow]], dict[str, Any]]:
    """The rows of each tensor of the main graph, those of the plan that also runs otherwise first; and the reference's values."""
    outputs = [o.name for o in session.get_outputs()]
    internal = [name for name in makers if name not in outputs] if tensors != "outputs" else []
    placed = [p for p in session.explain().nodes if not p.within]
    survive = {name for p in placed for name in p.outputs}
    kept = [n for n in internal if n in survive]
    rest = [n for n in internal if n not in survive] if tensors == "every" else []
    wanted = dict(zip(outputs, reference.run(None, feeds), strict=True))
    if kept or rest:
        wanted |= zip(kept + rest, reference.run(kept + rest, feeds), strict=True)
    eps = {name: p.ep for p in placed for name in p.outputs}
    rows: dict[str, list[TensorRow]] = {}
    for names, as_run in ((outputs, True), ([*kept, *outputs], True), ([*rest, *outputs], False)):
        names = [n for n in names if n in wanted]
        if not set(names) - rows.keys():
            continue
        for name, got in zip(names, session.run(None if names == outputs else names, feeds), strict=True):
            d = difference(got, wanted[name], tolerance)
            # An output's row is that of the plan which gives the outputs alone, unless only another plan shows a difference.
            if name in rows and (d.ok or not rows[name][0].difference.ok):
                continue
            maker = makers.get(name)
            source = (maker.name, maker.title) if maker is not None else ("", "input")
            row = TensorRow(name, *source, eps.get(name, "") if as_run else "", value_text(wanted[name]), as_run, d)
            rows.setdefault(name, []).append(row)
    return rows, wanted


def _known(model: Model, session: InferenceSession, feeds: Mapping[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """The values that control-flow nodes of the main graph read: the reference's, where it has them."""
    known = {k: t.numpy() for k, t in model.overridable.items()} | dict(feeds) | wanted
    read = (v for n in model.graph.nodes if n.bodies for v in (*n.inputs, *(c for body in n.bodies for c in body.captures())))
    missing = list(dict.fromkeys(v.name for v in read if v is not None and v.const is None and v.name not in known))
    return known | (dict(zip(missing, session.run(missing, feeds), strict=True)) if missing else {})


def _inner_rows(
    model: Model, known: dict[str, Any], open_sides: Open, tolerance: Tolerance, unseen: dict[str, str]
) -> dict[Node, list[TensorRow]]:
    """The rows of the bodies of each control-flow node of the main graph; those that cannot be looked into go to `unseen`."""
    found = {}
    for node in model.graph.nodes:
        if not node.bodies:
            continue
        try:
            found[node] = compare_bodies(
                model, node, lambda v: known[v.name] if v.const is None else v.const.numpy(), open_sides, tolerance
            )
        except SardonyxError as e:
            unseen[node.name] = str(e)
    return found


def _reads(result: Comparison, graph: Graph) -> list[tuple[str, str, str]]:
    """(tensor, its value, its state) of what the first differing node reads."""
    first = result.first
    node = next((n for n in graph.walk_nodes() if first is not None and n.name == first.node), None)
    if first is None or node is None or node.graph is None:
        return []
    rows = {r.tensor: r for r in result.rows if r.within == first.within}
    found = []
    for v in dict.fromkeys(v for v in node.inputs if v is not None):
        own = v.producer is not None and v.producer.graph is node.graph
        if v.const is not None:
            found.append((v.name, value_text(v.const.numpy()), "is a constant"))
        elif first.within and not own:
            found.append((v.name, type_text(v.type), "comes into the body as the reference has it"))
        elif v.name in rows:
            d = rows[v.name].difference
            made = f", from node {v.producer.name!r} ({v.producer.title})" if v.producer is not None else ""
            found.append((v.name, rows[v.name].value, f"{'agrees' if d.ok else 'differs'} ({d.text}){made}"))
        else:
            found.append((v.name, type_text(v.type), "is an input of the model" if v in graph.inputs else "was not compared"))
    return found
