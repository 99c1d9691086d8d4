import numpy as np
import pytest

from sardonyx.ep.shape_kernels import gather as g
from sardonyx.errors import NodeError

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("indices", [np.array(-1), np.array([0, -3]), np.array([[2, -1]], np.int32), np.zeros((0, 2), np.int64)])
@pytest.mark.parametrize("data", [X, X.transpose(2, 1, 0), X.astype(str).astype(object)])
def test_gather(data, indices):
    for axis in (1, -2):
        got = g.gather(np, data, indices, axis=axis)
        expected = np.empty((data.shape[0], *indices.shape, data.shape[2]), data.dtype)
        for place in np.ndindex(*indices.shape):
            expected[(slice(None), *place)] = data[:, indices[place]]
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got, expected)


def test_gather_of_one_element_stays_an_array():
    got = g.gather(np, np.array(["a", "b"], object), np.array(1))
    assert (got.shape, got.tolist()) == ((), "b")


@pytest.mark.parametrize("bad", [3, -4, 2**40])
def test_index_out_of_range_names_index_and_dim(bad):
    match = rf"index {bad} is out of range for axis \d of size 3"
    for call in (
        lambda: g.gather(np, X, np.array([0, bad]), axis=1),
        lambda: g.gather(np, X.transpose(0, 1, 2)[::-1], np.array([0, bad]), axis=1),
        lambda: g.gather(np, X, np.array(bad), axis=1),
        lambda: g.gather_elements(np, X, np.full((2, 1, 4), bad), axis=1),
        lambda: g.gather_nd_11(np, X, np.array([[0, bad]])),
        lambda: g.gather_nd_12(np, X, np.full((2, 1), bad), batch_dims=1),
    ):
        with pytest.raises(NodeError, match=match):
            call()


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_gather_elements(axis):
    rng = np.random.default_rng(0)
    shape = [2, 3, 4]
    shape[axis] = 5
    indices = rng.integers(-X.shape[axis], X.shape[axis], shape)
    expected = np.take_along_axis(X, indices % X.shape[axis], axis)
    np.testing.assert_array_equal(g.gather_elements(np, X, indices, axis=axis), expected)
    np.testing.assert_array_equal(g.gather_elements(np, X, indices[:1, :2].astype(np.int32), axis=axis), expected[:1, :2])


def test_gather_elements_shapes():
    assert g.gather_elements(np, X, np.zeros((2, 0, 4), np.int64), axis=1).shape == (2, 0, 4)
    for shape in ((3, 1, 4), (2, 3)):
        with pytest.raises(NodeError):
            g.gather_elements(np, X, np.zeros(shape, np.int64), axis=1)


def test_gather_nd():
    np.testing.assert_array_equal(g.gather_nd_11(np, X, np.array([[0, -1], [-2, 1]])), X[[0, 0], [2, 1]])
    np.testing.assert_array_equal(g.gather_nd_11(np, X, np.array([[[1, 2, -1]]])), X[1, 2, -1].reshape(1, 1))
    np.testing.assert_array_equal(g.gather_nd_12(np, X, np.array([[[2]], [[-3]]]), batch_dims=1), X[[0, 1], [2, 0]][:, None])
    got = g.gather_nd_11(np, X, np.array([1, 2, 3]))
    assert (got.shape, got) == ((), 23)
    for indices, batch in ((np.zeros((3, 1), np.int64), 1), (np.zeros((1, 4), np.int64), 0), (np.zeros((2, 1), np.int64), 2)):
        with pytest.raises(NodeError):
            g.gather_nd_12(np, X, indices, batch_dims=batch)


def test_non_zero():
    assert g.non_zero(np, np.array([[1, 0], [1, 1]])).tolist() == [[0, 1, 1], [0, 0, 1]]
    assert g.non_zero(np, np.array(["", "a"], object)).tolist() == [[1]]
    assert g.non_zero(np, np.array(3.0)).shape == (0, 1)
    assert g.non_zero(np, np.array(False)).shape == (0, 0)
    assert g.non_zero(np, np.zeros((2, 3))).shape == (2, 0)
