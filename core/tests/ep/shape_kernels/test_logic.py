import ml_dtypes
import numpy as np

from sardonyx.ep.shape_kernels.logic import equal, greater_or_equal, where


def test_equal_compares_strings_and_keeps_nan_unequal():
    got = equal(np, np.array(["a", "", "ü"], object), np.array(["a"], object))
    assert got.dtype == np.bool_
    assert got.tolist() == [True, False, False]
    assert equal(np, np.float32([np.nan, 1]), np.float32([np.nan, 1])).tolist() == [False, True]


def test_comparison_of_large_integers_is_exact():
    assert greater_or_equal(np, np.uint64([2**64 - 1]), np.uint64([2**64 - 2])).tolist() == [True]
    assert equal(np, np.int64([2**53]), np.int64([2**53 + 1])).tolist() == [False]


def test_where_keeps_the_dtype():
    condition = np.array([[True], [False]])
    assert where(np, condition, np.array(["x"], object), np.array(["y", "z"], object)).tolist() == [["x", "x"], ["y", "z"]]
    got = where(np, condition, np.array(1, ml_dtypes.bfloat16), np.array([2], ml_dtypes.bfloat16))
    assert got.dtype == ml_dtypes.bfloat16
    assert got.tolist() == [[1], [2]]
