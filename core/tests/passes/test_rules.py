"""The rewrite framework itself."""

from __future__ import annotations

import logging
import time

import numpy as np
import pytest

from sardonyx.errors import InternalError
from sardonyx.ir.types import TensorType
from sardonyx.ir.verify import verify
from sardonyx.passes import Edit, apply_rules, no, rule
from sardonyx.passes.edit import constant
from sardonyx.passes.rules import sharper

F4 = np.dtype(np.float32)


@rule("Neg")
def neg_to_abs(node, graph):
    edit = Edit(node)
    return edit.replace(node.outputs[0], edit.add("Abs", node.inputs))


@rule("Abs")
def abs_to_neg(node, graph):
    edit = Edit(node)
    return edit.replace(node.outputs[0], edit.add("Neg", node.inputs))


@rule("Identity")
def skip(node, graph):
    return Edit(node).replace(node.outputs[0], node.inputs[0])


@rule("Relu")
def one_relu(node, graph):
    inner = node.inputs[0].producer
    if inner is None or inner.op != "Relu":
        return None
    edit = Edit(node, inner)
    return edit.replace(node.outputs[0], edit.add("Relu", inner.inputs, like=node.outputs[0]))


def test_a_long_chain_becomes_one_node_of_all_origins(build):
    count = 3000
    steps = " ".join(f"v{i + 1} = Relu(v{i})" for i in range(count))
    graph = build(f"(float[2] v0) => (float[2] v{count}) {{ {steps} }}").graph
    names = [node.name for node in graph.nodes]
    start = time.perf_counter()
    assert apply_rules(graph, [one_relu]) == count - 1
    assert time.perf_counter() - start < 2
    assert graph.nodes[0].origins == tuple(reversed(names))


def test_a_new_node_takes_over_name_origins_and_value(build):
    graph = build("(float[2] x) => (float[2] y) { t = Neg(x) y = Sqrt(t) }").graph
    old, t = graph.nodes[0], graph.nodes[0].outputs[0]
    assert apply_rules(graph, [neg_to_abs]) == 1
    new = graph.nodes[0]
    assert (new.op, new.since, new.name, new.origins) == ("Abs", 13, old.name, old.origins)
    assert new.outputs == (t,)
    assert t.producer is new
    verify(graph)


def test_intermediate_values_get_types_and_nodes_names(build):
    @rule("Neg")
    def twice(node, graph):
        edit = Edit(node)
        inner = edit.add("Sub", [constant(np.zeros((), np.float32)), node.inputs[0]])
        return edit.replace(node.outputs[0], edit.add("Abs", [inner], like=node.outputs[0]))

    graph = build("(float[2, N] x) => (float[2, N] y) { y = Neg(x) }").graph
    apply_rules(graph, [twice])
    sub, last = graph.nodes
    assert sub.outputs[0].type == TensorType(F4, (2, "N"))
    assert sub.name != last.name
    assert sub.origins == last.origins
    verify(graph)


def test_matched_nodes_with_other_users_stay(build):
    @rule("Sqrt")
    def over(node, graph):
        neg = node.inputs[0].producer
        edit = Edit(node, neg)
        return edit.replace(node.outputs[0], edit.add("Abs", neg.inputs))

    graph = build("(float[2] x) => (float[2] y, float[2] t) { t = Neg(x) y = Sqrt(t) }").graph
    apply_rules(graph, [over])
    assert [n.op for n in graph.nodes] == ["Neg", "Abs"]
    verify(graph)


def test_dead_producers_of_matched_nodes_go(build):
    @rule("Sqrt")
    def to_input(node, graph):
        edit = Edit(node)
        return edit.replace(node.outputs[0], edit.add("Abs", [graph.inputs[0]]))

    graph = build("(float[2] x) => (float[2] y) { a = Neg(x) b = Neg(a) y = Sqrt(b) }").graph
    apply_rules(graph, [to_input])
    assert [n.op for n in graph.nodes] == ["Abs"]


def test_rules_that_undo_each_other_are_named(build):
    graph = build("(float[2] x) => (float[2] y) { y = Neg(x) }").graph
    with pytest.raises(InternalError, match=r"neg_to_abs.*abs_to_neg|abs_to_neg.*neg_to_abs"):
        apply_rules(graph, [neg_to_abs, abs_to_neg])


def test_disabled_rules_do_not_run(build):
    graph = build("(float[2] x) => (float[2] y) { y = Neg(x) }").graph
    assert apply_rules(graph, [neg_to_abs], disabled={"neg_to_abs"}) == 0


def test_reasons_are_collected(build):
    @rule("Neg")
    def never(node, graph):
        return no("it is Tuesday")

    graph = build("(float[2] x) => (float[2] y) { y = Neg(x) }").graph
    reasons = []
    apply_rules(graph, [never], reasons=reasons)
    assert reasons == [("never", graph.nodes[0].name, "it is Tuesday")]


def test_a_failing_rule_leaves_the_node_and_says_so(build, caplog):
    @rule("Neg")
    def broken(node, graph):
        raise KeyError("oops")

    graph = build("(float[2] x) => (float[2] y) { y = Neg(x) }").graph
    with caplog.at_level(logging.WARNING, logger="sardonyx"):
        assert apply_rules(graph, [broken, neg_to_abs]) == 1
    assert "broken" in caplog.text


def test_old_forms_are_not_offered(build):
    graph = build("(float[2] x) => (float[2] y) { y = Neg(x) }").graph
    graph.nodes[0].since = 6
    assert apply_rules(graph, [neg_to_abs]) == 0


def test_operators_that_onnx_does_not_know_are_not_made(build):
    @rule("Neg")
    def future(node, graph):
        edit = Edit(node)
        return edit.replace(node.outputs[0], edit.add("OperatorOfTomorrow", node.inputs))

    graph = build("(float[2] x) => (float[2] y) { y = Neg(x) }").graph
    assert apply_rules(graph, [future]) == 0


def test_outputs_keep_their_names(build):
    graph = build("(float[2] x) => (float[2] y) { t = Neg(x) y = Identity(t) }").graph
    apply_rules(graph, [skip])
    assert [n.op for n in graph.nodes] == ["Neg"]
    assert graph.outputs[0].name == "y"
    verify(graph)


def test_two_outputs_of_one_value_and_an_output_that_is_an_input_stay(build):
    graph = build("(float[2] x) => (float[2] y, float[2] t, float[2] z) { t = Neg(x) y = Identity(t) z = Identity(x) }").graph
    assert apply_rules(graph, [skip]) == 0
    verify(graph)


def test_an_output_that_becomes_constant(build):
    @rule("Neg")
    def fixed(node, graph):
        return Edit(node).replace(node.outputs[0], constant(np.float32([1, 2])))

    graph = build("(float[2] x) => (float[2] y) { y = Neg(x) }").graph
    apply_rules(graph, [fixed])
    assert graph.nodes == []
    assert graph.outputs[0].const.numpy().tolist() == [1, 2]
    verify(graph)


def test_values_made_before_the_root_are_replaced_in_order(build):
    @rule("Sqrt")
    def both(node, graph):
        neg = node.inputs[0].producer
        edit = Edit(node, neg)
        first = edit.add("Abs", neg.inputs)
        edit.replace(neg.outputs[0], first)
        return edit.replace(node.outputs[0], edit.add("Exp", [first]))

    graph = build("(float[2] x) => (float[2] y, float[2] z) { t = Neg(x) z = Sin(t) y = Sqrt(t) }").graph
    apply_rules(graph, [both])
    assert sorted(n.op for n in graph.nodes) == ["Abs", "Exp", "Sin"]
    verify(graph)


def test_bodies_are_rewritten_and_outer_nodes_they_alone_used_go(build):
    @rule("Sqrt")
    def past_outer(node, graph):
        edit = Edit(node, node.inputs[0].producer)
        return edit.replace(node.outputs[0], edit.add("Abs", node.inputs[0].producer.inputs))

    graph = build(
        """(bool c, float[2] x) => (float[2] y) { t = Neg(x)
            y = If(c) <then_branch = a () => (float[2] p) { p = Sqrt(t) }, else_branch = b () => (float[2] q) { q = Neg(x) }> }"""
    ).graph
    apply_rules(graph, [past_outer])
    assert [n.op for n in graph.nodes] == ["If"]
    assert [n.op for n in graph.walk_nodes()] == ["If", "Abs", "Neg"]
    verify(graph)


def test_sharper_joins_what_two_types_know():
    a, b = TensorType(F4, (None, "n", 3)), TensorType(F4, (2, 7, "m"))
    assert sharper(a, b) == TensorType(F4, (2, 7, 3))
    assert sharper(TensorType(None, None), b) == b
    assert sharper(None, b) == b
