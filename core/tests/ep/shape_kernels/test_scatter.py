import ml_dtypes
import numpy as np
import pytest

from sardonyx.ep.shape_kernels import scatter as s
from sardonyx.errors import NodeError

COMBINE = {"none": lambda old, new: new, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("reduction", COMBINE)
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float16, ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scatter_elements(reduction, dtype, axis):
    rng = np.random.default_rng(1)
    data = rng.integers(-4, 4, (3, 4, 5)).astype(dtype)
    shape = [2, 3, 4]
    shape[axis] = 3 if reduction == "none" else 7
    size = data.shape[axis]
    indices = rng.integers(-size, size, shape)
    if reduction == "none":
        indices = np.broadcast_to(np.array([1, -1, 0]).reshape([3 if i == axis % 3 else 1 for i in range(3)]), shape)
    updates = rng.integers(-2, 3, shape).astype(dtype)
    expected = data.copy()
    for place in np.ndindex(*shape):
        target = list(place)
        target[axis] = indices[place]
        expected[tuple(target)] = COMBINE[reduction](expected[tuple(target)], updates[place])
    before = data.copy()
    got = s.scatter_elements_16(np, data, indices, updates, axis=axis, reduction=reduction)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.astype(np.float64), expected.astype(np.float64))
    np.testing.assert_array_equal(data, before)


def test_scatter_nd_of_slices():
    data = np.array([[[0, 1], [2, 3]], [[4, 5], [6, 7]]], np.float32)
    got = s.scatter_nd_11(np, data, np.array([[0, 0]]), np.array([[100, 101]], np.float32))
    assert got.tolist() == [[[100, 101], [2, 3]], [[4, 5], [6, 7]]]
    got = s.scatter_nd_16(np, data, np.array([[-1], [-1]]), np.ones((2, 2, 2), np.float32), reduction="add")
    assert got.tolist() == [[[0, 1], [2, 3]], [[6, 7], [8, 9]]]


def test_scatter_nd_of_one_element_takes_a_scalar():
    data = np.array([1, 2, 3], np.float32)
    assert s.scatter_nd_11(np, data, np.array([1]), np.array(5, np.float32)).tolist() == [1, 5, 3]
    with pytest.raises(NodeError, match=r"updates must have shape \(\)"):
        s.scatter_nd_11(np, data, np.array([1]), np.array([5], np.float32))


def test_strings():
    data = np.array(["a", "b"], object)
    assert s.scatter_elements_11(np, data, np.array([-1]), np.array(["z"], object)).tolist() == ["a", "z"]
    assert s.scatter_nd_11(np, data, np.array([[0]]), np.array(["z"], object)).tolist() == ["z", "b"]


def test_half_precision_sums_are_rounded_once():
    updates = np.full(4096, 1, np.float16)
    got = s.scatter_elements_16(np, np.zeros(1, np.float16), np.zeros(4096, np.int64), updates, reduction="add")
    assert got.tolist() == [4096]


def test_errors():
    data = np.zeros((2, 3), np.float32)
    one = np.ones((1, 1), np.float32)
    with pytest.raises(NodeError, match="index 3 is out of range for axis 1 of size 3"):
        s.scatter_elements_11(np, data, np.array([[3]]), one, axis=1)
    with pytest.raises(NodeError, match="index -3 is out of range for axis 0 of size 2"):
        s.scatter_nd_11(np, data, np.array([[-3, 0]]), np.ones(1, np.float32))
    with pytest.raises(NodeError, match="updates"):
        s.scatter_elements_11(np, data, np.array([[0]]), np.ones((1, 2), np.float32))
    with pytest.raises(NodeError, match="reduction"):
        s.scatter_elements_16(np, data, np.array([[0]]), one, reduction="mean")
