"""Constant folding."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx.passes import optimize


def test_chains_fold(check):
    done = check("(float[2] x) => (float[2] y) <float[2] c = {4.0, 9.0}> { s = Sqrt(c) n = Neg(s) y = Add(x, n) }", level="basic")
    assert done.ops == {"Add": 1}
    assert done.nodes[0].inputs[1].const.numpy().tolist() == [-2, -3]


def test_graph_outputs_may_be_constant(check):
    done = check("(float[2] x) => (float[2] y, float[2] z) <float[2] c = {4.0, 9.0}> { y = Sqrt(c) z = Neg(x) }", level="basic")
    assert done.ops == {"Neg": 1}


def test_several_outputs_fold(check):
    text = "(float[2] x) => (float[2] y) <float[4] c = {1, 2, 3, 4}> { a, b = Split<num_outputs = 2>(c) s = Add(a, b) y = Add(x, s) }"
    assert check(text, level="basic").ops == {"Add": 1}


def test_strings_fold(build):
    graph = build('() => (string[2] y) { a = Constant<value_strings = ["x", "y"]>() y = Identity(a) }').graph
    optimize(graph, "basic")
    assert graph.outputs[0].const.numpy().tolist() == ["x", "y"]


def test_dequantized_weights_stay(build):
    graph = build(
        "(float[2, 2] x) => (float[2, 2] y) <float s = {0.5}> { w = DequantizeLinear(q, s) y = MatMul(x, w) }", q=np.ones((2, 2), np.int8)
    ).graph
    optimize(graph, "extended")
    assert [n.op for n in graph.nodes] == ["DequantizeLinear", "MatMul"]


@pytest.mark.parametrize("node", ["RandomNormalLike(c)", "Bernoulli(c)", "RandomUniformLike(c)"])
def test_random_numbers_stay_random(build, node):
    graph = build("(float[2] x) => (float[2] y) <float[2] c = {0.5, 0.5}> { r = " + node + " y = Add(x, r) }").graph
    optimize(graph, "extended")
    assert len(graph.nodes) == 2


@pytest.mark.parametrize(("side", "folds"), [(100, True), (200, False)])
def test_large_results_of_small_inputs_stay(build, side, folds):
    graph = build(
        f"(float[{side}, {side}] x) => (float[{side}, {side}] y) {{ w = Expand(c, s) y = Add(x, w) }}",
        c=np.float32([1]),
        s=np.array([side, side]),
    ).graph
    optimize(graph, "basic")
    assert ([n.op for n in graph.nodes] == ["Add"]) is folds


def test_large_results_of_large_inputs_fold(build):
    graph = build("(float[2, 200] x) => (float[2, 200] y) { t = Transpose(w) y = MatMul(x, t) }", w=np.ones((200, 200), np.float32)).graph
    optimize(graph, "basic")
    assert [n.op for n in graph.nodes] == ["MatMul"]


@pytest.mark.parametrize(("use", "folds"), [("MatMul(x, w)", True), ("Add(x, w)", False)])
def test_constant_of_shape_folds_as_a_weight_of_any_size(build, use, folds):
    graph = build("(float[200, 200] x) => (float[200, 200] y) { w = ConstantOfShape(s) y = " + use + " }", s=np.array([200, 200])).graph
    optimize(graph, "basic")
    assert (len(graph.nodes) == 1) is folds


def test_nodes_that_cannot_run_stay(build):
    graph = build("(float[2] x) => (float[n] y) { g = Gather(c, i) y = Add(x, g) }", c=np.ones(2, np.float32), i=np.array([7])).graph
    optimize(graph, "extended")
    assert [n.op for n in graph.nodes] == ["Gather", "Add"]


def test_absurd_sizes_are_not_tried(build):
    graph = build("(float[1] x) => (float[n] y) { r = ConstantOfShape(s) y = MatMul(x, r) }", s=np.array([1, 1 << 38])).graph
    optimize(graph, "basic")
    assert graph.nodes[0].op == "ConstantOfShape"
