"""Copies between memory spaces happen where they must, once, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx_conformance.cases.build import model_of

X = np.array([[1, -2], [-3, 4]], np.float32)
DECLARED = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])]


def session_of(nodes, outputs, fixed=None, *, providers=("fake", "cpu"), strict=False, level="raw", inputs=None):
    """A session on the fake device, optimizations off unless asked for."""
    options = sardonyx.SessionOptions()
    options.strict = strict
    if level == "raw":
        options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = model_of([helper.make_node(op, i, o, name=o[0], **a) for op, i, o, a in nodes], inputs or DECLARED, outputs, fixed)
    return sardonyx.InferenceSession(model, options, providers=list(providers))


def owners(session):
    """node -> provider."""
    return {n.node: n.ep for n in session.explain().nodes}


def test_chain_stays_on_the_device(allocator):
    """One copy in, one out; constants were copied when the session was made."""
    nodes = [("Relu", ["x"], ["a"], {}), ("Add", ["a", "k"], ["b"], {}), ("MatMul", ["b", "w"], ["y"], {})]
    session = session_of(nodes, ["y"], {"k": np.ones(2, np.float32), "w": np.eye(2, dtype=np.float32)}, strict=True, providers=["fake"])
    allocator.counts()
    y = session.run(None, {"x": X})[0]
    assert allocator.counts() == (1, 1)
    np.testing.assert_array_equal(y, np.maximum(X, 0) + 1)
    session.run(None, {"x": X})
    assert allocator.counts() == (1, 1)
    assert allocator.synchronized >= 2


def test_there_and_back(allocator):
    """A node in between that the device does not take: down, up, down."""
    nodes = [("MatMul", ["x", "w"], ["a"], {}), ("Tanh", ["a"], ["t"], {}), ("MatMul", ["t", "w"], ["y"], {})]
    session = session_of(nodes, ["y"], {"w": np.eye(2, dtype=np.float32)})
    assert owners(session) == {"a": "fake", "t": "cpu", "y": "fake"}
    allocator.counts()
    np.testing.assert_allclose(session.run(None, {"x": X})[0], np.tanh(X), rtol=1e-6)
    assert allocator.counts() == (2, 2)


def test_a_value_is_copied_once(allocator):
    """Several host nodes read a device value, and it is an output too: one download. A feed used twice: one upload."""
    nodes = [
        ("MatMul", ["x", "x"], ["a"], {}),
        ("Tanh", ["a"], ["t"], {}),
        ("Sigmoid", ["a"], ["s"], {}),
        ("MatMul", ["a", "x"], ["y"], {}),
    ]
    session = session_of(nodes, ["t", "s", "a", "y"], inputs=[helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])])
    allocator.counts()
    t, s, a, y = session.run(None, {"x": X})
    assert allocator.counts() == (1, 2)
    np.testing.assert_allclose(a, X @ X)
    np.testing.assert_allclose(t, np.tanh(X @ X), rtol=1e-6)
    np.testing.assert_allclose(s, 1 / (1 + np.exp(-(X @ X).astype(float))), rtol=1e-5)
    np.testing.assert_allclose(y, X @ X @ X)


def test_shapes_cost_no_copies(allocator):
    """Shape of a device value is answered from what is known of it, and shape arithmetic runs on the host."""
    nodes = [
        ("MatMul", ["x", "w"], ["a"], {}),
        ("Shape", ["a"], ["s"], {}),
        ("Gather", ["s", "zero"], ["n"], {}),
        ("Concat", ["n", "minus"], ["t"], {"axis": 0}),
        ("Reshape", ["a", "t"], ["y"], {}),
    ]
    fixed = {"w": np.eye(2, dtype=np.float32), "zero": np.array([0]), "minus": np.array([-1])}
    session = session_of(nodes, ["y"], fixed, strict=True, providers=["fake"])
    where = owners(session)
    assert {where["s"], where["n"], where["t"]} == {"host"}
    assert where["y"] == "fake"
    allocator.counts()
    y = session.run(None, {"x": np.ones((3, 2), np.float32)})[0]
    assert y.shape == (3, 2)
    assert allocator.counts() == (1, 1)


def test_host_outputs_are_not_downloaded(allocator):
    """What a kernel makes on the host is taken from there."""
    nodes = [("MatMul", ["x", "w"], ["a"], {}), ("ReduceMax", ["a", "axes"], ["y"], {})]
    session = session_of(nodes, ["y"], {"w": np.eye(2, dtype=np.float32), "axes": np.array([1])}, strict=True, providers=["fake"])
    allocator.counts()
    assert session.run(None, {"x": X})[0].tolist() == [[1], [4]]
    assert allocator.counts() == (1, 0)


def test_small_islands_are_given_back(allocator):
    """A cheap node between host nodes is not worth two copies; a heavy one is."""
    cheap = session_of([("Tanh", ["x"], ["a"], {}), ("Relu", ["a"], ["b"], {}), ("Tanh", ["b"], ["y"], {})], ["y"])
    assert set(owners(cheap).values()) == {"cpu"}
    reasons = {n.node: n.reasons for n in cheap.explain().nodes}
    assert "island" in reasons["b"]["fake"]
    nodes = [("Tanh", ["x"], ["a"], {}), ("MatMul", ["a", "w"], ["b"], {}), ("Tanh", ["b"], ["y"], {})]
    heavy = session_of(nodes, ["y"], {"w": np.eye(2, dtype=np.float32)})
    assert owners(heavy)["b"] == "fake"


def test_control_flow(allocator):
    """Bodies run on the device with values captured from it."""
    yes = helper.make_graph(
        [helper.make_node("MatMul", ["a", "x"], ["p"], name="p")], "yes", [], [helper.make_tensor_value_info("p", TensorProto.FLOAT, None)]
    )
    no = helper.make_graph(
        [helper.make_node("Relu", ["a"], ["q"], name="q")], "no", [], [helper.make_tensor_value_info("q", TensorProto.FLOAT, None)]
    )
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2]), helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    nodes = [("MatMul", ["x", "x"], ["a"], {}), ("If", ["c"], ["y"], {"then_branch": yes, "else_branch": no})]
    session = session_of(nodes, ["y"], inputs=inputs, strict=True, providers=["fake"])
    np.testing.assert_allclose(session.run(None, {"x": X, "c": np.array(True)})[0], X @ X @ X)
    np.testing.assert_allclose(session.run(None, {"x": X, "c": np.array(False)})[0], np.maximum(X @ X, 0))


def test_strings_stay_on_the_host(allocator):
    """The device is never asked to hold what is no dense tensor of numbers."""
    words = helper.make_tensor_value_info("w", TensorProto.STRING, [2])
    session = session_of([("Identity", ["w"], ["y"], {})], ["y"], inputs=[words])
    placed = session.explain().nodes[0]
    assert placed.ep != "fake"
    assert "dense" in placed.reasons["fake"]
    assert session.run(None, {"w": np.array(["a", "b"], object)})[0].tolist() == ["a", "b"]


@pytest.mark.parametrize("level", ["raw", "optimized"])
def test_input_that_is_an_output(allocator, level):
    """A feed that is an output too comes back as the caller's own."""
    session = session_of([("Relu", ["x"], ["y"], {}), ("Identity", ["x"], ["z"], {})], ["y", "z"], level=level)
    y, z = session.run(None, {"x": X})
    np.testing.assert_array_equal(z, X)
    assert not np.shares_memory(z, X)
    np.testing.assert_array_equal(y, np.maximum(X, 0))


def test_unnamed_outputs_and_internal_tensors(allocator):
    """An internal tensor asked for by name is copied from the device."""
    session = session_of([("MatMul", ["x", "w"], ["a"], {}), ("Relu", ["a"], ["y"], {})], ["y"], {"w": np.eye(2, dtype=np.float32)})
    np.testing.assert_array_equal(session.run(["a"], {"x": X})[0], X)
