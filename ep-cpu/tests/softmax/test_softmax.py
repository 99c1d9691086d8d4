import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

BF16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(0)
TOLERANCE = {np.float16: 2e-3, BF16: 8e-3, np.float32: 2e-6, np.float64: 1e-14}


def run(op, x, since=13, **attributes):
    with np.errstate(all="ignore"):
        return kernels.find("", op, since).function(np, x, **attributes)


def exact_softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda d: d.__name__)
@pytest.mark.parametrize("axis", [-1, 2, 1, 0, -3])
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 70, 90)])
def test_softmax_and_logarithm(dtype, axis, shape):
    x = (RNG.standard_normal(shape) * 3).astype(dtype)
    exact = exact_softmax(x.astype(np.float64), axis)
    got = run("Softmax", x, axis=axis)
    assert got.dtype == dtype
    np.testing.assert_allclose(got.astype(np.float64), exact, rtol=TOLERANCE[dtype], atol=1e-7)
    got = run("LogSoftmax", x, axis=axis)
    assert got.dtype == dtype
    np.testing.assert_allclose(got.astype(np.float64), np.log(exact), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_a_transposed_input():
    x = RNG.standard_normal((80, 90)).astype(np.float32)
    np.testing.assert_allclose(run("Softmax", x.T), exact_softmax(x.T.astype(float), -1), rtol=2e-6)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
def test_empty_scalar_and_bad_axis(op):
    for since in (1, 13):
        for shape in ((0, 3), (3, 0)):
            assert run(op, np.zeros(shape, np.float32), since).shape == shape
    assert run(op, np.float32(7).reshape(()))[()] == (0 if op == "LogSoftmax" else 1)
    for since, axis in ((13, 2), (13, -3), (1, 2), (11, -3)):
        with pytest.raises((NodeError, IndexError)):
            run(op, np.zeros((2, 3), np.float32), since, axis=axis)


def test_great_numbers_do_not_overflow():
    x = np.float32([[1e4, 1e4 - 1, -np.inf], [-1e30, -1e30, 0]])
    np.testing.assert_allclose(run("Softmax", x), [[0.7310586, 0.26894143, 0], [0, 0, 1]], rtol=1e-6)
    np.testing.assert_allclose(run("LogSoftmax", x), [[-0.31326166, -1.3132617, -np.inf], [-1e30, -1e30, 0]], rtol=1e-6)
    half = np.zeros((1, 100_000), np.float16)
    np.testing.assert_allclose(run("Softmax", half).astype(float), 1e-5, rtol=1e-2)


def test_nan_and_a_row_of_minus_infinity():
    x = np.float32([[1, np.nan, 2], [-np.inf] * 3, [0, 0, 0]])
    got = run("Softmax", x)
    assert np.isnan(got[:2]).all()
    np.testing.assert_allclose(got[2], 1 / 3, rtol=1e-6)


@pytest.mark.parametrize("since", [1, 11])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_old_forms_take_everything_from_axis_on_as_one_row(since, axis):
    x = RNG.standard_normal((2, 3, 4)).astype(np.float32)
    rows = x.reshape(int(np.prod(x.shape[:axis])), -1).astype(float)
    exact = exact_softmax(rows, -1).reshape(x.shape)
    np.testing.assert_allclose(run("Softmax", x, since, axis=axis), exact, rtol=2e-6)
    np.testing.assert_allclose(run("LogSoftmax", x, since, axis=axis), np.log(exact), rtol=2e-6)
    hard = run("Hardmax", x, since, axis=axis).reshape(rows.shape)
    np.testing.assert_array_equal(hard.argmax(1), rows.argmax(1))
    np.testing.assert_array_equal(hard.sum(1), 1)


def test_hardmax_takes_the_first_maximum():
    x = np.float32([[3, 1, 3], [np.nan, 1, np.nan]])
    np.testing.assert_array_equal(run("Hardmax", x), [[1, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(run("Hardmax", x.astype(BF16).T, axis=0).astype(float), [[1, 1], [0, 0], [0, 0]])
