"""Types node by node, and those that onnx may not infer."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, parser

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.infer import infer_graph, infer_missing, infer_node
from sardonyx.ir.load import load
from sardonyx.ir.schema import newest
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import MapType, SequenceType, TensorType

F32, F64, I64, BOOL = (np.dtype(t) for t in (np.float32, np.float64, np.int64, np.bool_))


def value(t, const=None):
    return Value("v", t if const is None else TensorType(const.dtype, const.shape), None if const is None else Tensor.of(const))


def node(op, inputs, outputs=1, domain="", since=None, **attrs):
    since = since or newest(domain, op)
    return Node(op, inputs, [Value(f"o{i}") for i in range(outputs)], attrs, domain=domain, since=since, name="n")


X = TensorType(F32, (2, "n", 4))


@pytest.mark.parametrize(
    ("n", "want"),
    [
        (node("Relu", [value(X)]), [X]),
        (node("Transpose", [value(X)], perm=[2, 0, 1]), [TensorType(F32, (4, 2, "n"))]),
        (node("Shape", [value(X)]), [TensorType(I64, (3,))]),
        (node("Reshape", [value(TensorType(F32, (2, 6))), value(None, np.array([3, -1]))]), [TensorType(F32, (3, 4))]),
        (node("Expand", [value(X), value(None, np.array([5, 1, 1, 1]))]), [TensorType(F32, (5, 2, "n", 4))]),
        (node("Expand", [value(X), value(TensorType(I64, (5,)))]), [TensorType(F32, (None,) * 5)]),
        (node("Expand", [value(X), value(TensorType(I64, (2**40,)))]), [TensorType(F32)]),
        (node("GatherND", [value(X), value(TensorType(I64, (7, 2)))]), [TensorType(F32, (7, 4))]),
        (
            node(
                "GatherND",
                [
                    value(X),
                    value(TensorType(I64, (2, 1))),
                ],
                batch_dims=1,
            ),
            [TensorType(F32, (2, 4))],
        ),
        (node("GatherND", [value(X), value(TensorType(I64, (2, 1)))], batch_dims=-5), [TensorType(F32)]),
        (
            node("LayerNormalization", [value(X), value(TensorType(F32, (4,)))], 3, axis=-1),
            [X, TensorType(F32, (2, "n", 1)), TensorType(F32, (2, "n", 1))],
        ),
        (node("LayerNormalization", [value(X), value(TensorType(F32, (4,)))], 2, axis=2**62), [X, TensorType(F32)]),
        (node("Split", [value(TensorType(F32, (7, 2)))], 3, num_outputs=3), [TensorType(F32, (n, 2)) for n in (3, 3, 1)]),
        (node("Split", [value(TensorType(F32, (7, 2)))], 2, num_outputs=1), [TensorType(F32, (7, 2)), TensorType(F32, (0, 2))]),
        (node("Split", [value(X), value(None, np.array([1, 3]))], 2, axis=2), [TensorType(F32, (2, "n", n)) for n in (1, 3)]),
        (node("Einsum", [value(X)], equation=".."), [TensorType(F32)]),
        (node("Einsum", [value(TensorType(F32, (2, 3)))], equation="ij->ji"), [TensorType(F32, (3, 2))]),
        (node("EyeLike", [value(X)], dtype=11), [TensorType(F64, X.shape)]),
        (node("RegexFullMatch", [value(TensorType(np.dtype(object), (3,)))], pattern="a"), [TensorType(BOOL, (3,))]),
        (
            node("LabelEncoder", [value(TensorType(I64, (3,)))], domain="ai.onnx.ml", values_strings=["a"]),
            [TensorType(np.dtype(object), (3,))],
        ),
        (node("DictVectorizer", [value(MapType(I64, TensorType(F32, ())))], domain="ai.onnx.ml"), [TensorType(F32)]),
        (node("TreeEnsemble", [value(TensorType(F64, ("n", 3)))], domain="ai.onnx.ml", n_targets=2), [TensorType(F64, ("n", 2))]),
        (node("SequenceConstruct", [value(X), value(X)]), [SequenceType(X)]),
    ],
    ids=lambda v: v.op if isinstance(v, Node) else "",
)
def test_outputs(n, want):
    assert infer_node(n)[: len(want)] == want


@pytest.mark.parametrize(
    "op", ["LabelEncoder", "DictVectorizer", "TreeEnsemble", "EyeLike", "RegexFullMatch", "GatherND", "Expand", "Split"]
)
def test_unknown_inputs_do_no_harm(op):
    """onnx crashes on some of these."""
    domain = "ai.onnx.ml" if op in ("LabelEncoder", "DictVectorizer", "TreeEnsemble") else ""
    for t in infer_node(node(op, [value(None), value(None)], domain=domain)):
        assert t is None or t.dtype in (None, BOOL)
        assert t is None or t.shape is None or not any(isinstance(d, int) for d in t.shape)


def test_a_whole_model_with_such_nodes():
    """What onnx may not see is hidden from it, in functions and bodies too, and inferred afterwards, with what follows."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17, "my": 1]>
        g (float[2,3] x, float[3] w, int64[3] s, bool c) => (y, z) {
            a, m = LayerNormalization(x, w)
            e = Expand(a, s)
            y = Neg(e)
            z = If(c) <then_branch = t () => (p) { q, r = LayerNormalization(x, w)  p = Abs(r) }, else_branch = u () => (o) { o = Neg(m) }>
        }"""
    )
    loaded = load(model)
    assert loaded.warnings == []
    assert loaded.graph.outputs[0].type == TensorType(F32, (None,) * 3)
    assert loaded.graph.outputs[1].type == TensorType(F32, (2, 1))
    assert {n.domain for n in loaded.graph.walk_nodes()} == {""}


def test_propagation_goes_on_behind_unknown_operators():
    loaded = load(
        parser.parse_model(
            """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
            g (float[2,3] x, float[3,4] w) => (y) { a = com.microsoft.FusedMatMul(x, w)  b = Transpose(a)  y = Relu(b) }"""
        )
    )
    assert loaded.graph.outputs[0].type == TensorType(F32, (4, 2))


def test_missing_domain_imports_do_not_stop_inference():
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]>\ng (float[2,3] x) => (y) { a = my.Op(x)  b = Neg(x)  y = Transpose(b) }'
    )
    assert load(model).graph.outputs[0].type == TensorType(F32, (3, 2))


def test_loop_and_scan():
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17]>
        g (int64 n, bool c, float[2] x, float[5,2] s) => (a, b, h, o) {
            a, b = Loop(n, c, x) <body = l (int64 i, bool q, float[2] v) => (bool r, float[2] w, z) {
                r = Identity(q)  w = Neg(v)  z = Abs(v) }>
            h, o = Scan<num_scan_inputs = 1, body = m (float[2] p, float[2] e) => (float[2] k, float[2] f) {
                k = Add(p, e)  f = Neg(e) }>(x, s)
        }"""
    )
    loaded = load(model)
    infer_graph(loaded.graph)
    assert [v.rank for v in loaded.graph.outputs[1:]] == [2, 1, 2]
    assert {v.dtype for v in loaded.graph.outputs} == {F32}


def test_a_branch_of_unknown_type_leaves_the_shape_of_an_if_open():
    m = load(
        parser.parse_model("""
            <ir_version: 8, opset_import: ["" : 17, "my" : 1]>
            g (bool c, float[2] x) => (y) {
                y = If (c) <then_branch = a () => (r) { r = Neg (x) }, else_branch = b () => (s) { s = my.Op (x) }>
            }
        """)
    )
    infer_graph(m.graph)
    assert m.graph.outputs[0].type == TensorType(F32)


def test_news_are_what_makes_a_node_worth_another_try(monkeypatch):
    """Nodes whose inputs brought nothing new are not asked again."""
    tried = []
    monkeypatch.setattr("sardonyx.ir.infer.infer_node", lambda n: tried.append(n.name) or [TensorType(F32, (1,))] * 2)
    x, y = Value("x", TensorType(F32)), Value("y", TensorType(F32))
    a, b = Value("a", TensorType(F32)), Value("b", TensorType(F32))
    nodes = [Node("Neg", [x], [a], since=13, name="first"), Node("Neg", [y], [b], since=13, name="second")]
    graph = Graph("g", [x, y], [a, b], nodes)
    infer_missing(graph, {y})
    assert tried == ["second"]
    infer_missing(graph)
    assert tried == ["second", "first"]


def test_scan_8_gives_element_types_only(tools):
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["c"]), helper.make_node("Identity", ["c"], ["d"])],
        "b",
        [helper.make_tensor_value_info(n, 1, [2]) for n in "ab"],
        [helper.make_tensor_value_info(n, 1, [2]) for n in "cd"],
    )
    feeds = {"i": np.zeros((1, 2), np.float32), "x": np.zeros((1, 3, 2), np.float32)}
    n = helper.make_node("Scan", ["", "i", "x"], ["y", "z"], body=body, num_scan_inputs=1)
    graph = load(tools.model_of([n], feeds, ["y", "z"], 8)).graph
    assert graph.nodes[0].since == 8
    assert {v.dtype for v in graph.outputs} == {F32}
