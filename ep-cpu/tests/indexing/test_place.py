import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.indexing.place import one_hot_9, one_hot_11, scatter, tensor_scatter

VALUES = np.array([0, 1], np.int8)


def test_one_hot_negative_indices_since_11():
    indices, depth = np.array([[-1, 2], [0, -4]]), np.array([3])
    eye = np.eye(4, 3, dtype=np.int8)
    np.testing.assert_array_equal(one_hot_11(np, indices, depth, VALUES), eye[[[2, 2], [0, 3]]])
    np.testing.assert_array_equal(one_hot_9(np, indices, depth, VALUES), eye[[[3, 2], [0, 3]]])
    np.testing.assert_array_equal(one_hot_11(np, indices, depth, VALUES, axis=0), eye[[[2, 2], [0, 3]]].transpose(2, 0, 1))
    np.testing.assert_array_equal(one_hot_11(np, indices, depth, VALUES, axis=-2), eye[[[2, 2], [0, 3]]].transpose(0, 2, 1))


def test_one_hot_types():
    got = one_hot_11(np, np.array([1.9, 7.0]), np.array(2.0), np.array(["off", "on"], object))
    assert got.tolist() == [["off", "on"], ["off", "off"]]
    assert one_hot_11(np, np.array([2**64 - 1, 1], np.uint64), np.array(2), VALUES).tolist() == [[0, 0], [0, 1]]
    assert one_hot_11(np, np.array(1), np.array(2), VALUES).tolist() == [0, 1]
    assert one_hot_11(np, np.zeros((0, 2), np.int64), np.array(3), VALUES).shape == (0, 2, 3)
    assert one_hot_11(np, np.array([0]), np.array(0), VALUES).shape == (1, 0)
    with pytest.raises(NodeError):
        one_hot_11(np, np.array([0]), np.array(-1), VALUES)


def test_deprecated_scatter():
    assert scatter(np, np.zeros((1, 3)), np.array([[-1, 0]]), np.array([[1.0, 2.0]]), axis=1).tolist() == [[2, 0, 1]]


@pytest.mark.parametrize("axis", [1, -1])
def test_tensor_scatter(axis):
    cache = np.zeros((2, 4, 4), np.float32)
    update = np.arange(1, 17, dtype=np.float32).reshape((2, 2, 4) if axis == 1 else (2, 4, 2))
    moved = np.moveaxis(update, axis, 1)

    def rows(got):
        return np.moveaxis(got, axis, 1)

    got = rows(tensor_scatter(np, cache, update, np.array([2, 0]), axis=axis))
    np.testing.assert_array_equal(got[0], np.vstack([np.zeros((2, 4)), moved[0]]))
    np.testing.assert_array_equal(got[1], np.vstack([moved[1], np.zeros((2, 4))]))
    got = rows(tensor_scatter(np, cache, update, np.array([3, 5]), axis=axis, mode="circular"))
    np.testing.assert_array_equal(got[0], np.vstack([moved[0, 1:], np.zeros((2, 4)), moved[0, :1]]))
    np.testing.assert_array_equal(got[1], np.vstack([np.zeros((1, 4)), moved[1], np.zeros((1, 4))]))
    np.testing.assert_array_equal(rows(tensor_scatter(np, cache, update, axis=axis))[:, :2], moved)
    assert not cache.any()


def test_tensor_scatter_errors():
    cache, update = np.zeros((2, 4, 3)), np.ones((2, 2, 3))
    for arguments in (
        {"write_indices": np.array([3, 0])},
        {"write_indices": np.array([-1, 0])},
        {"write_indices": np.array([0])},
        {"mode": "ring"},
        {"axis": 0},
        {"axis": 2},
    ):
        with pytest.raises(NodeError):
            tensor_scatter(np, cache, update, **arguments)
