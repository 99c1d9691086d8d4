import numpy as np
import pytest

from sardonyx.ep.shapes import (
    broadcast_shape,
    even_split,
    normalize_axes,
    normalize_axis,
    pad_widths,
    reduction_axes,
    reshape_shape,
    split_sizes,
)
from sardonyx.errors import NodeError


def test_axes():
    assert normalize_axis(-1, 3) == 2
    assert normalize_axes([-1, 0], 3) == (2, 0)
    with pytest.raises(NodeError, match=r"axis 3 is outside \[-3, 2\]"):
        normalize_axis(3, 3)
    with pytest.raises(NodeError, match="twice"):
        normalize_axes([1, -2], 3)


def test_reduction_axes():
    assert reduction_axes(None, 2) is None
    assert reduction_axes(np.zeros(0, np.int64), 2) is None
    assert reduction_axes([], 2, 1) == ()
    assert reduction_axes(np.array([-1]), 2) == (1,)
    assert reduction_axes([-1], 0) is None


def test_broadcast_shape():
    assert broadcast_shape((3, 1), (1, 4), (4,)) == (3, 4)
    assert broadcast_shape((), (0, 1)) == (0, 1)
    assert broadcast_shape((0,), (1,)) == (0,)
    with pytest.raises(NodeError, match="2 against 3"):
        broadcast_shape((2,), (3,))


@pytest.mark.parametrize(
    ("shape", "target", "allowzero", "expected"),
    [
        ((2, 3, 4), [4, -1], 0, (4, 6)),
        ((2, 3, 4), [0, 0, -1], 0, (2, 3, 4)),
        ((2, 3, 4), [0, -1, 2], 0, (2, 6, 2)),
        ((1,), [], 0, ()),
        ((0, 3, 4), [0, -1], 0, (0, 12)),
        ((0, 3, 4), [-1, 3], 0, (0, 3)),
        ((0, 3, 4), [3, 4, 0], 1, (3, 4, 0)),
    ],
)
def test_reshape_shape(shape, target, allowzero, expected):
    assert reshape_shape(shape, target, allowzero) == expected


@pytest.mark.parametrize(
    ("shape", "target", "allowzero"),
    [
        ((6,), [-1, -1], 0),
        ((6,), [-2, 3], 0),
        ((6,), [4, -1], 0),
        ((6,), [4], 0),
        ((6,), [6, 0], 0),
        ((0, 3), [0, -1], 1),
        ((0, 3), [-1, 0, 0], 0),
        ((6,), [0], 1),
    ],
)
def test_reshape_shape_refuses(shape, target, allowzero):
    with pytest.raises(NodeError):
        reshape_shape(shape, target, allowzero)


def test_split_sizes():
    assert even_split(7, 4) == [2, 2, 2, 1]
    assert even_split(5, 4) == [2, 2, 1, 0]
    assert even_split(6, 3, exact=True) == [2, 2, 2]
    assert split_sizes(3, [1, 0, 2]) == [1, 0, 2]
    for call in (lambda: even_split(7, 2, exact=True), lambda: even_split(7, 0), lambda: split_sizes(3, [1, 1])):
        with pytest.raises(NodeError):
            call()
    with pytest.raises(NodeError):
        split_sizes(3, [4, -1])


def test_pad_widths():
    assert pad_widths([1, 2, 3, 4], 2) == [(1, 3), (2, 4)]
    assert pad_widths([1, 2], 3, [-2]) == [(0, 0), (1, 2), (0, 0)]
    with pytest.raises(NodeError):
        pad_widths([1, 2, 3], 2)
