import ml_dtypes
import numpy as np
import pytest

from sardonyx.ep.shape_kernels import reduce as r

BF16 = ml_dtypes.bfloat16
X = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)
NEW = [r.reduce_sum_13, r.reduce_prod_18, r.reduce_mean_18, r.reduce_max_18, r.reduce_min_18]
OLD = [r.reduce_sum_1, r.reduce_prod_1, r.reduce_mean_1, r.reduce_max_1, r.reduce_min_1]
TRUTH = [np.sum, np.prod, np.mean, np.max, np.min]


@pytest.mark.parametrize("i", range(5))
@pytest.mark.parametrize("axes", [None, [1], [-1, 0], [0, 1, 2]])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_against_float64(i, axes, keepdims):
    expected = TRUTH[i](X.astype(np.float64), None if axes is None else tuple(axes), keepdims=bool(keepdims))
    for got in (
        OLD[i](np, X, axes=axes, keepdims=keepdims),
        NEW[i](np, X, None if axes is None else np.array(axes), keepdims=keepdims),
    ):
        assert (got.shape, got.dtype) == (expected.shape, np.float32)
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", NEW)
def test_noop_with_empty_axes(kernel):
    for axes in (None, np.zeros(0, np.int64)):
        np.testing.assert_array_equal(kernel(np, X, axes, noop_with_empty_axes=1), X)
        assert kernel(np, X, axes, keepdims=0).shape == ()


@pytest.mark.parametrize("kernel", NEW)
def test_rank_0_is_its_own_reduction(kernel):
    assert kernel(np, np.array(3, np.float32)) == 3
    assert kernel(np, np.array(3, np.float32), np.array([-1])) == 3


def test_half_precision_is_accumulated_in_float32():
    for dtype in (np.float16, BF16):
        ones = np.ones((4096, 2), dtype)
        assert r.reduce_sum_13(np, ones, np.array([0])).astype(np.float32).tolist() == [[4096, 4096]]
        assert r.reduce_mean_18(np, ones * dtype(32), keepdims=0).astype(np.float32) == 32


def test_empty_sets():
    empty = np.zeros((2, 0), np.float32)
    axes = np.array([1])
    assert r.reduce_sum_13(np, empty, axes).tolist() == [[0], [0]]
    assert r.reduce_prod_18(np, empty, axes).tolist() == [[1], [1]]
    assert r.reduce_max_18(np, empty, axes).tolist() == [[-np.inf], [-np.inf]]
    assert r.reduce_min_18(np, empty, axes).tolist() == [[np.inf], [np.inf]]
    for dtype, low, high in [(np.int8, -128, 127), (np.uint8, 0, 255), (np.bool_, False, True)]:
        assert r.reduce_max_18(np, empty.astype(dtype), axes).tolist() == [[low], [low]]
        assert r.reduce_min_18(np, empty.astype(dtype), axes).tolist() == [[high], [high]]
    assert r.reduce_max_18(np, empty.astype(BF16), axes).dtype == BF16


def test_integers_keep_their_dtype():
    x = np.array([2**31 - 1, 1], np.int32)
    assert r.reduce_sum_1(np, x).tolist() == [-(2**31)]
    assert r.reduce_mean_1(np, x).tolist() == [2**30]
    assert r.reduce_mean_1(np, np.array([-1, -2], np.int32)).tolist() == [-1]
    assert r.reduce_sum_1(np, x).dtype == np.int32


def test_extremes_propagate_nan():
    x = np.array([[1, np.nan], [3, 2]], np.float32)
    for dtype in (np.float32, np.float16, BF16):
        for kernel, last in ((r.reduce_max_18, 3), (r.reduce_min_18, 2)):
            got = kernel(np, x.astype(dtype), np.array([1]), keepdims=0).astype(np.float32)
            np.testing.assert_array_equal(got, np.float32([np.nan, last]))
    assert r.reduce_max_18(np, np.array([False, True])).tolist() == [True]


@pytest.mark.parametrize(("exclusive", "reverse", "expected"), [(0, 0, [1, 3, 6]), (1, 0, [0, 1, 3]), (0, 1, [6, 5, 3]), (1, 1, [5, 3, 0])])
def test_cumsum(exclusive, reverse, expected):
    for dtype in (np.int32, np.float32, np.float64, BF16):
        x = np.array([[1, 2, 3]] * 2, dtype)
        for data, axis in ((x, -1), (x.T, 0)):
            got = r.cumsum(np, data, np.array(axis, np.int32), exclusive=exclusive, reverse=reverse)
            assert got.dtype == dtype
            np.testing.assert_array_equal(got.astype(np.float64), np.array([expected] * 2).T if axis == 0 else [expected] * 2)


def test_cumsum_empty_and_half():
    assert r.cumsum(np, np.zeros((2, 0)), np.array(1), exclusive=1).shape == (2, 0)
    assert r.cumsum(np, np.ones(4096, np.float16), np.array(0))[-1] == 4096
