"""Operators of com.microsoft that exporters and optimizers write, by their documented definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

MS = "com.microsoft"
RNG = np.random.default_rng(0)


def draw(*shape: int) -> np.ndarray:
    """Normal float32 numbers."""
    return RNG.standard_normal(shape).astype(np.float32)


def gelu(x: np.ndarray) -> np.ndarray:
    """x times the normal distribution function, in float64."""
    wide = x.astype(np.float64)
    return wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))


def close(got: Any, want: np.ndarray, rtol: float = 1e-5) -> None:
    """float32 within a few roundings."""
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=rtol, atol=2e-6)


def test_gelus(run_op: Any) -> None:
    """Gelu, with a bias, by tanh, and by a sigmoid."""
    x, bias = draw(3, 8), draw(8)
    wide = x.astype(np.float64)
    close(run_op("Gelu", x, domain=MS), gelu(x))
    close(run_op("BiasGelu", x, bias, domain=MS), gelu(wide + bias))
    cubic = np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3)
    close(run_op("FastGelu", x, domain=MS), wide / 2 * (1 + np.tanh(cubic)))
    close(run_op("QuickGelu", x, domain=MS, alpha=1.5), wide / (1 + np.exp(-1.5 * wide)))


def test_fused_mat_mul(run_op: Any) -> None:
    """alpha * op(A) @ op(B), where op transposes the last two axes."""
    a, b = draw(2, 4, 3), draw(2, 5, 4)
    want = 0.5 * a.astype(np.float64).swapaxes(1, 2) @ b.astype(np.float64).swapaxes(1, 2)
    close(run_op("FusedMatMul", a, b, domain=MS, alpha=0.5, transA=1, transB=1), want)


def test_fused_gemm(run_op: Any) -> None:
    """Gemm, then an activation."""
    a, b, c = draw(2, 3), draw(3, 4), draw(4)
    want = np.maximum(a.astype(np.float64) @ b + c, 0)
    close(run_op("FusedGemm", a, b, c, domain=MS, activation="Relu"), want)


def test_fused_conv(run_op: Any) -> None:
    """A convolution by a kernel of one pixel, then Relu."""
    x, w, b = draw(1, 3, 4, 4), draw(2, 3, 1, 1), draw(2)
    want = np.einsum("nchw,kc->nkhw", x.astype(np.float64), w[:, :, 0, 0]) + b[:, None, None]
    close(run_op("FusedConv", x, w, b, domain=MS, activation="Relu", kernel_shape=[1, 1]), np.maximum(want, 0))


def test_skip_normalizations(run_op: Any) -> None:
    """The sum with the skip input (and bias) normalised over the last axis."""
    x, skip, gamma, beta, bias = draw(2, 3, 8), draw(2, 3, 8), draw(8), draw(8), draw(8)
    total = x.astype(np.float64) + skip + bias
    centred = total - total.mean(-1, keepdims=True)
    want = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gamma + beta
    close(run_op("SkipLayerNormalization", x, skip, gamma, beta, bias, domain=MS, epsilon=1e-5), want)
    total = x.astype(np.float64) + skip
    want = total / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-5) * gamma
    close(run_op("SkipSimplifiedLayerNormalization", x, skip, gamma, domain=MS, epsilon=1e-5), want)


def test_multi_head_attention(run_op: Any) -> None:
    """Softmax of scaled scores times values, by head."""
    q, k, v = draw(1, 3, 8), draw(1, 5, 8), draw(1, 5, 8)
    heads = [t.astype(np.float64).reshape(1, -1, 2, 4).swapaxes(1, 2) for t in (q, k, v)]
    scores = heads[0] @ heads[1].swapaxes(-1, -2) / 2
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = (weights / weights.sum(-1, keepdims=True) @ heads[2]).swapaxes(1, 2).reshape(1, 3, 8)
    close(run_op("MultiHeadAttention", q, k, v, domain=MS, num_heads=2), want)


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_quantized_arithmetic(run_op: Any, op: str) -> None:
    """Dequantized, added or multiplied, and quantized again with ties to even."""
    a, b = np.array([0, 10, 128, 255], np.uint8), np.array([255, 7, 130, 0], np.uint8)
    scales, zeros = [np.float32(s) for s in (0.5, 0.25, 2.0)], [np.uint8(z) for z in (128, 100, 120)]
    x, y = (a - 128.0) * 0.5, (b - 100.0) * 0.25
    want = np.clip(np.rint((x + y if op == "QLinearAdd" else x * y) / 2) + 120, 0, 255).astype(np.uint8)
    inputs = (a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2])
    np.testing.assert_array_equal(run_op(op, *inputs, domain=MS), want)


def test_quantize_and_dequantize(run_op: Any) -> None:
    """The forms of com.microsoft, with a 16-bit type among others."""
    x, scale, zero = np.array([-1.0, 0.25, 3.0], np.float32), np.float32(0.5), np.uint16(100)
    q = run_op("QuantizeLinear", x, scale, zero, domain=MS)
    np.testing.assert_array_equal(q, np.array([98, 100, 106], np.uint16))
    np.testing.assert_array_equal(run_op("DequantizeLinear", q, scale, zero, domain=MS), np.array([-1, 0, 3], np.float32))


def test_mat_mul_of_four_bits(run_op: Any) -> None:
    """MatMulNBits: blocks of 16 along K, two values in a byte, the low one first, zero point 8."""
    n, k = 3, 32
    values = RNG.integers(0, 16, (n, k)).astype(np.uint8)
    packed = (values[:, ::2] | values[:, 1::2] << 4).reshape(n, 2, 8)
    scales = (RNG.random((n, 2)) + 0.5).astype(np.float32)
    weight = (values.astype(np.float64) - 8) * np.repeat(scales, 16, 1)
    x = draw(2, k)
    y = run_op("MatMulNBits", x, packed, scales.reshape(-1), domain=MS, K=k, N=n, bits=4, block_size=16)
    close(y, x.astype(np.float64) @ weight.T, 1e-4)


def test_shapes_and_selections(run_op: Any) -> None:
    """ExpandDims, Trilu and Inverse."""
    x = draw(3, 3) + 3 * np.eye(3, dtype=np.float32)
    np.testing.assert_array_equal(run_op("ExpandDims", x, np.int32(1), domain=MS), x[:, None])
    np.testing.assert_array_equal(run_op("Trilu", x, np.int64(1), domain=MS, upper=1), np.triu(x, 1))
    close(run_op("Inverse", x, domain=MS), np.linalg.inv(x.astype(np.float64)), 1e-4)


def test_distances(run_op: Any) -> None:
    """CDist between the rows of two matrices."""
    a, b = draw(3, 4), draw(2, 4)
    want = np.sqrt(((a[:, None].astype(np.float64) - b) ** 2).sum(-1))
    close(run_op("CDist", a, b, domain=MS, metric="euclidean"), want)
