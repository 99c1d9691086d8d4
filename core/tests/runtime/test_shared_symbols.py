"""A file's symbol that stands for two sizes at run time."""

import numpy as np
from onnx import TensorProto, helper

import sardonyx


def model():
    nodes = [
        helper.make_node("Shape", ["a"], ["shape"]),
        helper.make_node("Expand", ["b", "shape"], ["y"]),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "shared",
        [info("a", TensorProto.FLOAT, ["n", 2]), info("b", TensorProto.FLOAT, ["n", 2])],
        [info("y", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def test_feeds_that_disagree_get_the_right_answer():
    session = sardonyx.InferenceSession(model().SerializeToString(), providers=["cpu"])
    a, b = np.zeros((3, 2), "f"), np.ones((1, 2), "f")
    assert session.run(None, {"a": a, "b": np.ones((3, 2), "f")})[0].shape == (3, 2)
    assert session.run(None, {"a": a, "b": b})[0].shape == (3, 2)
    assert session.run(None, {"a": b, "b": a})[0].shape == (3, 2)


def test_a_profile_of_feeds_that_disagree():
    session = sardonyx.InferenceSession(model().SerializeToString(), providers=["cpu"])
    profile = session.profile({"a": np.zeros((3, 2), "f"), "b": np.ones((1, 2), "f")}, runs=1, warmup=0)
    assert [e.shapes for e in profile.events if e.op == "Expand"] == [["float[3, 2]"]]
