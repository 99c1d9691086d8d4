import ml_dtypes
import numpy as np
import pytest

from sardonyx_ep_cpu.ops.reduce import norms as n

X = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)
CASES = [
    (n.reduce_sum_square_1, n.reduce_sum_square_18, lambda x, **kw: np.sum(x * x, **kw)),
    (n.reduce_l1_1, n.reduce_l1_18, lambda x, **kw: np.sum(np.abs(x), **kw)),
    (n.reduce_l2_1, n.reduce_l2_18, lambda x, **kw: np.sqrt(np.sum(x * x, **kw))),
    (n.reduce_log_sum_1, n.reduce_log_sum_18, lambda x, **kw: np.log(np.sum(x, **kw))),
    (n.reduce_log_sum_exp_1, n.reduce_log_sum_exp_18, lambda x, **kw: np.log(np.sum(np.exp(x), **kw))),
]
IDS = ["SumSquare", "L1", "L2", "LogSum", "LogSumExp"]


@pytest.mark.parametrize(("old", "new", "truth"), CASES, ids=IDS)
@pytest.mark.parametrize("axes", [None, [1], [-1, 0]])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16], ids=str)
def test_against_float64(old, new, truth, axes, keepdims, dtype):
    x = (np.abs(X) if "log_sum_1" in old.__name__ else X).astype(dtype)
    expected = truth(x.astype(np.float64), axis=None if axes is None else tuple(axes), keepdims=bool(keepdims))
    tolerance = {2: 1e-3 if dtype == np.float16 else 1e-2}.get(np.dtype(dtype).itemsize, 1e-5)
    for got in (old(np, x, axes=axes, keepdims=keepdims), new(np, x, None if axes is None else np.array(axes), keepdims=keepdims)):
        assert (got.shape, got.dtype) == (expected.shape, dtype)
        np.testing.assert_allclose(got.astype(np.float64), expected, rtol=tolerance)


@pytest.mark.parametrize(
    ("kernel", "step"),
    [
        (n.reduce_sum_square_18, np.square),
        (n.reduce_l1_18, np.abs),
        (n.reduce_l2_18, np.abs),
        (n.reduce_log_sum_18, np.log),
        (n.reduce_log_sum_exp_18, np.array),
    ],
)
def test_noop_with_empty_axes_leaves_the_other_steps(kernel, step):
    x = np.float32([[0.5, 2], [3, 4]]) * (1 if step is np.log else -1)
    for axes in (None, np.zeros(0, np.int64)):
        np.testing.assert_allclose(kernel(np, x, axes, noop_with_empty_axes=1), step(x), rtol=1e-6)


def test_log_sum_exp_neither_overflows_nor_underflows():
    x = np.float32([[1000, 1000], [-1000, -1000], [-np.inf, -np.inf], [np.inf, 1], [np.nan, 1]])
    got = n.reduce_log_sum_exp_18(np, x, np.array([1]), keepdims=0)
    np.testing.assert_allclose(got, np.float32([1000 + np.log(2), -1000 + np.log(2), -np.inf, np.inf, np.nan]), rtol=1e-6)


def test_empty_sets():
    empty, axes = np.zeros((2, 0), np.float32), np.array([1])
    for kernel, value in zip([case[1] for case in CASES], [0, 0, 0, -np.inf, -np.inf], strict=True):
        assert kernel(np, empty, axes).tolist() == [[value], [value]]


def test_integers_and_scalars():
    assert n.reduce_l1_1(np, np.array([-3, 4], np.int32)).tolist() == [7]
    assert n.reduce_l2_1(np, np.array([-3, 4], np.int32)).tolist() == [5]
    assert n.reduce_sum_square_1(np, np.array([3, 4], np.uint32)).dtype == np.uint32
    assert n.reduce_log_sum_exp_1(np, np.array([1, 2], np.int64), keepdims=0) == 2
    assert n.reduce_l1_18(np, np.array(-3.0)) == 3
    assert n.reduce_log_sum_exp_18(np, np.array(-3.0)) == -3
