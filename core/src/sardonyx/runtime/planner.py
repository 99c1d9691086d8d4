"""From a graph to a plan: assign, group, compile, insert copies, and do the same for the bodies of control flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sardonyx.ep.interpreter import compile_kernels
from sardonyx.ep.provider import CompileContext, Executable, Provider
from sardonyx.ep.shape_kernels import shape_kernels
from sardonyx.errors import CompileRefused, NotSupported, ProviderError, SardonyxError, foreign
from sardonyx.ir.extract import extract
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.types import ValueType
from sardonyx.runtime.control import ControlStep
from sardonyx.runtime.partition import CONTROL, HOST, JOINT, Assignment, Group, assign, group, reads_metadata, small_islands
from sardonyx.runtime.plan import CopyStep, ExecStep, ExpectStep, Plan, download, upload

__all__ = ["Placed", "Planner"]

MAX_TRIES = 32


@dataclass(frozen=True, slots=True)
class Placed:
    """Where one node went: `ep` runs it; `reasons` says why providers of higher priority refused it. `inputs` and `outputs` name
    the values it reads and gives ("" where one is absent), `types` are those of the outputs; `within` is the control-flow node
    whose body it is in."""

    node: str
    op: str
    domain: str
    since: int
    origins: tuple[str, ...]
    ep: str
    group: int
    reasons: dict[str, str]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    types: tuple[ValueType, ...] = ()
    within: str = ""


@dataclass
class Planner:
    """Makes plans with one set of providers. `contexts` gives each its compile context; `placed` collects placements."""

    providers: list[Provider]
    contexts: dict[str, CompileContext]
    wishes: dict[str, str] = field(default_factory=dict)
    progress: Callable[[str], None] | None = None
    placed: list[Placed] = field(default_factory=list)
    groups: int = 0
    within: str = ""

    def plan(self, graph: Graph) -> Plan:
        """The plan of a graph (the model's own, or a body whose captured values were made its last inputs)."""
        forced: dict[str, dict[str, str]] = {}
        for _ in range(MAX_TRIES):
            assignment = assign(graph, self.providers, forced=forced, wishes=self.wishes)
            groups = group(graph, assignment.owner)
            islands = small_islands(groups, {p.name: p.memory for p in self.providers})
            islands = {n: r for n, r in islands.items() if r.keys() - forced.get(n, {}).keys()}
            if islands and len(self.providers) > 1:
                _merge(forced, islands)
                try:
                    assign(graph, self.providers, forced=forced, wishes=self.wishes)
                    continue
                except NotSupported:
                    for n, reasons in islands.items():
                        for ep in reasons:
                            forced[n].pop(ep)
            mark, first = len(self.placed), self.groups
            try:
                return self._build(graph, groups, assignment)
            except CompileRefused as e:
                del self.placed[mark:]
                self.groups = first
                owners = {n.name: assignment.owner[n] for n in graph.nodes}
                unknown = [n for n in e.reasons if n not in owners]
                if unknown:
                    raise
                _merge(forced, {n: {owners[n]: reason} for n, reason in e.reasons.items()})
        raise NotSupported(f"providers kept refusing nodes while compiling: {forced}")

    def _build(self, graph: Graph, groups: list[Group], assignment: Assignment) -> Plan:
        slots: dict[tuple[Value, str], int] = {}
        preset: dict[int, Any] = {}
        steps: list[Any] = []
        spaces = {p.name: p.memory for p in self.providers}
        allocators = {p.memory: p.allocator for p in self.providers if p.allocator is not None}
        home: dict[Value, str] = {}

        def new(v: Value, space: str) -> int:
            return slots.setdefault((v, space), len(slots))

        for v in graph.inputs:
            new(v, "host")
            home[v] = "host"

        def read(v: Value, space: str) -> int:
            """The slot of a value in a memory space, copied there if need be."""
            if (v, space) in slots:
                return slots[v, space]
            if v.const is not None:
                slot = new(v, space)
                value = v.const.numpy()
                preset[slot] = value if space == "host" else allocators[space].from_host(np.asarray(value, order="C"))
                return slot
            source = home[v]
            if source != "host" and space != "host":
                read(v, "host")
                source = "host"
            move = upload(allocators[space]) if source == "host" else download(allocators[source])
            origin, target = slots[v, source], new(v, space)
            steps.append(CopyStep(origin, target, move, "copy"))
            return target

        for g in groups:
            if g.owner == CONTROL:
                steps.append(self._control(g.nodes[0], read, new, home, assignment))
                continue
            if g.owner == JOINT:
                steps.append(self._expect(g.nodes[0], read, slots, home))
                continue
            space = spaces.get(g.owner, "host")
            wanted_host = self._host_inputs(g, assignment)
            inside = set(g.nodes)
            anywhere = {v for v in g.inputs if g.owner == HOST and all(reads_metadata(n) for n, _ in v.uses if n in inside)}
            ins = [slots[v, home[v]] if v in anywhere else read(v, "host" if v in wanted_host else space) for v in g.inputs]
            executable = self._compile(g, assignment)
            host_out = self._host_outputs(g, assignment)
            outs = []
            for v in g.outputs:
                home[v] = "host" if v in host_out else space
                outs.append(new(v, home[v]))
            steps.append(ExecStep(executable, ins, outs, g.owner))
        outputs = [read(v, "host") for v in graph.outputs]
        return Plan(len(graph.inputs), len(slots), steps, outputs, preset)

    @staticmethod
    def _expect(node: Node, read: Callable[[Value, str], int], slots: dict[tuple[Value, str], int], home: dict[Value, str]) -> ExpectStep:
        """The check of a value, which stays where it is."""
        (given,), (out,) = node.inputs, node.outputs
        assert given is not None
        assert out is not None
        home[out] = home.get(given, "host")
        slots[out, home[out]] = read(given, home[out])
        return ExpectStep(slots[out, home[out]], node.attrs["shape"], node.attrs["where"])

    def _host_inputs(self, g: Group, assignment: Assignment) -> set[Value]:
        """Inputs of a group that all its nodes want on the host."""
        host: set[Value] = set()
        device: set[Value] = set()
        for node in g.nodes:
            claim = assignment.claims.get(node)
            for i, v in enumerate(node.inputs):
                if v is not None:
                    (host if claim is not None and i in claim.host_inputs else device).add(v)
        return host - device

    def _host_outputs(self, g: Group, assignment: Assignment) -> set[Value]:
        return {
            v
            for node in g.nodes
            if (claim := assignment.claims.get(node)) is not None
            for i in claim.host_outputs
            if i < len(node.outputs) and (v := node.outputs[i]) is not None
        }

    def _compile(self, g: Group, assignment: Assignment) -> Executable:
        if self.progress is not None:
            self.progress(g.owner)
        self._record(g.nodes, g.owner, assignment)
        sub = extract(g.nodes, g.inputs, g.outputs, f"{g.owner}_{self.groups}")
        if g.owner == HOST:
            return compile_kernels(sub, shape_kernels, CompileContext())
        provider = next(p for p in self.providers if p.name == g.owner)
        try:
            return provider.compile(sub, self.contexts[g.owner])
        except SardonyxError:
            raise
        except Exception as e:
            raise foreign(f"provider {g.owner!r}: compiling {len(g.nodes)} nodes", e, ProviderError) from e

    def _record(self, nodes: list[Node], owner: str, assignment: Assignment) -> None:
        for n in nodes:
            reasons = dict(assignment.refusals.get(n.name, {}))
            reasons.pop(owner, None)
            ins = tuple("" if v is None else v.name for v in n.inputs if v is None or v.const is None)
            outs = tuple("" if v is None else v.name for v in n.outputs)
            types = tuple(None if v is None else v.type for v in n.outputs)
            place = (owner, self.groups, reasons, ins, outs, types, self.within)
            self.placed.append(Placed(n.name, n.op, n.domain, n.since, n.origins, *place))
        self.groups += 1

    def _control(
        self,
        node: Node,
        read: Callable[[Value, str], int],
        new: Callable[[Value, str], int],
        home: dict[Value, str],
        assignment: Assignment,
    ) -> ControlStep:
        self._record([node], CONTROL, assignment)
        bodies: dict[str, tuple[Plan, list[int]]] = {}
        for name, body in node.attrs.items():
            if not isinstance(body, Graph):
                continue
            captured = [v for v in body.captures() if v.const is None]
            closed = extract(body.nodes, [*body.inputs, *captured], body.outputs, body.name)
            bodies[name] = (self._plan_within(node.name, closed), [read(v, "host") for v in captured])
        inputs = [None if v is None else read(v, "host") for v in node.inputs]
        home |= {v: "host" for v in node.outputs if v is not None}
        outputs = [None if v is None else new(v, "host") for v in node.outputs]
        return ControlStep(node, inputs, bodies, outputs)

    def _plan_within(self, name: str, body: Graph) -> Plan:
        outside, self.within = self.within, name
        try:
            return self.plan(body)
        finally:
            self.within = outside


def _merge(into: dict[str, dict[str, str]], more: dict[str, dict[str, str]]) -> None:
    for node, reasons in more.items():
        into.setdefault(node, {}).update(reasons)
