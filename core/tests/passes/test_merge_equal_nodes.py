"""Common subexpressions."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from sardonyx.ir.load import load
from sardonyx.passes import optimize
from sardonyx.passes.basic.merge_equal_nodes import merge_equal_nodes


def test_equal_nodes_merge_in_chains(check):
    done = check("(float[2] x) => (float[2] y) { a = Sqrt(x) b = Sqrt(x) c = Neg(a) d = Neg(b) y = Add(c, d) }", level="basic")
    assert done.ops == {"Sqrt": 1, "Neg": 1, "Add": 1}


def test_origins_are_joined(build):
    graph = build("(float[2] x) => (float[2] y) { a = Sqrt(x) b = Sqrt(x) y = Add(a, b) }").graph
    names = [n.name for n in graph.nodes]
    merge_equal_nodes(graph)
    assert graph.nodes[0].origins == tuple(names[:2])


def test_equal_small_constants_are_one_input(check):
    done = check(
        "(float[2] x) => (float[2] y) <float a = {2.0}, float b = {2.0}> { c = Mul(x, a) d = Mul(x, b) y = Sub(c, d) }", level="basic"
    )
    assert done.ops == {"Mul": 1, "Sub": 1}


@pytest.mark.parametrize(
    "pair",
    [
        "a = Softmax<axis = 0>(x) b = Softmax<axis = 1>(x)",
        "a = Sqrt(x) b = Neg(x)",
        "a = Sub(x, z) b = Sub(z, x)",
        "a = RandomNormalLike(x) b = RandomNormalLike(x)",
        "a = LeakyRelu<alpha = 0.0>(x) b = LeakyRelu<alpha = -0.0>(x)",
    ],
)
def test_different_nodes_stay(build, pair):
    graph = build("(float[2, 2] x, float[2, 2] z) => (float[2, 2] y) { " + pair + " y = Add(a, b) }").graph
    assert merge_equal_nodes(graph) == 0


def test_constants_of_other_dtype_or_bits_stay_apart(build):
    graph = build(
        "(float[1] x) => (float[1] y) { a = Mul(x, p) b = Mul(x, q) y = Add(a, b) }", p=np.float32([0.0]), q=np.float32([-0.0])
    ).graph
    assert merge_equal_nodes(graph) == 0


def test_string_tensor_attributes(build):
    """ort#28413: tensors of strings among the attributes."""
    node = 'LabelEncoder<keys_tensor = string[2] {"a", "b"}, values_tensor = int64[2] {1, 2}>(x)'
    other = node.replace('"b"', '"c"')
    body = f"a = ai.onnx.ml.{node} b = ai.onnx.ml.{node} c = ai.onnx.ml.{other} d = Add(a, b) y = Add(d, c)"
    text = f"(string[2] x) => (int64[2] y) {{ {body} }}"
    graph = load(parser.parse_model('<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 4]> g ' + text)).graph
    optimize(graph, "basic")
    assert sorted(n.op for n in graph.nodes) == ["Add", "Add", "LabelEncoder", "LabelEncoder"]


def test_two_graph_outputs_stay_two(check):
    assert check("(float[2] x) => (float[2] y, float[2] z) { y = Sqrt(x) z = Sqrt(x) }", level="basic").ops == {"Sqrt": 2}
