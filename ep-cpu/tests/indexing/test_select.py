import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels
from sardonyx_ep_cpu.ops.indexing.select import compress, eye_like, reverse_sequence, trilu, unique


def lists(results):
    return [result.tolist() for result in results]


def test_compress():
    x = np.arange(6).reshape(3, 2)
    assert compress(np, x, np.array([False, True]), axis=0).tolist() == [[2, 3]]
    assert compress(np, x, np.array([False, True]), axis=-1).tolist() == [[1], [3], [5]]
    assert compress(np, x, np.array([True, False, False, False, False, True, True])).tolist() == [0, 5]
    with pytest.raises(NodeError, match="rank 1"):
        compress(np, x, np.ones((1, 2), bool))


def test_unique_examples_of_the_specification():
    assert lists(unique(np, np.array([2, 1, 1, 3, 4, 3]), sorted=0)) == [[2, 1, 3, 4], [0, 1, 3, 4], [0, 1, 1, 2, 3, 2], [1, 2, 2, 1]]
    assert lists(unique(np, np.array([[1, 3], [2, 3]]))) == [[1, 2, 3], [0, 2, 1], [0, 2, 1, 2], [1, 1, 2]]
    rows = np.array([[1, 0, 0], [1, 0, 0], [2, 3, 4]])
    assert lists(unique(np, rows, axis=0)) == [[[1, 0, 0], [2, 3, 4]], [0, 2], [0, 0, 1], [2, 1]]
    x = np.array([[[1.0, 1.0], [0.0, 1.0], [2.0, 1.0], [0.0, 1.0]]] * 2)
    assert lists(unique(np, x, axis=1)) == [[[[0, 1], [1, 1], [2, 1]]] * 2, [1, 0, 2], [1, 0, 2, 0], [2, 1, 1]]
    assert lists(unique(np, x, axis=-2, sorted=0)[:3]) == [[[[1, 1], [0, 1], [2, 1]]] * 2, [0, 1, 2], [0, 1, 2, 1]]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16], ids=str)
def test_unique_nan_and_zeros(dtype):
    values, first, inverse, counts = unique(np, np.array([np.nan, 1, np.nan, 0.0, -0.0], dtype))
    assert values.dtype == dtype
    assert lists((first, inverse, counts)) == [[3, 1, 0], [2, 1, 2, 0, 0], [2, 1, 2]]
    assert lists(unique(np, np.array([[np.nan, 1], [np.nan, 1]], dtype), axis=0))[1:] == [[0], [0, 0], [2]]


def test_unique_of_strings_and_empty():
    words = np.array([["b", "a"], ["a", "b"], ["b", "a"]], object)
    assert lists(unique(np, words)) == [["a", "b"], [1, 0], [1, 0, 0, 1, 1, 0], [3, 3]]
    assert lists(unique(np, words, axis=0)) == [[["a", "b"], ["b", "a"]], [1, 0], [1, 0, 1], [1, 2]]
    assert lists(unique(np, np.zeros(0))) == [[], [], [], []]
    assert unique(np, np.zeros((0, 2)), axis=0)[0].shape == (0, 2)
    got = kernels.find("com.microsoft", "Unique", 1).function(np, np.float32([2, 1, 2]))
    assert lists(got) == [[2, 1], [0, 1, 0], [2, 1]]


@pytest.mark.parametrize("k", [-9, -1, 0, 1, 2, 9, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("upper", [0, 1])
def test_trilu(k, upper):
    x = np.arange(1, 25).reshape(2, 3, 4)
    limited = max(-9, min(k, 9))
    expected = np.triu(x, limited) if upper else np.tril(x, limited)
    np.testing.assert_array_equal(trilu(np, x, np.array(k), upper=upper), expected)


def test_trilu_dtypes_and_rank():
    assert trilu(np, np.array([["a", "b"], ["c", "d"]], object)).tolist() == [["a", "b"], ["", "d"]]
    assert trilu(np, np.ones((2, 2), ml_dtypes.bfloat16)).dtype == ml_dtypes.bfloat16
    assert trilu(np, np.ones((0, 2))).shape == (0, 2)
    with pytest.raises(NodeError):
        trilu(np, np.ones(3))


@pytest.mark.parametrize("k", [-4, -1, 0, 2, 7])
def test_eye_like(k):
    got = eye_like(np, np.zeros((3, 4), np.int32), dtype=16, k=k)
    assert got.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(got.astype(float), np.eye(3, 4, k))
    assert eye_like(np, np.zeros((3, 4), np.int32)).dtype == np.int32


def test_reverse_sequence():
    x = np.arange(16).reshape(4, 4).T
    expected = [[3, 6, 9, 12], [2, 5, 8, 13], [1, 4, 10, 14], [0, 7, 11, 15]]
    assert reverse_sequence(np, x, np.array([4, 3, 2, 1])).tolist() == expected
    got = reverse_sequence(np, x.T[..., None], np.array([4, 3, 2, 0]), batch_axis=0, time_axis=1)
    np.testing.assert_array_equal(got[..., 0], np.array([[3, 2, 1, 0], [6, 5, 4, 7], [9, 8, 10, 11], [12, 13, 14, 15]]))
    for lens in ([5, 1, 1, 1], [-1, 1, 1, 1], [1, 1]):
        with pytest.raises(NodeError):
            reverse_sequence(np, x, np.array(lens))
    with pytest.raises(NodeError):
        reverse_sequence(np, x, np.array([1] * 4), batch_axis=0, time_axis=0)


def test_microsoft_forms():
    def run(op, *inputs):
        return kernels.find("com.microsoft", op, 1).function(np, *inputs)

    x = np.arange(6.0).reshape(2, 3)
    assert run("ExpandDims", x, np.array([-1], np.int32)).shape == (2, 3, 1)
    assert run("Range", np.float32(1), np.float32(4)).tolist() == [1, 2, 3]
    assert run("GatherND", x, np.array([[1, -1]], np.int32)).tolist() == [5]
    assert run("Trilu", x).tolist() == [[0, 1, 2], [0, 4, 5]]
