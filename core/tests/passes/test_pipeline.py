"""Levels, reports, switches, and what plug-ins add."""

from __future__ import annotations

import pytest

from sardonyx.errors import InvalidInput
from sardonyx.ir.verify import verify
from sardonyx.passes import Edit, optimize, rule

SILU = "(float[N, 4] x) => (float[N, 4] y) { i = Identity(x) s = Sigmoid(i) y = Mul(i, s) }"


@pytest.mark.parametrize(
    ("level", "ops"), [("none", ["Identity", "Sigmoid", "Mul"]), ("basic", ["Sigmoid", "Mul"]), ("extended", ["Swish"]), ("all", ["Swish"])]
)
def test_levels(build, level, ops):
    graph = build(SILU).graph
    optimize(graph, level)
    assert [n.op for n in graph.nodes] == ops


def test_normalizations_fold_into_convolutions_at_every_level(build):
    """onnxruntime.quantization prepares a model at the basic level, for the sake of this."""
    graph = build(
        """(float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <float[3, 2, 1, 1] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0},
        float[3] one = {1.0, 1.0, 1.0}> { c = Conv(x, w) y = BatchNormalization(c, one, one, one, one) }"""
    ).graph
    optimize(graph, "basic")
    assert [n.op for n in graph.nodes] == ["Conv"]


def test_unknown_level(build):
    with pytest.raises(InvalidInput, match="none, basic, extended, all"):
        optimize(build(SILU).graph, "fast")


@pytest.mark.parametrize("name", ["activations", "fuse_swish"])
def test_disabled_passes_and_rules(build, name):
    graph = build(SILU).graph
    optimize(graph, "extended", disabled=[name])
    assert [n.op for n in graph.nodes] == ["Sigmoid", "Mul"]


def test_report(build):
    report = []
    optimize(build(SILU).graph, "extended", report=report)
    names = [name for name, _, _ in report]
    assert names[:3] == ["remove_dead_nodes", "fold_constants", "fold_shapes"]
    assert {name: edits for name, _, edits in report if edits} == {"simplify": 1, "activations": 1}
    assert all(seconds >= 0 for _, seconds, _ in report)


def test_no_step_runs_again_where_nothing_changed_since(build):
    report = []
    optimize(build("(float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }").graph, "extended", report=report)
    names = [name for name, _, _ in report]
    assert len(names) == len(set(names)) == 12
    report.clear()
    optimize(build(SILU).graph, "extended", report=report)
    names = [name for name, _, _ in report]
    assert (names.count("simplify"), names.count("contrib"), names.count("activations"), names.count("attention")) == (2, 2, 1, 1)


def test_extra_rules_and_functions_run_last(build):
    @rule("Swish")
    def plain(node, graph):
        edit = Edit(node)
        return edit.replace(node.outputs[0], edit.add("Relu", node.inputs))

    seen = []

    def look(graph):
        seen.extend(n.op for n in graph.nodes)
        return 0

    graph = build(SILU).graph
    optimize(graph, "extended", extra=[plain, look])
    assert seen == ["Relu"]


def test_evaluate_is_asked_for_constants(build):
    asked = []

    def evaluate(node, inputs):
        asked.append((node.op, [i.tolist() for i in inputs]))

    graph = build("(float[1] x) => (float[1] y) <float[1] c = {4.0}> { s = Sqrt(c) y = Mul(x, s) }").graph
    optimize(graph, "basic", evaluate=evaluate)
    assert asked == [("Sqrt", [[4.0]])]
    assert [n.op for n in graph.nodes] == ["Sqrt", "Mul"]


def test_bodies_that_return_outer_values(check):
    done = check(
        """(bool c, float[2] x) => (float[2] y) { t = Neg(x) u = Identity(t)
            y = If(c) <then_branch = a () => (float[2] u) { }, else_branch = b () => (float[2] q) { q = Identity(x) }> }"""
    )
    assert done.ops == {"Neg": 1, "If": 1, "Identity": 2}
    verify(done.graph)
