"""Pooling: what counts in a window, and which windows there are with ceil_mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

GRID = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)
LINE = np.array([2.0903, 4.6493, 1.6320, -3.2051, 4.6975, 4.7296, 3.3653, -1.5815, -2.3832], np.float32).reshape(1, 1, 9)


@pytest.mark.parametrize("opset", [10, 11, 18, 19, 22])
def test_average_pool_last_window(run_op: Any, opset: int) -> None:
    """Padding counts, but what ceil_mode adds beyond it does not: the last window has 6 elements."""
    y = run_op("AveragePool", LINE, opset=opset, kernel_shape=[7], strides=[3], pads=[3, 3], ceil_mode=1, count_include_pad=1)
    np.testing.assert_allclose(y.reshape(-1), [0.7381, 2.5656, 0.8032, -0.0999], atol=5e-5)


@pytest.mark.parametrize("include", [0, 1])
def test_average_pool_ceil(run_op: Any, include: int) -> None:
    """Without padding, windows that reach over the edge average what is there."""
    y = run_op("AveragePool", GRID, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, count_include_pad=include)
    np.testing.assert_allclose(y[0, 0], [[6, 7.5], [12, 13.5]], rtol=1e-6)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_no_window_starts_in_the_right_padding(run_op: Any, op: str) -> None:
    """A window that would start behind the input does not exist: no NaN and no -FLT_MAX row."""
    x = np.array([[[[1, 2], [3, 4]]]], np.float32)
    assert run_op(op, x, kernel_shape=[1, 1], strides=[2, 2], ceil_mode=1).tolist() == [[[[1]]]]
    y = run_op(op, np.ones((1, 1, 5), np.float32), kernel_shape=[2], strides=[3], pads=[0, 2], ceil_mode=1)
    assert y.shape == (1, 1, 2)
    assert np.isfinite(y).all()


@pytest.mark.parametrize("opset", [8, 11, 12, 22])
def test_max_pool_indices(run_op: Any, opset: int) -> None:
    """Indices count over the whole tensor, padding aside, in row or column order."""
    x = np.array([[[[1, 9], [5, 3]]], [[[7, 2], [2, 7]]]], np.float32)
    y, indices = run_op("MaxPool", x, outputs=2, opset=opset, kernel_shape=[2, 2], pads=[1, 1, 0, 0], strides=[1, 1])
    assert y[0, 0].tolist() == [[1, 9], [5, 9]]
    assert indices.dtype == np.int64
    assert indices[0, 0].tolist() == [[0, 1], [2, 1]]
    assert indices[1, 0].tolist() == [[4, 4], [4, 4]]
    _, columns = run_op("MaxPool", x, outputs=2, opset=opset, kernel_shape=[2, 2], pads=[1, 1, 0, 0], strides=[1, 1], storage_order=1)
    assert columns[0, 0].tolist() == [[0, 2], [1, 2]]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_max_pool_integers(run_op: Any, dtype: Any) -> None:
    """Padding never wins, also among the smallest values of an integer type."""
    low = np.iinfo(dtype).min
    y = run_op("MaxPool", np.full((1, 1, 3), low, dtype), kernel_shape=[3], pads=[1, 1])
    assert y.dtype == dtype
    assert y.reshape(-1).tolist() == [low] * 3


def test_max_pool_negative_values_and_nan(run_op: Any) -> None:
    """Padding is smaller than every value."""
    y = run_op("MaxPool", np.array([[[-5, -3, -4]]], np.float32), kernel_shape=[3], pads=[1, 1])
    assert y.reshape(-1).tolist() == [-3, -3, -3]


@pytest.mark.parametrize(("auto_pad", "want"), [("SAME_UPPER", [3, 5, 7, 4]), ("SAME_LOWER", [1, 3, 5, 7])])
def test_average_pool_same(run_op: Any, auto_pad: str, want: list[float]) -> None:
    """The odd element of padding goes to the end (UPPER) or to the beginning (LOWER)."""
    x = np.array([[[1, 2, 3, 4]]], np.float32)
    y = run_op("AveragePool", x, kernel_shape=[2], auto_pad=auto_pad, count_include_pad=1)
    np.testing.assert_allclose(y.reshape(-1) * 2, want)


def test_average_pool_dilations(run_op: Any) -> None:
    """Since opset 19 windows may be dilated."""
    y = run_op("AveragePool", np.arange(6, dtype=np.float32).reshape(1, 1, 6), kernel_shape=[3], dilations=[2])
    assert y.reshape(-1).tolist() == [2, 3]


def test_lp_pool(run_op: Any) -> None:
    """The p-norm of each window; p = 1 sums absolute values."""
    x = np.array([[[3, -4, 0, 1]]], np.float32)
    np.testing.assert_allclose(run_op("LpPool", x, kernel_shape=[2]).reshape(-1), [5, 4, 1])
    np.testing.assert_allclose(run_op("LpPool", x, kernel_shape=[2], p=1).reshape(-1), [7, 4, 1])


@pytest.mark.parametrize(("op", "want"), [("GlobalAveragePool", 8.5), ("GlobalMaxPool", 16), ("GlobalLpPool", np.sqrt(1496))])
def test_global_pools(run_op: Any, op: str, want: float) -> None:
    """One value per plane, of any rank."""
    np.testing.assert_allclose(run_op(op, GRID), np.full((1, 1, 1, 1), want), rtol=1e-6)
    np.testing.assert_allclose(run_op(op, GRID.reshape(1, 1, 16)), np.full((1, 1, 1), want), rtol=1e-6)


def test_pool_over_nothing(run_op: Any) -> None:
    """A kernel longer than the padded input has no place: an error that says so."""
    run_op.fails("MaxPool", np.ones((1, 1, 2), np.float32), kernel_shape=[5])
    run_op.fails("AveragePool", np.ones((1, 1, 2), np.float32), kernel_shape=[5])


@pytest.mark.parametrize("shape", [(2, 3, 0, 4), (1, 17, 4, 0), (1, 2, 0)])
def test_global_average_of_nothing(run_op: Any, shape: tuple[int, ...]) -> None:
    """The mean of no elements is NaN."""
    y = run_op("GlobalAveragePool", np.ones(shape, np.float32))
    assert y.shape == (*shape[:2], *(1,) * (len(shape) - 2))
    assert np.isnan(y).all()


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool"])
@pytest.mark.parametrize("shape", [(0, 3, 2, 2), (2, 0, 2, 2), (0, 0, 0, 0)])
def test_global_pool_without_outputs(run_op: Any, op: str, shape: tuple[int, ...]) -> None:
    """No batch or no channels: nothing is averaged, whatever the pixels are."""
    assert run_op(op, np.ones(shape, np.float32)).shape == (*shape[:2], 1, 1)
