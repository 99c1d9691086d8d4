"""Reductions: over no axes, over empty ones, of scalars; empty tensors elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

X = np.array([[1, -2, 3, 0.5, 2], [4, 5, -6, 1, 1], [0.25, 2, 2, -1, 3]], np.float32)
EMPTY = np.zeros((0,), np.int64)
PLAIN = ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceLogSumExp"]
ELEMENTWISE: dict[str, Any] = {
    "ReduceSumSquare": np.square,
    "ReduceL1": np.abs,
    "ReduceL2": np.abs,
    "ReduceLogSum": np.log,
}
ALL = [*PLAIN, *ELEMENTWISE]


@pytest.mark.parametrize("axes", [None, EMPTY], ids=["omitted", "empty"])
@pytest.mark.parametrize("op", PLAIN)
def test_noop(run_op: Any, op: str, axes: Any) -> None:
    """With noop_with_empty_axes=1 no axes mean no reduction."""
    y = run_op(op, X, *([axes] if axes is not None else []), noop_with_empty_axes=1)
    np.testing.assert_allclose(y, X, rtol=1e-6)


@pytest.mark.parametrize("axes", [None, EMPTY], ids=["omitted", "empty"])
@pytest.mark.parametrize("op", ELEMENTWISE)
def test_noop_of_composites(run_op: Any, op: str, axes: Any) -> None:
    """What is done to each element is still done: squares, absolute values, logarithms."""
    x = np.abs(X) if op == "ReduceLogSum" else X
    y = run_op(op, x, *([axes] if axes is not None else []), noop_with_empty_axes=1)
    np.testing.assert_allclose(y, ELEMENTWISE[op](x), rtol=1e-6)


@pytest.mark.parametrize("axes", [None, EMPTY], ids=["omitted", "empty"])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceL2"])
def test_no_axes_reduce_all(run_op: Any, op: str, keepdims: int, axes: Any) -> None:
    """Without noop_with_empty_axes no axes mean all."""
    want = {"ReduceSum": X.sum(), "ReduceMax": X.max(), "ReduceL2": np.sqrt((X.astype(np.float64) ** 2).sum())}[op]
    y = run_op(op, X, *([axes] if axes is not None else []), keepdims=keepdims)
    assert y.shape == ((1, 1) if keepdims else ())
    np.testing.assert_allclose(y.reshape(()), want, rtol=1e-6)


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("op", ALL)
def test_scalar(run_op: Any, op: str, keepdims: int) -> None:
    """A scalar reduces to a scalar."""
    y = run_op(op, np.array(3, np.float32), keepdims=keepdims)
    assert y.shape == ()
    np.testing.assert_allclose(y, {"ReduceSumSquare": 9, "ReduceLogSum": np.log(3)}.get(op, 3), rtol=1e-6)


@pytest.mark.parametrize(
    ("op", "want"),
    [
        ("ReduceSum", 0),
        ("ReduceProd", 1),
        ("ReduceSumSquare", 0),
        ("ReduceL1", 0),
        ("ReduceL2", 0),
        ("ReduceLogSum", -np.inf),
        ("ReduceLogSumExp", -np.inf),
        ("ReduceMax", -np.inf),
        ("ReduceMin", np.inf),
    ],
)
def test_empty_set(run_op: Any, op: str, want: float) -> None:
    """The neutral element for a reduction over nothing."""
    y = run_op(op, np.zeros((2, 0, 3), np.float32), np.array([1]), keepdims=0)
    assert y.shape == (2, 3)
    assert (y == want).all()


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_empty_set_of_integers(run_op: Any, op: str, dtype: Any) -> None:
    """The end of the type's range."""
    limits = np.iinfo(dtype)
    y = run_op(op, np.zeros((2, 0), dtype), np.array([1]), keepdims=0)
    assert y.tolist() == [limits.min if op == "ReduceMax" else limits.max] * 2


@pytest.mark.parametrize("op", ALL)
def test_negative_axes(run_op: Any, op: str) -> None:
    """-1 is the last axis, also as an attribute; one out of range is an error."""
    x = np.abs(X)
    np.testing.assert_array_equal(run_op(op, x, np.array([-1])), run_op(op, x, np.array([1])))
    np.testing.assert_array_equal(run_op(op, x, opset=11, axes=[-2], keepdims=0), run_op(op, x, np.array([0]), keepdims=0))
    run_op.fails(op, x, np.array([2]))


def test_log_sum_exp_large(run_op: Any) -> None:
    """No overflow."""
    y = run_op("ReduceLogSumExp", np.array([[1000, 1000], [-1000, -1000]], np.float32), np.array([1]), keepdims=0)
    np.testing.assert_allclose(y, [1000 + np.log(2), -1000 + np.log(2)], rtol=1e-6)


def test_sums_of_integers(run_op: Any) -> None:
    """int32 sums stay int32, and float16 sums do not saturate on the way."""
    assert run_op("ReduceSum", np.full((10,), 2**20, np.int32), np.array([0]), keepdims=0).dtype == np.int32
    y = run_op("ReduceMean", np.full((1, 4096), 100, np.float16), np.array([1]), keepdims=0)
    assert y.tolist() == [100]


def test_nan_of_max(run_op: Any) -> None:
    """NaN is the largest and the smallest."""
    x = np.array([[1, np.nan], [2, 3]], np.float32)
    for op in ("ReduceMax", "ReduceMin"):
        assert np.isnan(run_op(op, x, np.array([1]), keepdims=0)).tolist() == [True, False]


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_cumsum(run_op: Any, exclusive: int, reverse: int) -> None:
    """Exclusive sums leave the element itself out; reverse ones come from the end."""
    want = {(0, 0): [1, 3, 6], (1, 0): [0, 1, 3], (0, 1): [6, 5, 3], (1, 1): [5, 3, 0]}[exclusive, reverse]
    y = run_op("CumSum", np.array([1, 2, 3], np.float32), np.array(-1), exclusive=exclusive, reverse=reverse)
    assert y.tolist() == want


@pytest.mark.parametrize(
    ("op", "rest", "attrs", "shape"),
    [
        ("MatMul", (np.zeros((0, 3), np.float32),), {}, (2, 3)),
        ("Concat", (np.ones((2, 3), np.float32),), {"axis": 1}, (2, 3)),
        ("Transpose", (), {"perm": [1, 0]}, (0, 2)),
        ("Softmax", (), {"axis": 1}, (2, 0)),
        ("Relu", (), {}, (2, 0)),
        ("Add", (np.ones((2, 1), np.float32),), {}, (2, 0)),
        ("Reshape", (np.array([0, 3, 0]),), {"allowzero": 1}, None),
        ("Tile", (np.array([2, 5]),), {}, (4, 0)),
        ("Expand", (np.array([3, 2, 0]),), {}, (3, 2, 0)),
    ],
)
def test_empty_tensors(run_op: Any, op: str, rest: tuple[Any, ...], attrs: dict[str, Any], shape: tuple[int, ...] | None) -> None:
    """No elements in, the right shape out."""
    x = np.zeros((2, 0), np.float32)
    if shape is None:
        assert run_op(op, x, *rest, **attrs).shape == (0, 3, 0)
        return
    y = run_op(op, x, *rest, **attrs)
    assert y.shape == shape
    if op == "MatMul":
        assert not y.any()


@pytest.mark.parametrize(
    ("op", "x", "want"),
    [
        ("ReduceLogSum", [0, 0], 0),
        ("ReduceLogSum", [-3, -4], 0),
        ("ReduceL2", [2**31 - 1, 2**31 - 1], 3037000498 - 2**32),
    ],
)
def test_integers_that_have_no_such_number(run_op: Any, op: str, x: list[int], want: int) -> None:
    """What int32 cannot hold becomes what Cast makes of it."""
    assert run_op(op, np.array(x, np.int32), np.array([0]), opset=18, keepdims=0).tolist() == want
