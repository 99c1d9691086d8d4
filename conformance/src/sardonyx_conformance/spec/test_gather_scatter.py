"""Gathering and scattering: negative indices count from the end, indices out of range are errors, ranks must fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

X = np.arange(12, dtype=np.float32).reshape(3, 4)
CUBE = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
INDEX = pytest.mark.parametrize("index", [np.int32, np.int64])
OUTSIDE = pytest.mark.parametrize("bad", [3, -4, 2**31 - 1, -(2**31)])


@INDEX
def test_gather_negative(run_op: Any, index: Any) -> None:
    """-1 is the last row; a rank-0 index drops the axis."""
    np.testing.assert_array_equal(run_op("Gather", X, np.array([-1, 0, -3], index)), X[[2, 0, 0]])
    np.testing.assert_array_equal(run_op("Gather", X, np.array(-1, index), axis=-1), X[:, 3])


def test_gather_strings(run_op: Any) -> None:
    """Strings are gathered like numbers."""
    assert run_op("Gather", np.array(["a", "b", "é"], object), np.array([-1, 1])).tolist() == ["é", "b"]


@OUTSIDE
def test_gather_out_of_range(run_op: Any, bad: int) -> None:
    """An index beyond the axis is an error."""
    run_op.fails("Gather", X, np.array([0, bad]))


def test_gather_empty(run_op: Any) -> None:
    """No indices give an empty result; an empty axis has no valid index."""
    assert run_op("Gather", X, np.zeros((0, 2), np.int64)).shape == (0, 2, 4)
    run_op.fails("Gather", np.zeros((0, 4), np.float32), np.array([0]))


@INDEX
def test_gather_elements_negative(run_op: Any, index: Any) -> None:
    """-1 is the last element along the axis."""
    indices = np.array([[-1, 0], [-3, 2]], index)
    np.testing.assert_array_equal(run_op("GatherElements", X, indices, axis=0), [[X[2, 0], X[0, 1]], [X[0, 0], X[2, 1]]])
    np.testing.assert_array_equal(run_op("GatherElements", X, np.array([[-1], [-4], [1]], index), axis=-1), [[3], [4], [9]])


@OUTSIDE
def test_gather_elements_out_of_range(run_op: Any, bad: int) -> None:
    """An index beyond the axis is an error."""
    run_op.fails("GatherElements", X, np.array([[0, bad]]), axis=0)


def test_gather_nd_negative(run_op: Any) -> None:
    """Negative indices, whole rows, and batch dimensions."""
    np.testing.assert_array_equal(run_op("GatherND", X, np.array([[-1, -1], [0, -4]])), [X[2, 3], X[0, 0]])
    np.testing.assert_array_equal(run_op("GatherND", X, np.array([[-1]])), X[[2]])
    np.testing.assert_array_equal(run_op("GatherND", CUBE, np.array([[-1], [0]]), batch_dims=1), [CUBE[0, 1], CUBE[1, 0]])


@OUTSIDE
def test_gather_nd_out_of_range(run_op: Any, bad: int) -> None:
    """An index beyond its axis is an error."""
    run_op.fails("GatherND", X, np.array([[bad, 0]]))


def test_scatter_nd_slices(run_op: Any) -> None:
    """One index vector per row of updates, which replace whole slices."""
    data = np.array([[[0, 1], [2, 3]], [[4, 5], [6, 7]]], np.float32)
    y = run_op("ScatterND", data, np.array([[[0, 0]]]), np.array([[[100, 101]]], np.float32))
    np.testing.assert_array_equal(y, [[[100, 101], [2, 3]], [[4, 5], [6, 7]]])


def test_scatter_nd_negative(run_op: Any) -> None:
    """-1 is the last slice."""
    y = run_op("ScatterND", X, np.array([[-1], [0]]), np.array([[1] * 4, [2] * 4], np.float32))
    np.testing.assert_array_equal(y, [[2] * 4, X[1], [1] * 4])


def test_scatter_nd_rank_0_updates(run_op: Any) -> None:
    """q + r - k - 1 = 0: the updates have rank 0; a shape of (1,) is wrong."""
    data, indices = np.array([1, 2, 3], np.float32), np.array([1])
    assert run_op("ScatterND", data, indices, np.array(5, np.float32)).tolist() == [1, 5, 3]
    run_op.fails("ScatterND", data, indices, np.array([5], np.float32))


@OUTSIDE
def test_scatter_nd_out_of_range(run_op: Any, bad: int) -> None:
    """An index beyond its axis is an error, and nothing is written elsewhere."""
    run_op.fails("ScatterND", X, np.array([[bad]]), np.ones((1, 4), np.float32))


@pytest.mark.parametrize(("reduction", "want"), [("add", 10), ("mul", 24), ("max", 4), ("min", 1)])
def test_scatter_nd_repeated(run_op: Any, reduction: str, want: float) -> None:
    """Updates of one place are all reduced."""
    y = run_op("ScatterND", np.array([1, 1], np.float32), np.array([[-1]] * 3), np.array([2, 3, 4], np.float32), reduction=reduction)
    assert y.tolist() == [1, want]


@pytest.mark.parametrize(("reduction", "want"), [("add", 10), ("mul", 24), ("max", 4), ("min", 1)])
def test_scatter_elements_repeated(run_op: Any, reduction: str, want: float) -> None:
    """Updates of one place are all reduced, negative indices among them."""
    y = run_op("ScatterElements", np.array([1, 1], np.float32), np.array([1, -1, 1]), np.array([2, 3, 4], np.float32), reduction=reduction)
    assert y.tolist() == [1, want]


@pytest.mark.parametrize("op", ["ScatterElements", "Scatter"])
def test_scatter_elements_negative(run_op: Any, op: str) -> None:
    """-1 is the last element along the axis."""
    y = run_op(op, X, np.array([[-1, 0]]), np.array([[1, 2]], np.float32), axis=1, opset=9 if op == "Scatter" else 13)
    np.testing.assert_array_equal(y, np.vstack([[2, 1, 2, 1], X[1:]]))


@OUTSIDE
def test_scatter_elements_out_of_range(run_op: Any, bad: int) -> None:
    """An index beyond the axis is an error."""
    run_op.fails("ScatterElements", X, np.array([[bad]]), np.ones((1, 1), np.float32))


def test_one_hot_negative(run_op: Any) -> None:
    """Indices in [-depth, depth) count, others leave their row off."""
    y = run_op("OneHot", np.array([-1, 0, 3, -3, -4]), np.array(3), np.array([2, 5], np.float32))
    np.testing.assert_array_equal(y, [[2, 2, 5], [5, 2, 2], [2, 2, 2], [5, 2, 2], [2, 2, 2]])
