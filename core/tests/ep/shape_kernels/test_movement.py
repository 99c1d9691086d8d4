import ml_dtypes
import numpy as np
import pytest

from sardonyx.ep.shape_kernels import movement as m
from sardonyx.ep.shapes import reduction_axes
from sardonyx.errors import NodeError

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
INT32, INT64 = np.iinfo(np.int32), np.iinfo(np.int64)


def i64(*values):
    return np.array(values, np.int64)


@pytest.mark.parametrize("limits", [INT32, INT64], ids=["int32", "int64"])
def test_slice_with_the_limits_of_integers(limits):
    x = np.arange(5)
    assert m.slice_10(np, x, i64(-1), i64(limits.max), i64(0), i64(-1)).size == 0
    assert m.slice_10(np, x, i64(-1), i64(limits.min), i64(0), i64(-1)).tolist() == [4, 3, 2, 1, 0]
    assert m.slice_10(np, x, i64(limits.min), i64(limits.max)).tolist() == [0, 1, 2, 3, 4]
    assert m.slice_10(np, x, i64(limits.max), i64(limits.min), i64(0), i64(-2)).tolist() == [4, 2, 0]
    # A backward start is clamped to the first element, where Python's would lie before it.
    assert m.slice_10(np, x, i64(-9), i64(limits.min), i64(0), i64(-1)).tolist() == [0]


def test_slice_backward_to_the_end_is_empty():
    assert m.slice_10(np, np.arange(5), i64(0), i64(5), i64(0), i64(-1)).size == 0


def test_slice_forms():
    np.testing.assert_array_equal(m.slice_1(np, X, starts=[1, -2], ends=[9, 9], axes=[1, 2]), X[:, 1:, -2:])
    np.testing.assert_array_equal(m.slice_10(np, X, i64(0, 1), i64(-1, 1000)), X[0:-1, 1:])
    text = np.array("a", object)
    assert m.slice_10(np, text, i64(), i64()) is text
    with pytest.raises(NodeError, match="step"):
        m.slice_10(np, X, i64(0), i64(1), i64(0), i64(0))


def test_reshape():
    assert m.reshape_1(np, X, shape=[0, -1]).shape == (2, 12)
    assert m.reshape_5(np, X, i64(0, 4, -1)).shape == (2, 4, 3)
    assert m.reshape_14(np, X[:0], i64(0, -1)).shape == (0, 12)
    assert m.reshape_14(np, X[:0], i64(3, 0), allowzero=1).shape == (3, 0)
    assert m.reshape_14(np, X[:1, :1, :1], i64()).shape == ()
    with pytest.raises(NodeError, match="-1"):
        m.reshape_14(np, X, i64(-2, 12))
    with pytest.raises(ValueError, match="cannot reshape"):
        m.reshape_14(np, X, i64(5, 5))


@pytest.mark.parametrize(("axis", "shape"), [(0, (1, 24)), (1, (2, 12)), (3, (24, 1)), (-1, (6, 4)), (-3, (1, 24))])
def test_flatten(axis, shape):
    assert m.flatten(np, X, axis=axis).shape == shape


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_lists_of_integers_are_taken_in_any_rank(rank):
    """ONNX wants rank 1; files with one number of rank 0, or a row of rank 2, are about."""
    one = np.full((1,) * rank, 1, np.int64)
    x = np.arange(6, dtype=np.float32)
    assert m.reshape_14(np, x[:1], one).shape == (1,)
    assert m.expand(np, x, one).shape == (6,)
    assert m.tile_6(np, x, one).shape == (6,)
    assert m.unsqueeze_13(np, x, one).shape == (6, 1)
    assert m.slice_10(np, x, one, one + 2).tolist() == [1, 2]
    assert reduction_axes(one, 2) == (1,)


def test_flatten_empty_and_scalar():
    assert m.flatten(np, np.zeros((0, 5, 3)), axis=2).shape == (0, 3)
    assert m.flatten(np, np.float32(3), axis=0).shape == (1, 1)
    with pytest.raises(NodeError):
        m.flatten(np, X, axis=4)


def test_squeeze_and_unsqueeze():
    x = np.zeros((1, 3, 1, 0))
    assert m.squeeze_1(np, x).shape == (3, 0)
    assert m.squeeze_1(np, x, axes=[-2]).shape == (1, 3, 0)
    assert m.squeeze_13(np, x, i64(0, -2)).shape == (3, 0)
    assert m.squeeze_13(np, x, i64()).shape == x.shape
    assert m.unsqueeze_1(np, X, axes=[0, -1]).shape == (1, 2, 3, 4, 1)
    assert m.unsqueeze_13(np, X, i64(4, 1)).shape == (2, 1, 3, 4, 1)
    assert m.unsqueeze_13(np, X, np.array(1)).shape == (2, 1, 3, 4)
    for axes in (1, 4):
        with pytest.raises(NodeError, match="axis"):
            m.squeeze_13(np, x, i64(axes))
    for call in (lambda: m.unsqueeze_13(np, X, i64(1, -4)), lambda: m.unsqueeze_13(np, X, i64(4))):
        with pytest.raises(NodeError):
            call()


@pytest.mark.parametrize("repeat", [2, 3000])
def test_expand_both_ways(repeat):
    x = np.array([[1], [2]], ml_dtypes.bfloat16)
    got = m.expand(np, x, i64(3, 1, repeat))
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, np.broadcast_to(x, (3, 2, repeat)))
    assert m.expand(np, x, i64(1)) is x
    assert m.expand(np, x, i64(0, 1, 1)).shape == (0, 2, 1)
    assert m.expand(np, x.T, i64(2)).shape == (1, 2)
    assert m.expand(np, x, i64(4)).tolist() == [[1] * 4, [2] * 4]
    with pytest.raises(NodeError, match="broadcast"):
        m.expand(np, x, i64(3, 1))


def test_tile():
    x = np.array([["a", "b"], ["c", "d"]], object)
    np.testing.assert_array_equal(m.tile_6(np, x, i64(2, 3)), np.tile(x, (2, 3)))
    assert m.tile_6(np, x, i64(0, 2)).shape == (0, 4)
    np.testing.assert_array_equal(m.tile_1(np, X, np.float32(2), np.float32(1)), np.tile(X, (1, 2, 1)))
    with pytest.raises(NodeError):
        m.tile_6(np, x, i64(2))


def test_concat_default_axis_of_opset_1():
    assert m.concat_1(np, X, X).shape == (2, 6, 4)
    assert m.concat_4(np, X, X[:, :, :0], axis=-1).shape == X.shape


def test_split_forms():
    def sizes(parts, axis):
        return [part.shape[axis] for part in parts]

    assert sizes(m.split_1(np, X, split=[1, 3], axis=2, n_outputs=2), 2) == [1, 3]
    assert sizes(m.split_1(np, X, np.float32([2, 1]), axis=1, n_outputs=2), 1) == [2, 1]
    assert sizes(m.split_2(np, X, n_outputs=2), 0) == [1, 1]
    assert sizes(m.split_13(np, X, i64(0, 3), axis=-2, n_outputs=2), 1) == [0, 3]
    assert sizes(m.split_13(np, X, axis=2, n_outputs=4), 2) == [1, 1, 1, 1]
    parts = m.split_18(np, X, axis=1, num_outputs=2, n_outputs=2)
    np.testing.assert_array_equal(parts[0], X[:, :2])
    np.testing.assert_array_equal(parts[1], X[:, 2:])
    for call in (
        lambda: m.split_13(np, X, axis=1, n_outputs=2),
        lambda: m.split_13(np, X, i64(1, 1), axis=1, n_outputs=2),
        lambda: m.split_18(np, X, i64(1, 2), axis=1, num_outputs=2),
    ):
        with pytest.raises(NodeError):
            call()
