"""Reshape of empty tensors, copied dims, and targets that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sardonyx.errors import NodeError

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
EMPTY = np.zeros((0, 3, 4), np.float32)


@pytest.mark.parametrize(
    ("x", "dims", "want"),
    [
        (X, [0, -1], (2, 12)),
        (X, [-1, 0], (8, 3)),
        (X, [0, 0, 2, -1], (2, 3, 2, 2)),
        (EMPTY, [0, -1], (0, 12)),
        (EMPTY, [0, 2, -1], (0, 2, 6)),
        (EMPTY, [0, 0, -1], (0, 3, 4)),
        (EMPTY, [-1, 6], (0, 6)),
        (np.zeros((2, 0), np.float32), [-1, 0], (2, 0)),
    ],
)
def test_copied_and_free_dims(run_op: Any, x: np.ndarray, dims: list[int], want: tuple[int, ...]) -> None:
    """A -1 beside a copied dim is inferred from the dims that are not copied, of an empty batch, too."""
    got = run_op("Reshape", x, np.array(dims, np.int64))
    assert got.shape == want
    np.testing.assert_array_equal(got.reshape(-1), x.reshape(-1))


def test_allowzero(run_op: Any) -> None:
    """With allowzero a 0 stands for itself, and leaves nothing to infer a -1 from."""
    assert run_op("Reshape", EMPTY, np.array([7, 0], np.int64), allowzero=1).shape == (7, 0)
    run_op.fails("Reshape", EMPTY, np.array([0, -1], np.int64), allowzero=1)


@pytest.mark.parametrize("dims", [[5, -1], [-1, -1], [-2, 12], [2, 3, 4, 0], [25]])
def test_targets_that_do_not_fit(run_op: Any, dims: list[int]) -> None:
    """Counts that differ, a second -1, other negative dims, and a 0 with no dim to copy are errors."""
    run_op.fails("Reshape", X, np.array(dims, np.int64))


@pytest.mark.parametrize("perm", [[0, 1, 2**40], [2**32, 1, 2], [0, 1, 2**63 - 1], [0, 1], [0, 0, 1]])
def test_transpose_names_each_axis_once(run_op: Any, perm: list[int]) -> None:
    """Axes are not counted modulo a word's size."""
    with pytest.raises(NodeError, match=r"ax[ei]s|perm"):
        run_op("Transpose", np.ones((2, 3, 4), np.float32), perm=perm)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax", "Concat", "Flatten"])
@pytest.mark.parametrize("axis", [2**40, 2**32, -(2**63), 5])
def test_axes_outside(run_op: Any, op: str, axis: int) -> None:
    """An axis that a tensor does not have."""
    with pytest.raises(NodeError, match=f"axis {axis} is out"):
        run_op(op, np.ones((2, 3), np.float32), axis=axis)
