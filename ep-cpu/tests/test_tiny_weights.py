import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import sardonyx
from sardonyx_ep_cpu.ops.spatial import conv_nd, conv_transpose
from sardonyx_ep_cpu.tiny_weights import CHUNK, without_tiny

ORDINARY = np.array([1.0, -0.5, 0.0, 2.0**-120, -(2.0**-119), np.inf, np.nan], np.float32)


@pytest.mark.parametrize("at", [0, 5, CHUNK + 3])
def test_what_cannot_be_seen_is_zero(at):
    weights = np.ones((2, CHUNK), np.float32)
    weights.flat[at] = -1e-40
    expected = weights.copy()
    expected.flat[at] = 0
    np.testing.assert_array_equal(without_tiny(np, weights), expected)
    assert weights.flat[at] != 0


@pytest.mark.parametrize(
    "weights",
    [ORDINARY, np.zeros((0, 3), np.float32), np.full(4, 1e-40, np.float32), np.array([1e-300, 1.0]), np.ones((2, 3), np.float32).T],
    ids=["ordinary", "empty", "all_tiny", "float64", "not_contiguous"],
)
def test_all_else_stays(weights):
    assert without_tiny(np, weights) is weights


@pytest.mark.parametrize("constant", [True, False], ids=["constant", "input"])
@pytest.mark.parametrize(("op", "module"), [("Conv", conv_nd), ("ConvTranspose", conv_transpose)])
def test_only_constants_are_looked_through_and_once(monkeypatch, op, module, constant):
    looked = []
    monkeypatch.setattr(module, "without_tiny", lambda xp, w: looked.append(w) or without_tiny(xp, w))
    x, w = np.ones((1, 2, 4, 4), np.float32), np.full((2, 2, 3, 3), 0.5, np.float32)
    w[0, 0, 0, 0] = 1e-40
    declared = {"x": x} if constant else {"x": x, "w": w}
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in declared.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(w, "w")] if constant else [],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    session = sardonyx.InferenceSession(model.SerializeToString(), providers=["cpu"])
    for _ in range(3):
        session.run(None, declared)
    assert len(looked) == constant
