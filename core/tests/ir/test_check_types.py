"""Models whose inputs have types that ONNX does not let an operator take are refused when they are loaded."""

import numpy as np
import pytest
from onnx import TensorProto, helper, parser

from sardonyx.errors import InvalidModel
from sardonyx.ir.load import load

HEAD = '<ir_version: 10, opset_import: ["" : 23, "ai.onnx.ml" : 5]>'


def read(text):
    return load(parser.parse_model(f"{HEAD} g {text}").SerializeToString())


@pytest.mark.parametrize(
    "text",
    [
        "(float[2] x, int64[2] z) => (float[2] y) { y = Add(x, z) }",
        "(float[2] x, double[2] z) => (float[2] y) { y = Max(x, x, z) }",
        "(float[2] x, float16[2] z) => (float[4] y) { y = Concat<axis = 0>(x, z) }",
        "(bool[2] c, float[2] x, double[2] z) => (float[2] y) { y = Where(c, x, z) }",
        "(float[2,2] x, double[2,2] z) => (float[2,2] y) { y = MatMul(x, z) }",
        "(float[2] x) => (float[2] y) { h = Cast<to = 10>(x) y = Mul(h, x) }",
        "(float[2] x, int64[2] p, int64 v) => (float[N] y) { y = Pad(x, p, v) }",
        "(float[2] x, int64[1] i, double[1] u) => (float[2] y) { y = ScatterElements(x, i, u) }",
    ],
)
def test_types_that_must_be_one(text):
    with pytest.raises(InvalidModel, match="takes both of one type"):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "(int64[2] x) => (int64[2] y) { y = Log(x) }",
        "(int64[2] x) => (bool[2] y) { y = Not(x) }",
        "(bool[2] x) => (bool[2] y) { y = Add(x, x) }",
        "(string[2] x) => (bool[2] y) { y = Less(x, x) }",
        "(float[2] x, float[1] i) => (float[1] y) { y = Gather(x, i) }",
        "(float[2] x, int8[1] i) => (float[1] y) { y = Gather(x, i) }",
        "(float[2] x, int32[1,1] i, float[1] u) => (float[2] y) { y = ScatterND(x, i, u) }",
        "(float[2] x, float[1] s) => (float[N] y) { y = Reshape(x, s) }",
        "(int16[2,2] x) => (int32[2,2] y) { y = MatMulInteger(x, x) }",
        "(float m, bool c) => (int64[N] y) { y = Loop(m, c) <body = b (int64 i, bool d) => (bool d2, int64 o)"
        " { d2 = Identity(d) o = Identity(i) }> }",
        "(bool c, float[2] x) => (float[2] y) { y = If(c) <then_branch = t () => (float[2] a) { a = Neg(x) },"
        " else_branch = e () => (float[2] b) { n = Not(x) b = Cast<to = 1>(n) }> }",
    ],
)
def test_types_that_are_not_taken(text):
    with pytest.raises(InvalidModel, match=r"is \w+, but the operator takes "):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "(float16[2] x, int64 a) => (float16[2] y) { y = CumSum(x, a) }",
        "(int8[2,2] x) => (int8[2,2] y) { y = MatMul(x, x) }",
        "(float[2] x, int64[2] n) => (float[2] y) { y = Pow(x, n) }",
        "(float16[2] x, float s, uint8 z) => (uint8[2] y) { y = QuantizeLinear(x, s, z) }",
        "(int64 m, bool c, float[2] a, int64[2] b) => (float[2] p, int64[2] q) { p, q = Loop(m, c, a, b) <body ="
        " g (int64 i, bool d, float[2] s, int64[2] t) => (bool d2, float[2] s2, int64[2] t2)"
        " { d2 = Identity(d) s2 = Neg(s) t2 = Neg(t) }> }",
    ],
)
def test_what_may_differ(text):
    read(text)


def test_what_a_later_version_takes():
    text = "g (int64[2] x, int64[2] z) => (int64[2] y) { m = Max(x, z) y = Relu(m) }"
    load(parser.parse_model(f'<ir_version: 4, opset_import: ["" : 9]> {text}').SerializeToString())


def test_a_type_that_nothing_tells_is_not_judged():
    nodes = [helper.make_node("Make", ["x"], ["u"], domain="mine"), helper.make_node("Add", ["u", "x"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("mine", 1)]
    model = load(helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=opsets, ir_version=10))
    assert [n.op for n in model.graph.nodes] == ["Make", "Add"]
    assert model.graph.inputs[0].dtype == np.float32
