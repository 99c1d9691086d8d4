"""Slice at the limits of its integers, backwards, and over empty ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

X = np.arange(5, dtype=np.float32)
GRID = np.arange(20, dtype=np.float32).reshape(4, 5)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("start", "end", "step", "want"),
    [
        (-1, "max", -1, []),
        (-1, "min", -1, [4, 3, 2, 1, 0]),
        ("max", "min", -1, [4, 3, 2, 1, 0]),
        ("max", "min", -2, [4, 2, 0]),
        ("min", "max", 1, [0, 1, 2, 3, 4]),
        ("min", "max", 3, [0, 3]),
        ("max", "max", 1, []),
        ("min", "min", -1, [0]),
        (0, "max", "max", [0]),
        (-1, "min", "min", [4]),
        (0, 5, -1, []),
        (5, 0, -1, [4, 3, 2, 1]),
        (4, -6, -1, [4, 3, 2, 1, 0]),
        (-100, 100, 2, [0, 2, 4]),
        (3, 2, 1, []),
        (-2, -1, 1, [3]),
    ],
)
def test_slice_limits(run_op: Any, index: Any, start: Any, end: Any, step: Any, want: list[float]) -> None:
    """Out-of-range starts and ends clamp: backwards, starts to [0, n - 1] and ends to [-1, n - 1]."""
    limits = {"max": np.iinfo(index).max, "min": np.iinfo(index).min}
    starts, ends, steps = (np.array([limits.get(v, v)], index) for v in (start, end, step))
    y = run_op("Slice", X, starts, ends, np.array([0], index), steps)
    assert y.tolist() == want


def test_slice_negative_axes_and_order(run_op: Any) -> None:
    """Axes may be negative and in any order."""
    y = run_op("Slice", GRID, np.array([3, 0]), np.array([0, 2]), np.array([-1, 0]), np.array([-2, 1]))
    np.testing.assert_array_equal(y, GRID[0:2, 3:0:-2])


def test_slice_default_axes(run_op: Any) -> None:
    """Without axes, starts and ends are those of the first axes."""
    np.testing.assert_array_equal(run_op("Slice", GRID, np.array([1]), np.array([3])), GRID[1:3])


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.bool_, np.float16, np.float64, np.complex64, object])
def test_slice_dtypes(run_op: Any, dtype: Any) -> None:
    """Slice takes every element type."""
    x = np.array(["a", "b", "c"], object) if dtype is object else np.array([0, 1, 1]).astype(dtype)
    y = run_op("Slice", x, np.array([2]), np.array([-10]), np.array([0]), np.array([-1]))
    assert y.dtype == x.dtype
    assert y.tolist() == x[::-1].tolist()


@pytest.mark.parametrize(("starts", "ends", "want"), [([-1], [2**63 - 1], [4]), ([0], [-1], [0, 1, 2, 3]), ([-(2**63)], [2], [0, 1])])
def test_slice_1_attributes(run_op: Any, starts: list[int], ends: list[int], want: list[float]) -> None:
    """The first version, with attributes, clamps in the same way."""
    assert run_op("Slice", X, opset=9, starts=starts, ends=ends, axes=[0]).tolist() == want


def test_slice_rejects(run_op: Any) -> None:
    """A step of zero, an axis out of range and an axis named twice are errors."""
    one = np.array([1])
    run_op.fails("Slice", X, one, one, np.array([0]), np.array([0]))
    run_op.fails("Slice", X, one, one, np.array([1]))
    run_op.fails("Slice", GRID, np.array([0, 0]), np.array([1, 1]), np.array([0, 0]))
