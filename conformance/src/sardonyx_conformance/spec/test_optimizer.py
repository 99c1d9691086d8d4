"""What optimizations have broken: clips of other types, shared buffers, stale shapes, equal constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from sardonyx.ir.dtypes import to_onnx
from sardonyx_conformance.cases.build import model_of, value_info
from sardonyx_conformance.target import Target


def dynamic(name: str, dtype: Any, *dims: Any) -> Any:
    """A declaration with symbolic dimensions."""
    return helper.make_tensor_value_info(name, to_onnx(dtype), dims)


@pytest.mark.parametrize("opset", [11, 13, 28])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int32, np.int64])
def test_relu_then_clip(run_op: Any, dtype: Any, opset: int) -> None:
    """clip(relu(x), -1, 1) = clip(x, 0, 1) in every type, bounds as constants of that type."""
    if opset < 14 and np.dtype(dtype).kind == "i":
        opset = 14
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Clip", ["r", "low", "high"], ["y"])]
    bounds = {"low": np.array(-1, dtype), "high": np.array(1, dtype)}
    x = np.array([-3, 0, 1, 5], dtype)
    y = run_op.model(model_of(nodes, [value_info("x", x)], ["y"], bounds, opset=opset), {"x": x})[0]
    assert y.dtype == x.dtype
    assert y.tolist() == [0, 0, 1, 1]


def test_no_stale_shapes(target: Target, variant: str) -> None:
    """One session, inputs of different sizes in turn: every answer fits its own input."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "one"], ["n"]),
        helper.make_node("Concat", ["minus", "n"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["y"]),
    ]
    w = np.eye(4, dtype=np.float32)
    fixed = {"one": np.array([2]), "minus": np.array([-1]), "w": w}
    session = target.session(model_of(nodes, [dynamic("x", np.float32, "b", "s", 4)], ["y"], fixed), variant)
    for shape in [(1, 32, 4), (1, 1, 4), (2, 5, 4), (1, 32, 4), (0, 3, 4)]:
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        np.testing.assert_allclose(session.run(None, {"x": x})[0], x.reshape(-1, 4), rtol=1e-6)


def test_two_runs_agree(target: Target, variant: str) -> None:
    """Nothing of one run is left in the next."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Add", ["a", "x"], ["b"]),
        helper.make_node("Mul", ["a", "b"], ["c"]),
        helper.make_node("Sub", ["c", "a"], ["y"]),
    ]
    session = target.session(model_of(nodes, [dynamic("x", np.float32, 4, "n")], ["y", "b"]), variant)
    x = np.random.default_rng(0).standard_normal((4, 9)).astype(np.float32)
    first = session.run(None, {"x": x})
    kept = [y.copy() for y in first]
    session.run(None, {"x": -x})
    again = session.run(None, {"x": x})
    a = np.maximum(x, 0)
    np.testing.assert_allclose(first[0], a * (a + x) - a, rtol=1e-5, atol=1e-6)
    for y, z, w in zip(first, kept, again, strict=True):
        np.testing.assert_array_equal(y, z)
        np.testing.assert_array_equal(w, z)


def test_value_that_is_used_again(run_op: Any) -> None:
    """An intermediate value that is an output, and is read after another node might have taken its memory."""
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("Neg", ["e"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Add", ["e", "r"], ["y"]),
    ]
    x = np.array([0, 1], np.float32)
    y, e = run_op.model(model_of(nodes, [value_info("x", x)], ["y", "e"]), {"x": x})
    np.testing.assert_allclose(e, np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)


def test_equal_constants_of_different_types(run_op: Any) -> None:
    """1 as int64, as int32 and as float are not the same constant; 0.0 and -0.0 are not either."""
    nodes = [
        helper.make_node("Add", ["i", "one_i"], ["a"]),
        helper.make_node("Add", ["f", "one_f"], ["b"]),
        helper.make_node("Div", ["f", "zero"], ["c"]),
        helper.make_node("Div", ["f", "minus_zero"], ["d"]),
    ]
    fixed: dict[str, Any] = {"one_i": np.array([1], np.int64), "one_f": np.array([1], np.float32), "zero": np.array([0.0], np.float32)}
    fixed["minus_zero"] = np.array([-0.0], np.float32)
    feeds = {"i": np.array([2], np.int64), "f": np.array([2], np.float32)}
    model = model_of(nodes, [value_info(k, v) for k, v in feeds.items()], ["a", "b", "c", "d"], fixed)
    a, b, c, d = run_op.model(model, feeds)
    assert (a.tolist(), b.tolist(), c.tolist(), d.tolist()) == ([3], [3], [np.inf], [-np.inf])
    assert (a.dtype, b.dtype) == (np.int64, np.float32)


@pytest.mark.parametrize(
    ("op", "constant", "x", "want"),
    [
        ("Mul", 0, [np.nan, np.inf, 1], [np.nan, np.nan, 0]),
        ("Sub", 0, [-0.0, np.nan], [-0.0, np.nan]),
        ("Div", 1, [np.nan, np.inf], [np.nan, np.inf]),
        ("Pow", 1, [np.nan, -2], [np.nan, -2]),
    ],
)
def test_algebra_keeps_nan(run_op: Any, op: str, constant: float, x: list[float], want: list[float]) -> None:
    """x * 0 is not always 0."""
    feed = np.array(x, np.float32)
    np.testing.assert_array_equal(run_op(op, feed, np.float32(constant)), np.array(want, np.float32))


def test_neutral_element_that_broadcasts(run_op: Any) -> None:
    """Adding zeros of a larger shape is not the identity."""
    x = np.array([1, 2], np.float32)
    assert run_op("Add", x, np.zeros((3, 2), np.float32)).shape == (3, 2)
    assert run_op("Mul", x, np.ones((1, 1, 2), np.float32)).shape == (1, 1, 2)


def test_double_cast(run_op: Any) -> None:
    """A cast through a narrower type loses what it loses."""
    nodes = [
        helper.make_node("Cast", ["x"], ["a"], to=TensorProto.INT32),
        helper.make_node("Cast", ["a"], ["b"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["b"], ["c"], to=TensorProto.FLOAT16),
        helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT),
    ]
    x = np.array([1.7, -2.5, 2049], np.float32)
    assert run_op.model(model_of(nodes, [value_info("x", x)], ["y"]), {"x": x})[0].tolist() == [1, -2, 2048]


def test_transposes_that_do_not_cancel(run_op: Any) -> None:
    """Two transposes in a row are the identity only if they undo each other."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for first, second in [([1, 2, 0], [2, 0, 1]), ([1, 2, 0], [1, 2, 0]), ([0, 2, 1], [0, 2, 1])]:
        nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=first), helper.make_node("Transpose", ["t"], ["y"], perm=second)]
        y = run_op.model(model_of(nodes, [value_info("x", x)], ["y"]), {"x": x})[0]
        np.testing.assert_array_equal(y, x.transpose(first).transpose(second))


def test_conv_batch_normalization(run_op: Any) -> None:
    """Folded or not, also where the convolution's result is used twice."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 2, 5, 5)).astype(np.float32)
    w = rng.standard_normal((3, 2, 3, 3)).astype(np.float32)
    stats = {name: rng.random(3).astype(np.float32) + 0.5 for name in ("scale", "bias", "mean", "var")}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["n"], epsilon=1e-3),
        helper.make_node("Relu", ["n"], ["y"]),
        helper.make_node("Neg", ["c"], ["z"]),
    ]
    y, z = run_op.model(model_of(nodes, [value_info("x", x)], ["y", "z"], {"w": w, **stats}), {"x": x})
    c = -z.astype(np.float64)
    column = {k: v.reshape(3, 1, 1).astype(np.float64) for k, v in stats.items()}
    normal = (c - column["mean"]) / np.sqrt(column["var"] + 1e-3) * column["scale"] + column["bias"]
    np.testing.assert_allclose(y, np.maximum(normal, 0), rtol=1e-4, atol=1e-5)


def test_gelu_written_out(run_op: Any) -> None:
    """The decomposed form gives what the operator gives."""
    nodes = [
        helper.make_node("Div", ["x", "root"], ["a"]),
        helper.make_node("Erf", ["a"], ["b"]),
        helper.make_node("Add", ["b", "one"], ["c"]),
        helper.make_node("Mul", ["x", "c"], ["d"]),
        helper.make_node("Mul", ["d", "half"], ["y"]),
    ]
    fixed = {"root": np.float32(np.sqrt(2)), "one": np.float32(1), "half": np.float32(0.5)}
    x = np.linspace(-4, 4, 33, dtype=np.float32)
    y = run_op.model(model_of(nodes, [value_info("x", x)], ["y"], {k: np.asarray(v) for k, v in fixed.items()}), {"x": x})[0]
    np.testing.assert_allclose(y, run_op("Gelu", x), rtol=1e-5, atol=1e-6)
