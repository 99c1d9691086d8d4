"""Tensors inside what the optimizer fuses: asked for by name, they are there, and right."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import sardonyx

RNG = np.random.default_rng(0)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"{op.lower()}_{outputs[0]}", **attributes)


def convolution():
    """Conv, BatchNormalization and HardSwish, spelled out."""
    nodes = [
        node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["n"]),
        node("Add", ["n", "three"], ["a"]),
        node("Clip", ["a", "zero", "six"], ["k"]),
        node("Mul", ["n", "k"], ["m"]),
        node("Div", ["m", "six"], ["y"]),
    ]
    constants = {
        "w": RNG.standard_normal((4, 2, 3, 3)),
        "scale": RNG.uniform(0.5, 2, 4),
        "bias": RNG.standard_normal(4),
        "mean": RNG.standard_normal(4),
        "var": RNG.uniform(0.5, 2, 4),
        "zero": 0,
        "three": 3,
        "six": 6,
    }
    return nodes, constants, [1, 2, 6, 6], "cnakm"


def normalization():
    """LayerNormalization, spelled out."""
    nodes = [
        node("ReduceMean", ["x", "last"], ["mu"]),
        node("Sub", ["x", "mu"], ["d"]),
        node("Mul", ["d", "d"], ["q"]),
        node("ReduceMean", ["q", "last"], ["v"]),
        node("Add", ["v", "eps"], ["e"]),
        node("Sqrt", ["e"], ["s"]),
        node("Div", ["d", "s"], ["z"]),
        node("Mul", ["z", "scale"], ["g"]),
        node("Add", ["g", "bias"], ["y"]),
    ]
    constants = {"eps": 1e-5, "scale": RNG.uniform(0.5, 2, 8), "bias": RNG.standard_normal(8), "last": np.array([-1])}
    return nodes, constants, [2, 3, 8], "dqveszg"


def attention():
    """Softmax of scaled products, times values."""
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[0, 1, 3, 2]),
        node("MatMul", ["x", "t"], ["p"]),
        node("Mul", ["p", "scale"], ["s"]),
        node("Softmax", ["s"], ["w"], axis=-1),
        node("MatMul", ["w", "x"], ["y"]),
    ]
    return nodes, {"scale": 0.25}, [1, 2, 5, 16], "tpsw"


def open_session(make, provider, level):
    nodes, constants, shape, _ = make
    weights = [numpy_helper.from_array(np.asarray(v, np.int64 if k == "last" else np.float32), k) for k, v in constants.items()]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = level
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return sardonyx.InferenceSession(model, options, providers=[provider])


@pytest.mark.filterwarnings("ignore:.*not on the providers asked for")
@pytest.mark.parametrize("provider", sardonyx.get_available_providers())
@pytest.mark.parametrize("pattern", [convolution, normalization, attention])
def test_tensors_within_a_fusion(provider, pattern):
    made = pattern()
    nodes, _, shape, names = made
    plain = open_session(made, "cpu", sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL)
    fused = open_session(made, provider, sardonyx.GraphOptimizationLevel.ORT_ENABLE_ALL)
    assert len(fused.explain().nodes) < len(nodes)
    x = RNG.standard_normal(shape).astype(np.float32)
    expected = dict(zip([*names, "y"], plain.run([*names, "y"], {"x": x}), strict=True))
    for name in names:
        np.testing.assert_allclose(fused.run([name], {"x": x})[0], expected[name], rtol=2e-4, atol=2e-5)
    for name, value in zip(names, fused.run(list(names), {"x": x}), strict=True):
        np.testing.assert_allclose(value, expected[name], rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(fused.run(None, {"x": x})[0], expected["y"], rtol=2e-4, atol=2e-5)
