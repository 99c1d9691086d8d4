"""Softmax, normalisations, reductions, running sums."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper
from scipy import special

Run = Callable[..., list[np.ndarray]]
F = np.float32
HALVES = [np.float16, ml_dtypes.bfloat16]


def node(op: str, *inputs: str, outputs: tuple[str, ...] = ("y",), **attrs: Any) -> Any:
    return helper.make_node(op, list(inputs) or ["x"], list(outputs), **attrs)


def values(*shape: int, seed: int = 0, scale: float = 3.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(F)


@pytest.mark.parametrize("shape", [(1,), (3, 5), (4, 33), (2, 7, 70), (3, 1, 130, 2), (5, 1009), (2, 4096), ()], ids=str)
def test_softmax(shape: tuple[int, ...], run: Run) -> None:
    x = values(*shape) * 5
    for axis in range(-1, max(len(shape) - 1, 0)):
        if not shape and axis != -1:
            continue
        wide = (x - x.max(axis if shape else None, keepdims=bool(shape))).astype(np.float64)  # its rounding is no error of exp
        want = special.softmax(wide, axis=axis if shape else None)
        np.testing.assert_allclose(run(node("Softmax", axis=axis), {"x": x})[0], want, rtol=3e-6, atol=1e-37)
        want = special.log_softmax(wide, axis=axis if shape else None)
        np.testing.assert_allclose(run(node("LogSoftmax", axis=axis), {"x": x})[0], want, rtol=3e-6, atol=3e-6)


def test_softmax_with_masked_entries(run: Run) -> None:
    x = values(6, 40)
    x[:, 10:] = -np.inf
    x[3:, 5:] = -1e30
    for data, axis in ((x, -1), (np.ascontiguousarray(x.T), 0)):
        (got,) = run(node("Softmax", axis=axis), {"x": data})
        np.testing.assert_allclose(got, special.softmax(data.astype(np.float64), axis=axis), rtol=2e-6, atol=0)
    x[0] = np.nan
    (got,) = run(node("Softmax"), {"x": x})
    assert np.isnan(got[0]).all()
    assert not np.isnan(got[1:]).any()


def test_hardmax_takes_the_first(run: Run) -> None:
    x = np.array([[1, 3, 3, 2], [np.nan, 5, 1, 1]], F)
    np.testing.assert_array_equal(run(node("Hardmax"), {"x": x})[0], [[0, 1, 0, 0], [1, 0, 0, 0]])
    np.testing.assert_array_equal(run(node("Hardmax", axis=0), {"x": x[:, 1:]})[0], [[0, 1, 1], [1, 0, 0]])


def layer_norm(x: np.ndarray, scale: Any, bias: Any, axis: int, epsilon: float, rms: bool = False) -> tuple[np.ndarray, ...]:
    x = x.astype(np.float64)
    axes = tuple(range(axis % x.ndim, x.ndim))
    mean = 0 if rms else x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)
    return (x - mean) * inverse * scale + bias, np.asarray(mean), inverse


@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 5), -1), ((2, 3, 64), -1), ((2, 3, 70), 1), ((4, 768), -1), ((2, 4100), 1), ((200, 333), -1), ((1, 5), 0)]
)
def test_layer_normalization(shape: tuple[int, ...], axis: int, run: Run) -> None:
    x = values(*shape) + 10
    scale, bias = values(*shape[axis % len(shape) :], seed=1), values(*shape[axis % len(shape) :], seed=2)
    n = node("LayerNormalization", "x", "s", "b", outputs=("y", "mean", "inverse"), axis=axis, epsilon=1e-3)
    got = run(n, {"x": x}, {"s": scale, "b": bias}, ("y", "mean", "inverse"))
    for g, w in zip(got, layer_norm(x, scale, bias, axis, 1e-3), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=2e-5)
        assert g.shape == w.shape
    (got_rms,) = run(node("RMSNormalization", "x", "s", axis=axis, epsilon=1e-3), {"x": x, "s": scale})
    np.testing.assert_allclose(got_rms, layer_norm(x, scale, 0, axis, 1e-3, rms=True)[0], rtol=2e-6, atol=1e-6)


def test_scale_and_bias_broadcast_within_the_row(run: Run) -> None:
    """onnxruntime read these out of bounds (its issue 12917)."""
    x, scale, bias = values(1, 3, 2), values(2, seed=1), values(1, 3, 1, seed=2)
    (got,) = run(node("LayerNormalization", "x", "s", "b", axis=1), {"x": x, "s": scale, "b": bias})
    np.testing.assert_allclose(got, layer_norm(x, scale, bias, 1, 1e-5)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", HALVES, ids=lambda t: np.dtype(t).name)
def test_half_precision(dtype: Any, run: Run) -> None:
    x = values(4, 50).astype(dtype)
    scale, bias = values(50, seed=1).astype(dtype), values(50, seed=2).astype(dtype)
    unit = 2.0**-10 if dtype == np.float16 else 2.0**-7
    (got,) = run(node("LayerNormalization", "x", "s", "b"), {"x": x, "s": scale, "b": bias})
    want = layer_norm(x, scale.astype(np.float64), bias.astype(np.float64), -1, 1e-5)[0]
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=unit, atol=unit)
    (got,) = run(node("Softmax"), {"x": x})
    np.testing.assert_allclose(got.astype(np.float64), special.softmax(x.astype(np.float64), axis=-1), rtol=unit, atol=1e-7)
    (got,) = run(node("ReduceSum", "x", keepdims=0), {"x": x})
    np.testing.assert_allclose(float(got), x.astype(np.float64).sum(), rtol=unit, atol=unit)


def test_norms_by_channel(run: Run) -> None:
    x = values(2, 6, 5, 7) + 2
    scale, bias, mean, variance = values(6, seed=1), values(6, seed=2), values(6, seed=3), np.abs(values(6, seed=4)) + 0.1
    wide, column = x.astype(np.float64), (6, 1, 1)
    weights = {"s": scale, "b": bias, "m": mean, "v": variance}
    (got,) = run(node("BatchNormalization", "x", "s", "b", "m", "v", epsilon=1e-3), {"x": x, **weights})
    want = (wide - mean.reshape(column)) / np.sqrt(variance.astype(np.float64) + F(1e-3)).reshape(column) * scale.reshape(
        column
    ) + bias.reshape(column)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    for op, groups, attrs in (("InstanceNormalization", 6, {}), ("GroupNormalization", 3, {"num_groups": 3})):
        rows = wide.reshape(2, groups, -1)
        normal = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
        want = normal.reshape(x.shape) * scale.reshape(column) + bias.reshape(column)
        (got,) = run(node(op, "x", "s", "b", **attrs), {"x": x, "s": scale, "b": bias})
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_lrn_runs_over_channels(run: Run) -> None:
    x = values(2, 7, 3, 3)
    for size, beta in ((3, 0.75), (4, 0.5)):
        squares = x.astype(np.float64) ** 2
        total = np.stack([squares[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1].sum(1) for c in range(7)], 1)
        (got,) = run(node("LRN", size=size, alpha=0.1, beta=beta, bias=2.0), {"x": x})
        np.testing.assert_allclose(got, x / (2 + 0.1 / size * total) ** beta, rtol=2e-6)


def test_lp_normalization(run: Run) -> None:
    x = values(3, 4, 5)
    x[1, 2] = 0
    for axis, p in itertools.product((0, 1, -1), (1, 2)):
        norm = np.linalg.norm(x.astype(np.float64), p, axis, keepdims=True)
        (got,) = run(node("LpNormalization", axis=axis, p=p), {"x": x})
        np.testing.assert_allclose(got, x / np.where(norm == 0, 1, norm), rtol=1e-6)


def lse(x: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> np.ndarray:
    return np.asarray(special.logsumexp(x, axis=axes, keepdims=keepdims))


REDUCTIONS: dict[str, Any] = {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
    "ReduceSumSquare": lambda x, a, keepdims: np.sum(x * x, a, keepdims=keepdims),
    "ReduceL1": lambda x, a, keepdims: np.sum(abs(x), a, keepdims=keepdims),
    "ReduceL2": lambda x, a, keepdims: np.sqrt(np.sum(x * x, a, keepdims=keepdims)),
    "ReduceLogSum": lambda x, a, keepdims: np.log(np.sum(x, a, keepdims=keepdims)),
    "ReduceLogSumExp": lambda x, a, keepdims: lse(x, a, keepdims),
}


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions_over_any_axes(op: str, run: Run) -> None:
    x = np.abs(values(2, 3, 1, 5, 37, scale=0.5)) + 0.5
    for axes in [(0,), (1,), (4,), (3, 4), (0, 3), (0, 4), (1, 3), (2,), (0, 2, 4), (0, 1, 2, 3, 4), (-1, -3)]:
        for keepdims in (0, 1):
            feeds = {"x": x}
            (got,) = run(node(op, "x", "a", keepdims=keepdims), feeds, {"a": np.array(axes, np.int64)})
            want = REDUCTIONS[op](x.astype(np.float64), axes, keepdims=bool(keepdims))
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=4e-6, atol=1e-6)


@pytest.mark.parametrize("op", REDUCTIONS)
def test_no_axes(op: str, run: Run) -> None:
    x = np.abs(values(3, 5)) + 0.1
    (got,) = run(node(op, keepdims=0), {"x": x})
    np.testing.assert_allclose(got, REDUCTIONS[op](x.astype(np.float64), (0, 1), keepdims=False), rtol=4e-6)
    for inputs, weights in ((("x",), {}), (("x", "a"), {"a": np.array([], np.int64)})):
        (got,) = run(node(op, *inputs, noop_with_empty_axes=1), {"x": x}, weights)
        single = REDUCTIONS[op](x.astype(np.float64)[..., None], -1 if op != "ReduceLogSumExp" else (-1,), keepdims=False)
        np.testing.assert_allclose(got, single, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("op", "want"), [("ReduceSum", 0), ("ReduceProd", 1), ("ReduceMax", -np.inf), ("ReduceMin", np.inf), ("ReduceLogSumExp", -np.inf)]
)
def test_empty_sets(op: str, want: float, run: Run) -> None:
    (got,) = run(node(op, "x", "a"), {"x": np.zeros((2, 0, 4), F)}, {"a": np.array([1], np.int64)})
    np.testing.assert_array_equal(got, np.full((2, 1, 4), want, F))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.int64], ids=lambda t: np.dtype(t).name)
def test_mean_of_nothing(dtype: Any, run: Run) -> None:
    """As in the numpy provider; the specification leaves it open."""
    (got,) = run(node("ReduceMean", "x", "a", keepdims=0), {"x": np.zeros((2, 0), dtype)}, {"a": np.array([1], np.int64)})
    np.testing.assert_array_equal(got, np.full(2, np.nan if np.issubdtype(dtype, np.floating) else 0).astype(dtype))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.float64], ids=lambda t: np.dtype(t).name)
def test_reductions_of_numbers(dtype: Any, run: Run) -> None:
    x = np.random.default_rng(0).integers(0, 120, (3, 4, 5)).astype(dtype)
    axes = {"a": np.array([0, 2], np.int64)}
    for op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"):
        want = REDUCTIONS[op](x, (0, 2), keepdims=True).astype(dtype)
        np.testing.assert_allclose(run(node(op, "x", "a"), {"x": x}, axes)[0], want, rtol=1e-15 if dtype == np.float64 else 0)
    want = x.astype(np.float64).mean((0, 2), keepdims=True)
    np.testing.assert_allclose(
        run(node("ReduceMean", "x", "a"), {"x": x}, axes)[0], want if dtype == np.float64 else np.trunc(want), rtol=1e-12
    )


def test_nan_in_extremes_and_long_sums(run: Run) -> None:
    x = values(3, 50)
    x[1, 7] = np.nan
    for op, f in (("ReduceMax", np.max), ("ReduceMin", np.min)):
        for axis in (0, 1):
            (got,) = run(node(op, "x", "a", keepdims=0), {"x": x}, {"a": np.array([axis], np.int64)})
            np.testing.assert_array_equal(got, f(x, axis))
    long = np.full((1, 1 << 20), 0.1, F)
    exact = float(F(0.1)) * (1 << 20)
    for data, axis in ((long, 1), (long.reshape(-1, 1).repeat(2, 1), 0)):
        (got,) = run(node("ReduceSum", "x", "a"), {"x": data}, {"a": np.array([axis], np.int64)})
        np.testing.assert_allclose(got.ravel()[0], exact, rtol=3e-6)


def test_arg_extremes(run: Run) -> None:
    x = np.array([[2, np.nan, 7, 4, 1], [3, 3, 1, 1, 3], [np.nan] * 5], F)
    np.testing.assert_array_equal(run(node("ArgMax", axis=1, keepdims=0), {"x": x})[0], [1, 0, 0])
    np.testing.assert_array_equal(run(node("ArgMin", axis=1, keepdims=0), {"x": x})[0], [1, 2, 0])
    np.testing.assert_array_equal(run(node("ArgMax", axis=1, keepdims=0, select_last_index=1), {"x": x})[0], [1, 4, 4])
    np.testing.assert_array_equal(run(node("ArgMin", axis=-1, select_last_index=1), {"x": x[1:2]})[0], [[3]])
    i = np.random.default_rng(0).integers(0, 9, (3, 4, 5)).astype(np.uint8)
    np.testing.assert_array_equal(run(node("ArgMax", axis=1, keepdims=0), {"x": i})[0], i.argmax(1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64], ids=lambda t: np.dtype(t).name)
def test_running_sums(dtype: Any, run: Run) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (3, 4, 5)).astype(dtype)
    for axis, exclusive, reverse in itertools.product((0, 1, -1), (0, 1), (0, 1)):
        for op, f, identity in (("CumSum", np.cumsum, 0), ("CumProd", np.cumprod, 1)):
            moved = np.moveaxis(x, axis, 0)[:: -1 if reverse else 1]
            want = f(moved, axis=0, dtype=dtype)
            if exclusive:
                want = np.concatenate([np.full_like(want[:1], identity), want[:-1]])
            want = np.moveaxis(want[:: -1 if reverse else 1], 0, axis)
            n = node(op, "x", "a", exclusive=exclusive, reverse=reverse)
            np.testing.assert_array_equal(run(n, {"x": x}, {"a": np.array(axis, np.int64)})[0], want)
