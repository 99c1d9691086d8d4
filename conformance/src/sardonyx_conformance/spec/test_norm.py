"""Normalisation and softmax: over the right axes, stable at the ends of the number range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

RNG = np.random.default_rng(0)


def test_lrn_windows_over_channels(run_op: Any) -> None:
    """The window is over channels, of which there are more than samples."""
    x = RNG.standard_normal((1, 5, 5, 5)).astype(np.float32)
    size, alpha, beta, bias = 3, 0.01, 0.75, 2.0
    square = np.zeros_like(x, dtype=np.float64)
    for c in range(5):
        square[:, c] = (x[:, max(0, c - 1) : c + 2].astype(np.float64) ** 2).sum(1)
    want = x / (bias + alpha / size * square) ** beta
    np.testing.assert_allclose(run_op("LRN", x, size=size, alpha=alpha, beta=beta, bias=bias), want, rtol=1e-5)


def test_lrn_even_size(run_op: Any) -> None:
    """An even window reaches (size - 1) // 2 channels back and ceil((size - 1) / 2) ahead."""
    x = np.arange(1, 5, dtype=np.float32).reshape(1, 4, 1, 1)
    square = np.array([1 + 4, 4 + 9, 9 + 16, 16], np.float64).reshape(1, 4, 1, 1)
    np.testing.assert_allclose(run_op("LRN", x, size=2, alpha=1.0, beta=1.0, bias=1.0), x / (1 + square / 2), rtol=1e-5)


def test_layer_normalization_scale_of_the_last_axis(run_op: Any) -> None:
    """Normalising over two axes, scale and bias broadcast from the last one."""
    x = np.array([[[1.0, 5.0], [-2.0, 3.0], [0.5, -4.0]]], np.float32)
    scale, bias = np.array([2.0, 0.5], np.float32), np.array([1.0, -3.0], np.float32)
    wide = x.astype(np.float64)
    normal = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5)
    y = run_op("LayerNormalization", x, scale, bias, axis=1)
    np.testing.assert_allclose(y, normal * scale + bias, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_layer_normalization_statistics(run_op: Any, axis: int) -> None:
    """Mean and inverse deviation keep the rank, with 1 for the normalised axes."""
    x = (RNG.standard_normal((2, 3, 4)) + 3).astype(np.float32)
    first = axis % 3
    axes = tuple(range(first, 3))
    scale = np.ones(x.shape[first:], np.float32)
    y, mean, inverse = run_op("LayerNormalization", x, scale, outputs=3, axis=axis)
    wide = x.astype(np.float64)
    m, v = wide.mean(axes, keepdims=True), wide.var(axes, keepdims=True)
    np.testing.assert_allclose(mean, m, rtol=1e-5)
    np.testing.assert_allclose(inverse, 1 / np.sqrt(v + 1e-5), rtol=1e-4)
    np.testing.assert_allclose(y, (wide - m) / np.sqrt(v + 1e-5), rtol=1e-4, atol=1e-5)


def test_layer_normalization_far_from_zero(run_op: Any) -> None:
    """The variance of values with a large mean does not cancel."""
    x = (RNG.standard_normal((4, 64)) + 1000).astype(np.float32)
    wide = x.astype(np.float64)
    want = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(run_op("LayerNormalization", x, np.ones(64, np.float32)), want, atol=2e-3)


@pytest.mark.parametrize(("op", "domain"), [("SimplifiedLayerNormalization", ""), ("SimplifiedLayerNormalization", "com.microsoft")])
def test_simplified_layer_normalization(run_op: Any, op: str, domain: str) -> None:
    """Divides by the root of the mean square; the mean is not subtracted."""
    x = (RNG.standard_normal((2, 6)) + 4).astype(np.float32)
    scale = np.linspace(0.5, 2, 6).astype(np.float32)
    want = x / np.sqrt((x.astype(np.float64) ** 2).mean(1, keepdims=True) + 1e-5) * scale
    np.testing.assert_allclose(run_op(op, x, scale, domain=domain, epsilon=1e-5, axis=-1), want, rtol=1e-5)


def test_rms_normalization(run_op: Any) -> None:
    """The standard operator of the same meaning."""
    x = (RNG.standard_normal((2, 3, 4)) + 4).astype(np.float32)
    scale = RNG.standard_normal((3, 4)).astype(np.float32)
    want = x / np.sqrt((x.astype(np.float64) ** 2).mean((1, 2), keepdims=True) + 1e-5) * scale
    np.testing.assert_allclose(run_op("RMSNormalization", x, scale, axis=1), want, rtol=1e-5, atol=1e-6)


def test_instance_normalization_constant_plane(run_op: Any) -> None:
    """A constant plane becomes its bias."""
    x = np.full((1, 2, 3, 3), 7, np.float32)
    y = run_op("InstanceNormalization", x, np.array([3, 4], np.float32), np.array([1, -1], np.float32))
    np.testing.assert_allclose(y[0, 0], 1, atol=1e-3)
    np.testing.assert_allclose(y[0, 1], -1, atol=1e-3)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax_large_values(run_op: Any, op: str) -> None:
    """No overflow: the largest value is subtracted first."""
    x = np.array([[1000, 1000, -1000], [-1e30, -1e30, -1e30]], np.float32)
    want = np.array([[0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]])
    y = run_op(op, x)
    if op == "LogSoftmax":
        assert np.isfinite(y).all()
        assert y[0, 2] == pytest.approx(-2000 - np.log(2))
        y = np.exp(y)
    np.testing.assert_allclose(y, want, atol=1e-6)


def test_softmax_masked_with_infinity(run_op: Any) -> None:
    """-inf is a weight of exactly 0."""
    assert run_op("Softmax", np.array([[0, -np.inf, 0]], np.float32)).tolist() == [[0.5, 0, 0.5]]


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax_before_13_is_flattened(run_op: Any, op: str) -> None:
    """Up to opset 12 the axes from `axis` (default 1) on are one."""
    x = RNG.standard_normal((2, 3, 4)).astype(np.float32)
    flat = x.reshape(2, 12).astype(np.float64)
    soft = np.exp(flat) / np.exp(flat).sum(1, keepdims=True)
    want = {"Softmax": soft, "LogSoftmax": np.log(soft), "Hardmax": (flat == flat.max(1, keepdims=True)).astype(float)}[op]
    np.testing.assert_allclose(run_op(op, x, opset=11), want.reshape(2, 3, 4), rtol=1e-5, atol=1e-6)


def test_hardmax_ties(run_op: Any) -> None:
    """The first of several largest values gets the 1."""
    assert run_op("Hardmax", np.array([[2, 5, 5]], np.float32)).tolist() == [[0, 1, 0]]
