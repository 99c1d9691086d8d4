"""Pad: reflection and wrapping never read beyond the input, negative pads crop first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

X = np.array([[1.0, 1.2], [2.3, 3.4], [4.5, 5.7]], np.float32)


def pads(*values: int) -> np.ndarray:
    """An int64 pads tensor."""
    return np.array(values, np.int64)


def test_pad_reflect_small(run_op: Any) -> None:
    """Reflection by one of an axis of two."""
    y = run_op("Pad", X, pads(0, 1, 0, 1), mode="reflect")
    want = np.array([[1.2, 1.0, 1.2, 1.0], [3.4, 2.3, 3.4, 2.3], [5.7, 4.5, 5.7, 4.5]], np.float32)
    np.testing.assert_array_equal(y, want)


def test_pad_reflect_whole_axis(run_op: Any) -> None:
    """The widest reflection there is: dim - 1 on each side."""
    x = np.arange(4, dtype=np.float32)
    assert run_op("Pad", x, pads(3, 3), mode="reflect").tolist() == [3, 2, 1, 0, 1, 2, 3, 2, 1, 0]


@pytest.mark.parametrize("given", [(0, 2, 0, 0), (0, 0, 0, 2), (3, 0, 0, 0)])
def test_pad_reflect_too_wide(run_op: Any, given: tuple[int, ...]) -> None:
    """A reflection by the axis's length or more has nothing to read: an error, not memory beyond the input."""
    run_op.fails("Pad", X, pads(*given), mode="reflect")


@pytest.mark.parametrize("n", [3, 8, 17])
def test_pad_reflect_after_crop(run_op: Any, n: int) -> None:
    """Cropping to one element and reflecting n - 1 of it: nothing to reflect."""
    run_op.fails("Pad", np.arange(n, dtype=np.float32), pads(-(n - 1), n - 1), mode="reflect")


@pytest.mark.parametrize("mode", ["reflect", "wrap"])
def test_pad_empty_axis(run_op: Any, mode: str) -> None:
    """An empty axis has nothing to reflect or to repeat."""
    run_op.fails("Pad", np.zeros((2, 0), np.float32), pads(0, 1, 0, 1), mode=mode)


@pytest.mark.parametrize(
    ("mode", "given", "want"),
    [
        ("constant", (-1, 2), [1, 2, 3, 9, 9]),
        ("constant", (2, -3), [9, 9, 0]),
        ("constant", (-2, -2), []),
        ("edge", (2, -1), [0, 0, 0, 1, 2]),
        ("edge", (-1, 2), [1, 2, 3, 3, 3]),
        ("wrap", (3, 2), [1, 2, 3, 0, 1, 2, 3, 0, 1]),
        ("wrap", (5, 0), [3, 0, 1, 2, 3, 0, 1, 2, 3]),
    ],
)
def test_pad_modes(run_op: Any, mode: str, given: tuple[int, ...], want: list[int]) -> None:
    """Negative pads crop; wrap repeats the axis as often as needed."""
    x = np.arange(4, dtype=np.int32)
    assert run_op("Pad", x, pads(*given), *([np.array(9, np.int32)] if mode == "constant" else []), mode=mode).tolist() == want


def test_pad_axes(run_op: Any) -> None:
    """With axes, only those are padded; they may be negative."""
    y = run_op("Pad", X, pads(1, 0), None, np.array([-1]))
    np.testing.assert_array_equal(y, np.pad(X, ((0, 0), (1, 0))))


@pytest.mark.parametrize("opset", [1, 2])
def test_pad_old_forms(run_op: Any, opset: int) -> None:
    """Attributes: `paddings` in version 1, `pads` in version 2; both begin with all the starts."""
    name = "paddings" if opset == 1 else "pads"
    y = run_op("Pad", X, opset=opset, value=7.0, **{name: [0, 1, 1, 0]})
    np.testing.assert_array_equal(y, np.pad(X, ((0, 1), (1, 0)), constant_values=7))


def test_pad_string_free_dtypes(run_op: Any) -> None:
    """Without a value, numbers are padded with 0 and booleans with False."""
    assert run_op("Pad", np.array([True]), pads(1, 1)).tolist() == [False, True, False]
    assert run_op("Pad", np.array([5], np.uint8), pads(1, 0)).tolist() == [0, 5]
