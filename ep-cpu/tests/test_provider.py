import numpy as np
from onnx import TensorProto, helper, numpy_helper

import sardonyx
from sardonyx_ep_cpu.ops.spatial.conv_plan import plan_conv

W = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)


def session():
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", c, "h", "w"]) for n, c in (("x", 3), ("y", 4)))
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(W, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return sardonyx.InferenceSession(model, providers=["cpu"])


def test_trim_forgets_geometry_and_changes_no_result():
    one, x = session(), np.ones((1, 3, 17, 19), np.float32)
    y = one.run(None, {"x": x})[0]
    assert plan_conv.cache_info().currsize > 0
    one.trim()
    assert plan_conv.cache_info().currsize == 0
    np.testing.assert_array_equal(one.run(None, {"x": x})[0], y)


def test_memory_has_the_weights():
    held = session().memory_report().providers["cpu"]
    assert held["weights"] + held["mapped"] == W.nbytes
    assert held.keys() == {"mapped", "weights", "packed"}
