"""Quantization: results saturate, ties go to even, quotients are divisions, blocks follow their axis."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper

from sardonyx_conformance.cases.build import model_of, value_info

F = np.float32


def q_matmul(run_op: Any, a: Any, b: Any, y_scale: float, dtype: Any) -> Any:
    """QLinearMatMul with scales of 1 and zero points of 0 for a and b."""
    one, zero = F(1), dtype(0)
    return run_op("QLinearMatMul", np.array(a, dtype), one, zero, np.array(b, dtype), one, zero, F(y_scale), zero)


@pytest.mark.parametrize(
    ("a", "b", "scale", "dtype", "want"),
    [
        ([[100]], [[100]], 0.2, np.uint8, [[255]]),
        ([[-100]], [[100]], 0.5, np.int8, [[-128]]),
        ([[-59]], [[4]], 1, np.int8, [[-128]]),
        ([[100]], [[100]], 0.5, np.int8, [[127]]),
        ([[3, 5]], [[1], [1]], 16, np.uint8, [[0]]),
        ([[12, 12]], [[1], [1]], 16, np.uint8, [[2]]),
    ],
)
def test_qlinear_matmul(run_op: Any, a: Any, b: Any, scale: float, dtype: Any, want: Any) -> None:
    """Out of range saturates, it does not wrap; 0.5 rounds to 0, 1.5 to 2."""
    assert q_matmul(run_op, a, b, scale, dtype).tolist() == want


def test_qlinear_matmul_zero_points(run_op: Any) -> None:
    """Per-column scales and zero points of b, one of a, one of the result."""
    a, b = np.array([[1, 2], [3, 255]], np.uint8), np.array([[10, 20], [30, 40]], np.uint8)
    b_scale, b_zero = np.array([0.5, 0.25], F), np.array([12, 7], np.uint8)
    y = run_op("QLinearMatMul", a, F(0.1), np.uint8(2), b, b_scale, b_zero, F(1.5), np.uint8(9))
    real = (a.astype(float) - 2) * 0.1 @ ((b.astype(float) - b_zero) * b_scale)
    assert y.tolist() == np.clip(np.rint(real / 1.5) + 9, 0, 255).tolist()


def test_qlinear_conv_saturates(run_op: Any) -> None:
    """As QLinearMatMul; the bias counts in units of x_scale * w_scale."""
    x, w = np.full((1, 1, 3), 100, np.uint8), np.full((2, 1, 1), 100, np.uint8)
    bias = np.array([0, -10000], np.int32)
    y = run_op("QLinearConv", x, F(1), np.uint8(0), w, F(1), np.uint8(0), F(0.2), np.uint8(0), bias)
    assert y[0, 0].tolist() == [255] * 3
    assert y[0, 1].tolist() == [0] * 3


def test_matmul_integer(run_op: Any) -> None:
    """Exact in int32, with zero points per row of a and per column of b."""
    a, b = np.array([[255, 255], [0, 128]], np.uint8), np.array([[255, 0], [255, 1]], np.uint8)
    y = run_op("MatMulInteger", a, b, np.array([0, 128], np.uint8), np.array([0, 1], np.uint8))
    wide = (a.astype(np.int64) - [[0], [128]]) @ (b.astype(np.int64) - [0, 1])
    assert y.dtype == np.int32
    assert y.tolist() == wide.tolist()


def test_dynamic_quantize_of_zeros(run_op: Any) -> None:
    """All zeros: no division by zero, and zeros come back."""
    y, scale, zero = run_op("DynamicQuantizeLinear", np.zeros((2, 3), F), outputs=3)
    assert np.isfinite(scale)
    assert zero == 0
    assert not y.any()


def test_dynamic_quantize_includes_zero(run_op: Any) -> None:
    """The range always includes 0."""
    x = np.array([-1, -2.1, -1.3, -2.5, -3.34, -4], F)
    y, scale, zero = run_op("DynamicQuantizeLinear", x, outputs=3)
    assert zero == 255
    assert scale == pytest.approx(4 / 255)
    assert y.tolist() == [191, 121, 172, 96, 42, 0]


def test_quantize_divides(run_op: Any) -> None:
    """x / scale in float32, not x times the reciprocal of scale: the two round differently at ties."""
    scale = F(0.03)
    x = ((np.arange(-120, 120) + 0.5) * 0.03).astype(F)
    want = np.rint(x / scale)
    assert (want != np.rint(x * (F(1) / scale))).any()
    assert run_op("QuantizeLinear", x, scale, np.int8(0)).tolist() == want.tolist()


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16, ml_dtypes.uint4, ml_dtypes.int4])
def test_quantize_saturates(run_op: Any, dtype: Any) -> None:
    """Beyond the type's range is its end; infinities too."""
    limits = ml_dtypes.iinfo(dtype)
    y = run_op("QuantizeLinear", np.array([-1e9, 1e9, -np.inf, np.inf, 0.5, 1.5, 2.5], F), F(1), np.array(0, dtype))
    assert y.astype(int).tolist() == [limits.min, limits.max, limits.min, limits.max, 0, 2, 2]


def test_quantize_per_axis(run_op: Any) -> None:
    """One scale and zero point per slice along the axis, which may be negative."""
    x = np.array([[1, 2, 3], [4, 5, 6]], F)
    scale, zero = np.array([0.5, 1, 2], F), np.array([0, 10, 20], np.uint8)
    for axis in (1, -1):
        assert run_op("QuantizeLinear", x, scale, zero, axis=axis).tolist() == [[2, 12, 22], [8, 15, 23]]
    back = run_op("DequantizeLinear", np.array([[2, 12, 22]], np.uint8), scale, zero, axis=1)
    assert back.tolist() == [[1, 2, 4]]


def test_quantize_default_zero_point(run_op: Any) -> None:
    """Without a zero point the result is uint8."""
    assert run_op("QuantizeLinear", np.array([3.0], F), F(1)).dtype == np.uint8


@pytest.mark.parametrize("axis", [0, 1])
def test_blocked_int4_before_matmul(run_op: Any, axis: int) -> None:
    """Blocks along either axis of the weights, dequantized or fused: one answer."""
    rng = np.random.default_rng(0)
    weights = rng.integers(-8, 8, (32, 8)).astype(ml_dtypes.int4)
    blocks = (2, 8) if axis == 0 else (32, 2)
    size = 16 if axis == 0 else 4
    scales = rng.random(blocks).astype(F) + F(0.1)
    zeros = rng.integers(-3, 3, blocks).astype(ml_dtypes.int4)
    x = rng.standard_normal((3, 32)).astype(F)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=axis, block_size=size),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    model = model_of(nodes, [value_info("x", x)], ["y"], {"w": weights, "s": scales, "z": zeros}, opset=21)
    real = (weights.astype(float) - zeros.astype(float).repeat(size, axis)) * scales.repeat(size, axis)
    np.testing.assert_allclose(run_op.model(model, {"x": x})[0], x @ real, rtol=1e-4, atol=1e-4)


def test_dequantize_int32(run_op: Any) -> None:
    """int32 values (biases) are multiplied by the scale, large ones too."""
    y = run_op("DequantizeLinear", np.array([2**30, -3], np.int32), F(0.5))
    assert y.tolist() == [2.0**29, -1.5]
