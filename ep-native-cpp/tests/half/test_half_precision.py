"""Half precision: storage in float16 or bfloat16, arithmetic in float32."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import sardonyx

F16, BF16 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
KINDS = {F16: TensorProto.FLOAT16, BF16: TensorProto.BFLOAT16}


def session(nodes, dtype, inputs, outputs, weights, level="ORT_ENABLE_ALL"):
    kind = KINDS[dtype]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, kind, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, kind, s) for n, s in outputs.items()],
        [helper.make_tensor(n, kind, w.shape, w.astype(dtype).tobytes(), raw=True) for n, w in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    options = sardonyx.SessionOptions()
    options.strict = True
    options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
    return sardonyx.InferenceSession(model.SerializeToString(), options, providers=["native"])


def tolerance(dtype):
    return 2.0**-10 if dtype == F16 else 2.0**-7


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"])
@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_a_net_stays_in_float32_between_its_operators(dtype, level, rng):
    x, w = (
        rng.standard_normal((1, 3, 9, 9)),
        {"w": rng.standard_normal((8, 3, 3, 3)), "b": rng.standard_normal(8), "m": rng.standard_normal((8, 5))},
    )
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "m"], ["y"]),
    ]
    got = session(nodes, dtype, {"x": x.shape}, {"y": (1, 5), "r": (1, 8, 9, 9)}, w, level).run(None, {"x": x.astype(dtype)})
    padded = np.pad(x.astype(dtype).astype("d"), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    wide = {k: v.astype(dtype).astype("d") for k, v in w.items()}
    r = np.maximum(np.einsum("ncijhw,ochw->noij", windows, wide["w"]) + wide["b"][:, None, None], 0)
    y = r.mean((2, 3)) @ wide["m"]
    assert [g.dtype for g in got] == [dtype, dtype]
    np.testing.assert_allclose(got[1].astype("d"), r, rtol=tolerance(dtype), atol=1e-5)
    # Optimized, one rounding, of the result: those between would show.
    rounding = tolerance(dtype) / 2 * 1.01 if level == "ORT_ENABLE_ALL" else 16 * tolerance(dtype)
    np.testing.assert_allclose(got[0].astype("d"), y, rtol=rounding, atol=1e-5 if level == "ORT_ENABLE_ALL" else 1e-2)


@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_what_is_used_elsewhere_is_rounded_once(dtype, rng):
    """The half tensor is an output, goes through an operator that stays in half precision, and through others that do not."""
    a, b = rng.standard_normal((4, 6)), {"b": rng.standard_normal((6, 4))}
    nodes = [
        helper.make_node("MatMul", ["a", "b"], ["y"]),
        helper.make_node("Cast", ["y"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["wide"], ["back"], to=KINDS[dtype]),
        helper.make_node("Sub", ["y", "back"], ["error"]),
    ]
    y, back, _ = session(nodes, dtype, {"a": a.shape}, {"y": (4, 4), "back": (4, 4), "error": (4, 4)}, b).run(None, {"a": a.astype(dtype)})
    want = (a.astype(dtype).astype("f") @ b["b"].astype(dtype).astype("f")).astype(dtype)
    np.testing.assert_allclose(y.astype("d"), want.astype("d"), rtol=tolerance(dtype))
    np.testing.assert_array_equal(back, y)


def test_bodies_take_rounded_values(rng):
    x = rng.standard_normal((3, 3)).astype(F16)
    branch = helper.make_graph(
        [helper.make_node("Identity", ["p"], ["t"])], "then", [], [helper.make_tensor_value_info("t", TensorProto.FLOAT16, [3, 3])]
    )
    other = helper.make_graph(
        [helper.make_node("Neg", ["p"], ["e"])], "else", [], [helper.make_tensor_value_info("e", TensorProto.FLOAT16, [3, 3])]
    )
    nodes = [helper.make_node("MatMul", ["x", "x"], ["p"]), helper.make_node("If", ["go"], ["y"], then_branch=branch, else_branch=other)]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [3, 3]), helper.make_tensor_value_info("go", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [3, 3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9).SerializeToString()
    made = sardonyx.InferenceSession(model, providers=["native"])
    want = (x.astype("f") @ x.astype("f")).astype(F16)
    np.testing.assert_array_equal(made.run(None, {"x": x, "go": np.array(True)})[0], want)
    np.testing.assert_array_equal(made.run(None, {"x": x, "go": np.array(False)})[0], -want)


def test_large_weights_are_widened_while_they_are_packed(rng):
    w = {"w": rng.standard_normal((256, 512))}
    made = session([helper.make_node("MatMul", ["x", "w"], ["y"])], F16, {"x": (2, 256)}, {"y": (2, 512)}, w)
    held = made.memory_report().providers["native"]
    assert held["weights"] < 4096
    assert held["packed"] >= 256 * 512 * 4
    x = rng.standard_normal((2, 256)).astype(F16)
    want = x.astype("d") @ numpy_helper.to_array(numpy_helper.from_array(w["w"].astype(F16))).astype("d")
    np.testing.assert_allclose(made.run(None, {"x": x})[0].astype("d"), want, rtol=2.0**-10, atol=1e-3)
