"""Find what makes a result differ, the edit of an optimization or a node, and the smallest model that still shows it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sardonyx.errors import InvalidInput, SardonyxError
from sardonyx.ir.graph import Model
from sardonyx.ir.load import load
from sardonyx.passes.budget import Applied, budget
from sardonyx.runtime import arguments
from sardonyx.runtime.options import GraphOptimizationLevel, SessionOptions
from sardonyx.runtime.session import InferenceSession
from sardonyx.tools.branches import take_branches
from sardonyx.tools.difference import Difference, Tolerance, difference
from sardonyx.tools.engines import Engine, known_engine, open_engine
from sardonyx.tools.minimize import Piece, minimize, write_piece
from sardonyx.tools.original import tensor_names
from sardonyx.tools.random_values import given_feeds, random_feeds

__all__ = ["Culprit", "bisect", "bisect_with"]

Outputs = list[Any]
UNOPTIMIZED = "the unoptimized run"


@dataclass
class Culprit:
    """What was found. `kind` is none (nothing differs), edit (`edit` is the first that makes the result differ, the `number`-th
    of `edits`), provider (the provider's own rewriting at level all, without a rule) or node (a node's result differs without
    any optimization). `output` and `difference` are of the first output that differs. `nodes` are the nodes, by their names in
    the file, of the smallest model that still shows it; `files` what was written."""

    kind: str
    reference: str
    output: str = ""
    difference: Difference | None = None
    edit: Applied | None = None
    number: int = 0
    edits: int = 0
    runs: int = 0
    nodes: list[str] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return self.kind == "none"

    def explanation(self) -> str:
        """What was found, in a few lines."""
        if self.ok:
            return f"nothing differs from {self.reference}"
        lines = [f"output {self.output!r} differs from {self.reference}: {self.difference.text if self.difference else ''}"]
        if self.edit is not None:
            where = f" at node {self.edit.node!r} ({self.edit.op})" if self.edit.node else ""
            owner = f"of pass {self.edit.step!r}" if self.edit.step else "of the provider"
            rule = f"pass {self.edit.rule!r}" if self.edit.rule == self.edit.step else f"rule {self.edit.rule!r} {owner}"
            without = f"disabled_optimizers = {{{self.edit.rule!r}}}" if self.edit.step else "level extended"
            lines.append(f"culprit: {rule}{where}, edit {self.number} of {self.edits}; {without} leaves it out")
            if self.edit.origins:
                lines.append(f"  it rewrites {', '.join(map(repr, self.edit.origins[:8]))}")
        elif self.kind == "provider":
            lines.append("culprit: what the provider itself does to the graph at level all; at level extended the result is right")
        else:
            lines.append("culprit: a node, for the result differs without any optimization")
        if self.nodes:
            made = ", ".join(f"{n!r} ({op})" for n, op in zip(self.nodes[:8], self.operators, strict=False))
            lines.append(f"the smallest model that shows it has {len(self.nodes)} of the nodes: {made}")
            lines += [f"  input {name!r} is {value}" for name, value in self.inputs.items()]
        else:
            lines.append("no part of the model shows it alone")
        if self.files:
            lines.append(f"wrote {', '.join(self.files)}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        edit = {a: getattr(self.edit, a) for a in ("rule", "step", "node", "op", "origins")} if self.edit else None
        own = {k: v for k, v in vars(self).items() if k not in ("edit", "difference")}
        return {"ok": self.ok, **own, "edit": edit, "text": self.difference.text if self.difference else ""}

    def __str__(self) -> str:
        return self.explanation()


def bisect(
    model: Any,
    feeds: Mapping[str, Any] | None = None,
    *,
    providers: Sequence[Any] | None = None,
    against: str | None = None,
    options: SessionOptions | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    out: str | os.PathLike[str] | None = None,
    inside: bool = False,
) -> Culprit:
    """Find which edit of an optimization, or which node, makes the result of a session differ.

    The reference is an engine (`against`, as in `sardonyx.compare`), or the same providers without optimization (None). `out`
    is where the smallest model that still shows the difference is written, its inputs beside it as .npz. The other
    arguments are as in `sardonyx.compare`. Raises InvalidInput, SardonyxError where a side cannot run.
    """
    chosen = SessionOptions() if options is None else arguments.instance("options", options, SessionOptions, "a SessionOptions, or None")
    tolerance, written = Tolerance(rtol, atol), None if out is None else arguments.path("out", out)
    if against is not None:
        known_engine(against)

    def make(source: Any, level: str) -> InferenceSession:
        own = chosen.copy()
        if level:
            own.graph_optimization_level = LEVEL_OF[level]
        return InferenceSession(source, own, providers)

    given = given_feeds(feeds) if feeds is not None else random_feeds(make(model, "none"))
    if inside:
        model = take_branches(lambda m: make(m, "none"), model, given)
    return bisect_with(make, model, given, against=against, tolerance=tolerance, threads=chosen.threads, out=written)


LEVEL_OF = {"none": GraphOptimizationLevel.ORT_DISABLE_ALL, "extended": GraphOptimizationLevel.ORT_ENABLE_EXTENDED}


def bisect_with(
    make: Callable[[Any, str], InferenceSession],
    model: Any,
    feeds: Mapping[str, Any],
    *,
    against: str | None,
    tolerance: Tolerance,
    threads: int = 0,
    out: str | os.PathLike[str] | None = None,
) -> Culprit:
    """As bisect(), with `make(model, level)` making the sessions: level none, extended, or "" for the one in question."""
    if out is not None and not os.path.isdir(os.path.dirname(os.path.abspath(out))):
        raise InvalidInput(f"cannot write {os.fspath(out)}: there is no such folder")
    search = _Search(make, model, dict(feeds), against, tolerance, threads)
    found = search.culprit()
    if found.ok:
        return found
    piece = search.smallest(found)
    if piece is not None:
        found.nodes = [n.name for n in piece.nodes]
        found.operators = [n.title for n in piece.nodes]
        found.inputs = piece.describe()
        if out is not None:
            found.files = write_piece(piece, os.fspath(out))
    found.runs = search.runs
    return found


class _Search:
    def __init__(self, make: Any, model: Any, feeds: dict[str, Any], against: str | None, tolerance: Tolerance, threads: int):
        self.make, self.model, self.feeds, self.against = make, model, feeds, against
        self.tolerance, self.threads, self.runs = tolerance, threads, 0
        self.names: list[str] = []
        self.optimized = True

    def culprit(self) -> Culprit:
        """What makes the result differ, without the smallest model."""
        plain = self.make(self.model, "none")
        self.names = [o.name for o in plain.get_outputs()]
        base = plain.run(None, self.feeds)
        want = base if self.against is None else self._reference(self.model).run(None, self.feeds)
        got, done = self._limited(self.model, self.feeds, None)
        found = Culprit("none", self.against or UNOPTIMIZED)
        if not self._differs(got, want, found):
            return found
        if self._differs(base, want):
            self.optimized = False
            found.kind = "node"
            return found
        found.edits = len(done)
        low, high = 0, len(done)
        if not done or self._differs(self._limited(self.model, self.feeds, 0)[0], want):
            found.kind = "provider"
            return found
        while high - low > 1:
            middle = (low + high) // 2
            got, done = self._limited(self.model, self.feeds, middle)
            low, high = (low, middle) if self._differs(got, want) else (middle, high)
        found.kind, found.number = "edit", high
        found.edit = self._limited(self.model, self.feeds, high)[1][high - 1]
        return found

    def _limited(self, model: Any, feeds: dict[str, Any], limit: int | None) -> tuple[Outputs, list[Applied]]:
        """The result with so many edits, and the edits."""
        self.runs += 1
        with budget(limit) as made:
            # A session may compile again for the feeds it gets: that counts too.
            got = self.make(model, "").run(None, feeds)
        return got, made.edits

    def _reference(self, model: Any) -> Engine:
        assert self.against is not None
        return open_engine(self.against, model, threads=self.threads, level=LEVEL_OF["none"])

    def _differs(self, got: Outputs, want: Outputs, found: Culprit | None = None) -> bool:
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            d = difference(g, w, self.tolerance)
            if not d.ok:
                if found is not None:
                    found.output, found.difference = self.names[i], d
                return True
        return False

    def smallest(self, found: Culprit) -> Piece | None:
        """The smallest part of the model that still shows the difference, or None if only the whole does."""
        loaded = load(self.model)
        hints = set(found.edit.origins) if found.edit is not None else set()
        start = [n for n in loaded.graph.nodes if n.name in hints or hints & set(n.origins)]
        return minimize(loaded, self._values(loaded), self.shows, start)

    def _values(self, loaded: Model) -> dict[str, Any]:
        """A right value for every tensor of the main graph, from the reference where it has them."""
        told = tensor_names(self.model)
        made = {v.name for n in loaded.graph.nodes for v in n.outputs if v is not None and v.name}
        values = dict(self.feeds) | {k: t.numpy() for k, t in loaded.overridable.items() if k not in self.feeds}
        own = [n for n in made if self.against is None or n not in told]
        other = [n for n in made if n not in own]
        if own:
            values |= zip(own, self.make(self.model, "none").run(own, self.feeds), strict=True)
        if other:
            values |= zip(other, self._reference(self.model).run(other, self.feeds), strict=True)
        return values

    def shows(self, piece: Piece) -> bool:
        """Whether a piece of the model, fed with right values, gives a result that differs."""
        try:
            proto, feeds = piece.proto(), piece.feeds
            self.runs += 1
            got = self.make(proto, "" if self.optimized else "none").run(None, feeds)
            if self.against is not None:
                want = self._reference(proto).run(None, feeds)
            else:
                want = self.make(proto, "none").run(None, feeds)
        except SardonyxError:
            return False
        return any(not difference(g, w, self.tolerance).ok for g, w in zip(got, want, strict=True))
