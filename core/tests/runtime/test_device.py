"""A provider with memory of its own: values cross only where they must, and executables get what they asked for."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.ep import KernelSet

X = np.arange(6, dtype=np.float32)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"{op.lower()}_{outputs[0]}", **attributes)


@pytest.fixture
def kernels():
    table = KernelSet()
    table.add("Add")(lambda xp, a, b: a + b)
    table.add("Mul")(lambda xp, a, b: a * b)
    table.add("MatMul")(lambda xp, a, b: a @ b)
    table.add("Reshape", 5, host=(1,))(lambda xp, x, shape, *, allowzero=0: x.reshape(shape))
    return table


def place(session):
    return {n.node: n.ep for n in session.explain().nodes}


def test_one_upload_and_one_download_for_a_whole_subgraph(make_model, device_ep, kernels):
    device = device_ep("toy", kernels)
    nodes = [node("Add", ["x", "x"], ["a"]), node("Mul", ["a", "x"], ["b"]), node("Add", ["b", "a"], ["y"])]
    session = sardonyx.InferenceSession(make_model(nodes, ["x"], ["y"]), providers=["toy"])
    assert set(place(session).values()) == {"toy"}
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], 2 * X * X + 2 * X)
    assert (len(device.uploads), len(device.downloads)) == (1, 1)
    assert device.waits >= 1


def test_values_cross_once_each_way_around_a_host_node(make_model, device_ep, kernels):
    device = device_ep("toy", kernels)
    nodes = [
        node("Add", ["x", "x"], ["a"]),
        node("Mul", ["a", "x"], ["b"]),
        node("Mul", ["b", "x"], ["c"]),
        node("Sqrt", ["c"], ["d"]),
        node("Add", ["d", "c"], ["e"]),
        node("Mul", ["e", "d"], ["f"]),
        node("Add", ["f", "b"], ["y"]),
    ]
    session = sardonyx.InferenceSession(make_model(nodes, ["x"], ["y"]), providers=["toy", "cpu"])
    assert place(session)["sqrt_d"] == "cpu"
    assert list(session.explain().shares) == ["toy", "cpu"]
    c = 2 * X**3
    d = np.sqrt(c)
    np.testing.assert_allclose(session.run(None, {"x": X})[0], (d + c) * d + 2 * X * X, rtol=1e-6)
    assert len(device.uploads) == 2
    assert len(device.downloads) == 2


def test_a_host_input_stays_on_the_host(make_model, device_ep, kernels):
    device = device_ep("toy", kernels)
    shape = helper.make_tensor_value_info("shape", TensorProto.INT64, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [node("Add", ["x", "x"], ["a"]), node("Mul", ["a", "x"], ["b"]), node("Reshape", ["b", "shape"], ["y"])]
    session = sardonyx.InferenceSession(make_model(nodes, ["x", shape], [y]), providers=["toy"])
    assert set(place(session).values()) == {"toy"}
    out = session.run(None, {"x": X, "shape": np.array([2, 3])})[0]
    np.testing.assert_array_equal(out, (2 * X * X).reshape(2, 3))
    assert [a.dtype for a in device.uploads] == [np.float32]


def test_shape_arithmetic_runs_on_the_host_and_is_not_copied(make_model, device_ep, kernels):
    device = device_ep("toy", kernels)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [
        node("Add", ["x", "x"], ["a"]),
        node("Shape", ["x"], ["s"]),
        node("Concat", ["s", "one"], ["t"], axis=0),
        node("Mul", ["a", "x"], ["b"]),
        node("Reshape", ["b", "t"], ["y"]),
    ]
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = sardonyx.InferenceSession(make_model(nodes, ["x"], [y], {"one": np.array([1])}), options, providers=["toy"])
    assert session.run(None, {"x": X})[0].shape == (6, 1)
    assert place(session)["concat_t"] == "host"
    assert [a.dtype for a in device.uploads] == [np.float32]


def test_a_small_island_is_given_back_to_the_host(make_model, device_ep, kernels):
    device = device_ep("toy", kernels)
    nodes = [node("Sqrt", ["x"], ["a"]), node("Add", ["a", "x"], ["b"]), node("Sqrt", ["b"], ["y"])]
    session = sardonyx.InferenceSession(make_model(nodes, ["x"], ["y"]), providers=["toy", "cpu"])
    assert set(place(session).values()) == {"cpu"}
    assert "small island" in {n.node: n for n in session.explain().nodes}["add_b"].reasons["toy"]
    session.run(None, {"x": X})
    assert device.uploads == []


def test_a_small_island_of_heavy_nodes_stays(make_model, device_ep, kernels):
    device_ep("toy", kernels)
    m = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "n"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", "n"])
    nodes = [node("Sqrt", ["x"], ["a"]), node("MatMul", ["a", "a"], ["b"]), node("Sqrt", ["b"], ["y"])]
    session = sardonyx.InferenceSession(make_model(nodes, [m], [y]), providers=["toy", "cpu"])
    assert place(session)["matmul_b"] == "toy"
    x = X[:4].reshape(2, 2)
    np.testing.assert_allclose(session.run(None, {"x": x})[0], np.sqrt(np.sqrt(x) @ np.sqrt(x)), rtol=1e-6)


def test_strings_never_go_to_a_device(make_model, device_ep, kernels):
    kernels.add("Identity")(lambda xp, x: x)
    device_ep("toy", kernels)
    s = helper.make_tensor_value_info("s", TensorProto.STRING, ["n"])
    y = helper.make_tensor_value_info("y", TensorProto.STRING, None)
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = sardonyx.InferenceSession(make_model([node("Identity", ["s"], ["y"])], [s], [y]), options, providers=["toy", "cpu"])
    (placed,) = session.explain().nodes
    assert placed.ep == "cpu"
    assert placed.reasons == {"toy": "a value is not a dense tensor of numbers"}
    assert session.run(None, {"s": np.array(["a"], object)})[0].tolist() == ["a"]


def test_constants_and_captured_values_reach_the_device(make_model, device_ep, kernels):
    device = device_ep("toy", kernels)
    value = helper.make_tensor_value_info("r", TensorProto.FLOAT, None)
    branches = {
        name: helper.make_graph([node("Add", ["a", "w"], [f"{name}_t"]), node(op, [f"{name}_t", "a"], ["r"])], name, [], [value])
        for name, op in (("then_branch", "Mul"), ("else_branch", "Add"))
    }
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    nodes = [node("Add", ["x", "w"], ["a"]), node("If", ["flag"], ["y"], **branches)]
    model = make_model(nodes, ["x", flag], ["y"], {"w": np.full(6, 3, np.float32)})
    session = sardonyx.InferenceSession(model, providers=["toy", "cpu"])
    for choice, expected in ((True, (X + 6) * (X + 3)), (False, (X + 6) + (X + 3))):
        np.testing.assert_array_equal(session.run(None, {"x": X, "flag": np.array(choice)})[0], expected)
    assert {type(b).__name__ for b in device.downloads} <= {"Buffer"}
