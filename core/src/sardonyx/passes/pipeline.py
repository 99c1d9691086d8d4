"""The passes, in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from sardonyx.errors import InvalidInput
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.names import fresh_name
from sardonyx.ir.schema import newest
from sardonyx.passes.basic.casts_and_clips import CASTS_AND_CLIPS
from sardonyx.passes.basic.fold_constants import fold_constants
from sardonyx.passes.basic.fold_shapes import fold_shapes
from sardonyx.passes.basic.inline_if import inline_if
from sardonyx.passes.basic.merge_equal_nodes import merge_equal_nodes
from sardonyx.passes.basic.no_ops import NO_OPS
from sardonyx.passes.basic.remove_dead_nodes import remove_dead_nodes
from sardonyx.passes.basic.views import UNDONE, VIEWS
from sardonyx.passes.budget import current
from sardonyx.passes.contrib import CONTRIB
from sardonyx.passes.evaluate import Evaluate, evaluator
from sardonyx.passes.extended import ACTIVATIONS, ATTENTION, CONVOLUTIONS, NORMALIZATIONS, OPERATORS
from sardonyx.passes.rules import Rule, apply_rules

__all__ = ["LEVELS", "optimize", "pass_names"]

Step = Callable[..., int] | tuple[Rule, ...]


def _cleaning(*views: Rule) -> tuple[tuple[str, Step], ...]:
    return (
        ("remove_dead_nodes", remove_dead_nodes),
        ("fold_constants", fold_constants),
        ("fold_shapes", fold_shapes),
        ("inline_if", inline_if),
        ("simplify", NO_OPS + UNDONE + views + CASTS_AND_CLIPS),
        ("merge_equal_nodes", merge_equal_nodes),
    )


# Tools that look for the patterns of exporters run after the basic level: it leaves those as they are.
BASIC: tuple[tuple[str, Step], ...] = (*_cleaning(), ("convolutions", CONVOLUTIONS))
CLEANING = _cleaning(*VIEWS)

EXTENDED: tuple[tuple[str, Step], ...] = (
    ("contrib", CONTRIB),
    # Before convolutions take the last factor of an activation into their weights.
    ("activations", ACTIVATIONS),
    ("convolutions", CONVOLUTIONS),
    ("normalizations", NORMALIZATIONS),
    ("operators", OPERATORS),
    ("attention", ATTENTION),
)

LEVELS = ("none", "basic", "extended", "all")
ROUNDS = 4


def pass_names(extra: Sequence[Rule | Callable[[Graph], int]] = ()) -> set[str]:
    """The names of all passes and their rules, and of those of plug-ins: what `disabled` may hold."""
    steps = (*BASIC, *EXTENDED, *(_step(e) for e in extra))
    return {name for name, _ in steps} | {rule.name for _, step in steps if isinstance(step, tuple) for rule in step}


def optimize(
    graph: Graph,
    level: str,
    *,
    evaluate: Evaluate | None = None,
    disabled: Collection[str] = (),
    extra: Sequence[Rule | Callable[[Graph], int]] = (),
    report: list[tuple[str, float, int]] | None = None,
) -> None:
    """Optimize a graph and its bodies in place; the meaning stays the same.

    `level` is none, basic (folding, into the weights of convolutions too, dead nodes, no-ops, equal nodes), extended (chains of
    views are merged, sizes are read at the inputs, and patterns become the standard operators they stand for) or all (what
    `extended` does; providers add their own rules inside their subgraphs). `evaluate(node, inputs)` gives a node's outputs for
    constant inputs or None; by default core's shape kernels do. `disabled` names passes or rules to leave out. `extra` are rules
    and functions `graph -> edits` of plug-ins, run after the others. `report` collects (pass, seconds, edits).
    Raises InvalidInput for an unknown level, InternalError if rules undo each other.
    """
    if level not in LEVELS:
        raise InvalidInput(f"there is no optimization level {level!r}; the levels are {', '.join(LEVELS)}")
    if level == "none":
        return
    own_results(graph)
    run = _Run(graph, evaluate or _default(), disabled, report, at_roots=level != "basic")
    if level == "basic":
        run.until_stable(BASIC)
        return
    run.until_stable(CLEANING)
    for _ in range(ROUNDS):
        if not run.all(EXTENDED):
            break
        run.until_stable(CLEANING)
    if run.all(tuple(_step(e) for e in extra)):
        run.until_stable(CLEANING)


def _step(extra: Rule | Callable[[Graph], int]) -> tuple[str, Step]:
    return (extra.name, (extra,)) if isinstance(extra, Rule) else (extra.__name__, extra)


def _default() -> Evaluate:
    from sardonyx.ep.shape_kernels import shape_kernels

    return evaluator(shape_kernels)


class _Run:
    def __init__(
        self,
        graph: Graph,
        evaluate: Evaluate,
        disabled: Collection[str],
        report: list[tuple[str, float, int]] | None,
        *,
        at_roots: bool,
    ):
        self.graph, self.evaluate, self.disabled, self.report, self.at_roots = graph, evaluate, disabled, report, at_roots
        self.changes = 0
        # By step the count of changes at which it had nothing left to do.
        self.settled: dict[tuple[str, int], int] = {}

    def until_stable(self, steps: tuple[tuple[str, Step], ...]) -> None:
        """Run the steps again while they change something: each can open a chance for one before it."""
        for _ in range(ROUNDS):
            if not self.all(steps):
                break

    def all(self, steps: tuple[tuple[str, Step], ...]) -> int:
        """Run each step once, but for those that have nothing to do since they last ran; returns the number of edits."""
        return sum(self.step(name, step) for name, step in steps if name not in self.disabled)

    def step(self, name: str, step: Step) -> int:
        if self.settled.get((name, id(step))) == self.changes:
            return 0
        budget = current()
        if budget is not None:
            if budget.spent:
                return 0
            budget.step = name
        start = time.perf_counter()
        sharpened: set[Value] = set()
        if isinstance(step, tuple):
            edits = apply_rules(self.graph, step, disabled=self.disabled)
        elif step is fold_constants:
            edits = fold_constants(self.graph, self.evaluate)
        elif step is fold_shapes:
            edits = fold_shapes(self.graph, sharpened, at_roots=self.at_roots)
        else:
            edits = int(step(self.graph))
        self.changes += edits + len(sharpened)
        if isinstance(step, tuple) or not (edits or sharpened):
            self.settled[name, id(step)] = self.changes
        if budget is not None:
            if edits and not isinstance(step, tuple):
                budget.note(name)
            budget.step = ""
        if self.report is not None:
            self.report.append((name, time.perf_counter() - start, edits))
        return edits


def own_results(graph: Graph) -> None:
    """Let every body give values of its own: an Identity stands before an output that is an outer value or an input."""
    for level in list(graph.walk_graphs())[1:]:
        made = {v for node in level.nodes for v in node.outputs}
        for i, v in enumerate(level.outputs):
            if v not in made and v.const is None:
                copy = type(v)(v.name, v.type)
                level.append(Node("Identity", [v], [copy], since=newest("", "Identity") or 1, name=_name(graph, f"{level.name}/{v.name}")))
                level.outputs[i] = copy


def _name(graph: Graph, base: str) -> str:
    return fresh_name(base, {node.name for node in graph.walk_nodes()})
