"""Loading: functions of the model's own are inlined."""

from __future__ import annotations

import time

import numpy as np
import onnx
import pytest
from onnx import parser

from sardonyx.errors import InvalidModel
from sardonyx.ir.load import load

X = np.float32([1, 2])


def text(body):
    return parser.parse_model('<ir_version: 8, opset_import: ["": 17, "f": 1]>\n' + body)


def test_defaults_overloads_absent_inputs_and_bodies(tools):
    model = text(
        """g (float[2] x) => (y) { a = f.scale(x)  b = f.scale<k = 3.0>(a)  y = f.clip_to(b) }
        <domain: "f", opset_import: ["": 17]>
        scale <k: float = 2.0> (v) => (w) { c = Constant<value_float: float = @k>()  w = Mul(v, c) }
        <domain: "f", opset_import: ["": 17]>
        clip_to (v, lo) => (w) { yes = Constant<value: tensor = bool[1] {1}>()
            w = If(yes) <then_branch = t () => (p) { p = Clip(v, lo) }, else_branch = e () => (q) { q = Neg(v) }> }"""
    )
    loaded = load(model)
    assert [n.op for n in loaded.graph.nodes] == ["Mul", "Mul", "If"]
    assert loaded.graph.nodes[2].bodies[0].nodes[0].inputs[1] is None
    names = [n.name for n in loaded.graph.walk_nodes()]
    assert len(set(names)) == len(names)
    from sardonyx.ir.save import to_proto

    np.testing.assert_array_equal(tools.onnxruntime(to_proto(loaded, opset=17), {"x": X})[0], X * 6)


def test_overloads():
    model = text('g (float[2] x) => (y) { y = f.op(x) }\n<domain: "f", opset_import: ["": 17]> op (a) => (b) { b = Neg(a) }')
    other = onnx.FunctionProto()
    other.CopyFrom(model.functions[0])
    other.overload, other.node[0].op_type = "b", "Abs"
    model.functions.append(other)
    assert load(model).graph.nodes[0].op == "Neg"
    model.graph.node[0].overload = "b"
    assert load(model).graph.nodes[0].op == "Abs"


def test_outputs_that_are_inputs_or_constants(tools):
    model = text(
        """g (float[2] x) => (y) { a, k = f.op(x)  y = Add(a, k) }
        <domain: "f", opset_import: ["": 17]> op (v) => (v, k) { k = Constant<value: tensor = float[2] {1, 1}>() }"""
    )
    loaded = load(model)
    assert loaded.graph.nodes[-1].const(1).tolist() == [1, 1]
    assert [n.op for n in loaded.graph.nodes] == ["Identity", "Add"]


def test_recursion():
    with pytest.raises(InvalidModel, match="calls itself"):
        load(text('g (float[2] x) => (y) { y = f.op(x) }\n<domain: "f", opset_import: ["": 17, "f": 1]> op (a) => (b) { b = f.op(a) }'))


def test_functions_that_double_thirty_times():
    parts = ["g (float[2] x) => (y) { y = f.f0(x) }"]
    parts += [
        f'<domain: "f", opset_import: ["": 17, "f": 1]> f{i} (a) => (c) {{ b = f.f{i + 1}(a)  c = f.f{i + 1}(b) }}' for i in range(30)
    ]
    parts.append('<domain: "f", opset_import: ["": 17]> f30 (a) => (b) { b = Neg(a) }')
    start = time.perf_counter()
    with pytest.raises(InvalidModel, match="more than"):
        load(text("\n".join(parts)))
    assert time.perf_counter() - start < 2
