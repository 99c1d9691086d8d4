"""Function bodies: every operator that has one is expanded, and computes the same."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, defs, helper, parser

from sardonyx.ir.functions import body_of, expand
from sardonyx.ir.load import load
from sardonyx.ir.save import to_proto
from sardonyx.ir.schema import KNOWN, newest
from sardonyx.ir.verify import verify

rng = np.random.default_rng(0)
X = rng.normal(size=(2, 4, 6)).astype(np.float32)
IMAGE = rng.normal(size=(1, 4, 6, 6)).astype(np.float32)
V = rng.uniform(0.5, 1, 6).astype(np.float32)


def f(*shape):
    return rng.normal(size=shape).astype(np.float32)


# operator: inputs (arrays; a tuple holds a constant), attributes, number of outputs
CASES = {
    "AffineGrid": ([f(2, 2, 3), (np.array([2, 3, 4, 5]),)], {}, 1),
    "Attention": ([f(1, 2, 3, 4), f(1, 2, 5, 4), f(1, 2, 5, 4)], {"is_causal": 1}, 1),
    "BlackmanWindow": ([(np.array(8),)], {}, 1),
    "CastLike": ([X, (np.zeros(1, np.float64),)], {}, 1),
    "CausalConvWithState": ([f(1, 4, 6), f(4, 1, 3)], {}, 2),
    "Celu": ([X], {"alpha": 0.5}, 1),
    "CenterCropPad": ([X, (np.array([3, 8]),)], {"axes": [1, 2]}, 1),
    "Clip": ([X, (np.float32(-0.5),), (np.float32(0.5),)], {}, 1),
    "DepthToSpace": ([IMAGE], {"blocksize": 2}, 1),
    "DynamicQuantizeLinear": ([X], {}, 3),
    "Elu": ([X], {"alpha": 2.0}, 1),
    "Gelu": ([X], {"approximate": "tanh"}, 1),
    "GreaterOrEqual": ([X, f(6)], {}, 1),
    "GroupNormalization": ([IMAGE, f(4), f(4)], {"num_groups": 2}, 1),
    "HammingWindow": ([(np.array(8),)], {}, 1),
    "HannWindow": ([(np.array(8),)], {"periodic": 0}, 1),
    "HardSigmoid": ([X], {}, 1),
    "HardSwish": ([X], {}, 1),
    "LayerNormalization": ([X, V, f(6)], {"axis": -1}, 1),
    "LeakyRelu": ([X], {"alpha": 0.3}, 1),
    "LessOrEqual": ([X, f(6)], {}, 1),
    "LogSoftmax": ([X], {"axis": 1}, 1),
    "MeanVarianceNormalization": ([IMAGE], {}, 1),
    "Mish": ([X], {}, 1),
    "NegativeLogLikelihoodLoss": ([f(3, 5), (np.array([1, 0, 4]),)], {}, 1),
    "PRelu": ([X, f(6)], {}, 1),
    "RMSNormalization": ([X, V], {}, 1),
    "ReduceL1": ([X, (np.array([1]),)], {}, 1),
    "ReduceL2": ([X], {"keepdims": 0}, 1),
    "ReduceLogSum": ([np.abs(X), (np.array([-1]),)], {}, 1),
    "ReduceLogSumExp": ([X, (np.array([0, 2]),)], {}, 1),
    "ReduceSumSquare": ([X, (np.array([1]),)], {}, 1),
    "Relu": ([X], {}, 1),
    "RotaryEmbedding": ([f(1, 2, 3, 4), f(5, 2), f(5, 2), (np.array([[0, 1, 4]]),)], {}, 1),
    "Selu": ([X], {}, 1),
    "Shrink": ([X], {"lambd": 0.3, "bias": 0.1}, 1),
    "Softmax": ([X], {"axis": -1}, 1),
    "SoftmaxCrossEntropyLoss": ([f(3, 5), (np.array([1, 0, 4]),)], {"reduction": "sum"}, 2),
    "Softplus": ([X], {}, 1),
    "Softsign": ([X], {}, 1),
    "SpaceToDepth": ([IMAGE], {"blocksize": 2}, 1),
    "SwiGLU": ([X, f(2, 4, 6)], {}, 1),
    "Swish": ([X], {"alpha": 1.5}, 1),
    "ThresholdedRelu": ([X], {"alpha": 0.2}, 1),
}
# Tested below: random, with a body of its own, or judged wrongly by onnx.reference.
OTHERS = {"Bernoulli", "FlexAttention", "LinearAttention", "Range", "SequenceMap"}


def model_of_case(tools, op, given, attrs, outputs):
    feeds = {f"i{i}": v for i, v in enumerate(given) if not isinstance(v, tuple)}
    constants = {f"i{i}": v[0] for i, v in enumerate(given) if isinstance(v, tuple)}
    names = [f"i{i}" for i in range(len(given))]
    return tools.one_node(op, feeds, newest("", op), constants, names, [f"o{i}" for i in range(outputs)], **attrs), feeds


def test_every_operator_with_a_body_is_tested():
    with_body = {s.name for s in defs.get_all_schemas() if s.has_function or s.has_context_dependent_function}
    assert with_body == set(CASES) | OTHERS


@pytest.mark.parametrize("op", CASES)
def test_expanded_node_computes_the_same(tools, op):
    model, feeds = model_of_case(tools, op, *CASES[op])
    want = tools.reference(model, feeds)
    loaded = load(model)
    nodes = expand(loaded.graph.nodes[0])
    assert nodes == loaded.graph.nodes
    assert op not in [n.op for n in nodes]
    assert {n.origins for n in loaded.graph.walk_nodes()} == {("n",)}
    assert all(n.since == newest(n.domain, n.op) for n in loaded.graph.walk_nodes())
    assert all(v.type is not None for n in nodes for v in n.outputs if v is not None)
    verify(loaded.graph)
    for got, right in zip(tools.reference(to_proto(loaded), feeds), want, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)


def test_range(tools):
    feeds = {"a": np.array(1, np.float32), "b": np.array(6, np.float32), "c": np.array(2, np.float32)}
    loaded = load(tools.one_node("Range", feeds, 11))
    expand(loaded.graph.nodes[0])
    assert "Loop" in [n.op for n in loaded.graph.nodes]
    (got,) = tools.onnxruntime(to_proto(loaded, opset=20), feeds)
    np.testing.assert_array_equal(got, [1, 3, 5])


def test_bernoulli(tools):
    loaded = load(tools.one_node("Bernoulli", {"x": np.full((3, 4), 1.0, np.float32)}, 15, seed=1.0))
    assert [n.op for n in expand(loaded.graph.nodes[0])] == ["RandomUniformLike", "Greater", "Cast"]
    verify(loaded.graph)


def test_sequence_map_with_a_captured_value(tools):
    """The body of SequenceMap becomes that of a Loop; what it captures stays captured."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17]>
        g (seq(float[3]) xs, float[3] a) => (seq(float[3]) ys) {
            c = Neg(a)
            ys = SequenceMap(xs) <body = b (float[3] x) => (float[3] y) { y = Add(x, c) }>
        }"""
    )
    xs, a = [np.float32([1, 2, 3]), np.float32([4, 5, 6])], np.float32([1, 0, 1])
    loaded = load(model)
    expand(loaded.graph.nodes[1])
    assert "SequenceMap" not in [n.op for n in loaded.graph.walk_nodes()]
    verify(loaded.graph)
    (got,) = tools.reference(to_proto(loaded), {"xs": xs, "a": a})
    np.testing.assert_array_equal(got, [[0, 2, 2], [3, 5, 5]])


def test_flex_attention_keeps_its_modifier(tools):
    score = helper.make_graph(
        [helper.make_node("Tanh", ["s"], ["t"])],
        "score",
        [helper.make_tensor_value_info("s", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)],
    )
    feeds = {"q": f(1, 2, 3, 4), "k": f(1, 2, 5, 4), "v": f(1, 2, 5, 4)}
    node = helper.make_node("FlexAttention", list(feeds), ["y"], domain="ai.onnx.preview", score_mod=score)
    model = tools.model_of([node], feeds, ["y"], 1, domain="ai.onnx.preview")
    model.opset_import[1].version = 23
    want = tools.reference(model, feeds)
    loaded = load(model)
    assert "Tanh" in [n.op for n in expand(loaded.graph.nodes[0])]
    np.testing.assert_allclose(tools.reference(to_proto(loaded), feeds)[0], want[0], rtol=1e-4, atol=1e-5)


def test_linear_attention_expands(tools):
    feeds = {k: f(1, 3, 8) for k in "qkv"}
    node = helper.make_node("LinearAttention", list(feeds), ["y", "s"], q_num_heads=2, kv_num_heads=2, update_rule="linear")
    loaded = load(tools.model_of([node], feeds, ["y", "s"], KNOWN[""]))
    want = tools.reference(tools.model_of([node], feeds, ["y", "s"], KNOWN[""]), feeds)
    assert expand(loaded.graph.nodes[0])
    for got, right in zip(tools.reference(to_proto(loaded), feeds), want, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)


def test_body_alone_leaves_the_node(tools):
    loaded = load(tools.one_node("Swish", {"x": X}, 24, alpha=2.0))
    node = loaded.graph.nodes[0]
    body = body_of(node)
    assert [v.type for v in body.inputs] == [node.inputs[0].type]
    assert body.outputs[0].type == node.outputs[0].type
    assert node.outputs[0].producer is node
    assert node.inputs[0].uses == [(node, 0)]
    verify(body)
    verify(loaded.graph)


def test_bodies_may_use_functions_in_turn(tools):
    """Mish has a Softplus, which has a body too: each is expanded when it is asked for."""
    loaded = load(tools.one_node("Mish", {"x": X}, 22))
    first = expand(loaded.graph.nodes[0])
    assert "Softplus" in [n.op for n in first]
    expand(next(n for n in first if n.op == "Softplus"))
    assert "Softplus" not in [n.op for n in loaded.graph.nodes]
    verify(loaded.graph)


def test_operators_without_a_body(tools):
    loaded = load(tools.one_node("MatMul", {"a": f(2, 3), "b": f(3, 2)}, 13))
    node = loaded.graph.nodes[0]
    assert expand(node) is None
    assert body_of(node) is None
    assert loaded.graph.nodes == [node]


def test_a_body_that_wants_types_needs_them():
    """The body of CastLike depends on the type it casts to; without it there is none, and nothing changes."""
    from sardonyx.ir.graph import Graph, Node, Value

    x, like, y = Value("x"), Value("like"), Value("y")
    node = Node("CastLike", [x, like], [y], since=25, name="n")
    graph = Graph("g", [x, like], [y], [node])
    assert expand(node) is None
    assert graph.nodes == [node]
    assert y.producer is node
    verify(graph)
