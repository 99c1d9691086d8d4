"""Compare a session with another engine, tensor by tensor, and find the first that differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sardonyx.errors import InvalidInput
from sardonyx.ir.graph import Graph, Node
from sardonyx.ir.load import load
from sardonyx.runtime.options import SessionOptions
from sardonyx.runtime.session import InferenceSession
from sardonyx.tools.branches import take_branches
from sardonyx.tools.difference import Difference, Tolerance, difference, value_text
from sardonyx.tools.engines import Engine, open_engine
from sardonyx.tools.original import tensor_names
from sardonyx.tools.random_values import random_feeds

__all__ = ["TENSORS", "Comparison", "TensorRow", "compare", "compare_session"]

TENSORS = ("every", "kept", "outputs")


@dataclass(frozen=True)
class TensorRow:
    """One tensor of the model: the node that gives it, how far the two sides are apart, and whether the session gave it in the
    plan that also runs otherwise (`as_run`) or in one that was made to keep it."""

    tensor: str
    node: str
    op: str
    ep: str
    value: str
    as_run: bool
    difference: Difference

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        d = self.difference
        numbers = {"ok": d.ok, "largest": d.largest, "relative": d.relative, "wrong": d.wrong, "size": d.size, "where": list(d.where)}
        own = {"tensor": self.tensor, "node": self.node, "op": self.op, "ep": self.ep, "value": self.value, "as_run": self.as_run}
        return {**own, **numbers, "text": d.text}


@dataclass
class Comparison:
    """`rows` in topological order of the model as it is in the file; `first` is the first outside of the tolerance, and `reads`
    says of each value that its node reads (name, type and shape, whether it agrees and where it is from)."""

    subject: str
    reference: str
    rows: list[TensorRow] = field(default_factory=list)
    reads: list[tuple[str, str, str]] = field(default_factory=list)

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
            return f"{len(self.rows)} tensors agree within the tolerance"
        lines = [
            f"first difference: tensor {first.tensor!r} ({first.value}) of node {first.node!r} ({first.op}) on {first.ep or '?'}: "
            f"{first.difference.text}"
        ]
        for tensor, value, state in self.reads:
            lines.append(f"  it reads {tensor!r} ({value}), which {state}")
        apart = {r.tensor: r.difference.ok for r in self.rows if not r.as_run}
        if first.as_run and all(apart.values()) and apart:
            lines.append("  every tensor agrees where the plan is made to keep it: an optimization is to blame; `sardonyx bisect` finds it")
        return "\n".join(lines)

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
    are as in `Tolerance`. `tensors` is every, kept (those that optimization keeps) or outputs. Tensors in bodies of control
    flow are not compared; with `inside`, every If is first replaced by the branch that the feeds take. Raises InvalidInput for
    wrong arguments, SardonyxError where a side cannot run.
    """
    session = InferenceSession(model, options, providers)
    given = dict(feeds) if feeds is not None else random_feeds(session)
    if inside:
        model = take_branches(lambda m: InferenceSession(m, options, providers), model, given)
        session = InferenceSession(model, options, providers)
    threads = session.get_session_options().threads
    reference = open_engine(against, model, threads=threads)
    return compare_session(session, reference, model, given, Tolerance(rtol, atol), tensors)


def compare_session(
    session: InferenceSession, reference: Engine, model: Any, feeds: Mapping[str, Any], tolerance: Tolerance, tensors: str = "every"
) -> Comparison:
    """As compare(), with a session and an engine of `model` that exist already."""
    if tensors not in TENSORS:
        raise InvalidInput(f"tensors is one of {', '.join(TENSORS)}, not {tensors!r}")
    graph = load(model).graph
    told = tensor_names(model)
    makers = {v.name: n for n in graph.nodes for v in n.outputs if v is not None and v.name in told}
    outputs = [o.name for o in session.get_outputs()]
    internal = [name for name in makers if name not in outputs] if tensors != "outputs" else []
    placed = [p for p in session.explain().nodes if not p.within]
    survive = {name for p in placed for name in p.outputs}
    kept = [n for n in internal if n in survive]
    rest = [n for n in internal if n not in survive] if tensors == "every" else []
    result = Comparison("+".join(session.get_providers()), reference.name)
    wanted = dict(zip(outputs, reference.run(None, feeds), strict=True))
    if kept or rest:
        wanted |= zip(kept + rest, reference.run(kept + rest, feeds), strict=True)
    eps = {name: p.ep for p in placed for name in p.outputs}
    rows: dict[tuple[str, bool], TensorRow] = {}
    for names, as_run in ((outputs, True), ([*kept, *outputs], True), ([*rest, *outputs], False)):
        names = [n for n in names if n in wanted]
        if not set(names) - {t for t, _ in rows}:
            continue
        for name, got in zip(names, session.run(None if names == outputs else names, feeds), strict=True):
            maker = makers.get(name)
            d = difference(got, wanted[name], tolerance)
            # An output's row is that of the plan which gives the outputs alone, unless only another plan shows a difference.
            if (name, True) in rows and (d.ok or not rows[name, True].difference.ok):
                continue
            ep = eps.get(name, "") if as_run else ""
            rows[name, as_run] = TensorRow(
                name, maker.name if maker else "", maker.title if maker else "input", ep, value_text(wanted[name]), as_run, d
            )
    order = {name: i for i, name in enumerate([*makers, *outputs])}
    result.rows = sorted(rows.values(), key=lambda r: (order[r.tensor], not r.as_run))
    result.reads = _reads(result, makers, graph)
    return result


def _reads(result: Comparison, makers: dict[str, Node], graph: Graph) -> list[tuple[str, str, str]]:
    """(tensor, its value, its state) of what the first differing node reads."""
    first = result.first
    node = makers.get(first.tensor) if first is not None else None
    if node is None:
        return []
    rows = {r.tensor: r for r in result.rows}
    found = []
    for v in dict.fromkeys(v for v in node.inputs if v is not None):
        if v.const is not None:
            found.append((v.name, value_text(v.const.numpy()), "is a constant"))
        elif v.name in rows:
            d = rows[v.name].difference
            made = f", from node {v.producer.name!r} ({v.producer.title})" if v.producer is not None else ""
            found.append((v.name, rows[v.name].value, f"{'agrees' if d.ok else 'differs'} ({d.text}){made}"))
        else:
            found.append((v.name, str(v.type), "is an input of the model" if v in graph.inputs else "was not compared"))
    return found
