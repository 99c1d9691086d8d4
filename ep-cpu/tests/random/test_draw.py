import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.random.draw import (
    bernoulli,
    multinomial,
    random_normal,
    random_normal_like,
    random_uniform,
    random_uniform_like,
)
from sardonyx_ep_cpu.ops.random.dropout import dropout_1, dropout_6, dropout_7, dropout_10, dropout_12


def rng():
    return np.random.default_rng(7)


def test_normal_and_uniform_have_the_parameters_asked_for():
    x = random_normal(np, shape=[20000], dtype=11, mean=3.0, scale=2.0, rng=rng())
    assert x.dtype == np.float64
    assert abs(x.mean() - 3) < 0.1
    assert abs(x.std() - 2) < 0.1
    x = random_uniform(np, shape=[20000], low=-1.0, high=3.0, rng=rng())
    assert (x.dtype, x.shape) == (np.float32, (20000,))
    assert -1 <= x.min() < -0.9
    assert 2.9 < x.max() <= 3


def test_like_forms_take_shape_and_dtype():
    x = np.zeros((2, 3), np.float16)
    assert random_normal_like(np, x, rng=rng()).dtype == np.float16
    got = random_uniform_like(np, x, dtype=16, rng=rng())
    assert (got.dtype, got.shape) == (ml_dtypes.bfloat16, (2, 3))


@pytest.mark.parametrize("seed", [0.0, 1.5, -2.0, 1e20])
def test_a_seed_makes_every_run_equal(seed):
    p = np.full(50, 0.5, np.float32)
    for draw in (
        lambda: random_normal(np, shape=[50], seed=seed),
        lambda: random_uniform_like(np, p, seed=seed),
        lambda: bernoulli(np, p, seed=seed),
        lambda: multinomial(np, np.zeros((1, 5), np.float32), sample_size=50, seed=seed),
    ):
        np.testing.assert_array_equal(draw(), draw())
    assert not np.array_equal(random_normal(np, shape=[50], seed=seed), random_normal(np, shape=[50], seed=seed + 1e19 + 1))
    assert not np.array_equal(random_normal(np, shape=[50]), random_normal(np, shape=[50]))


def test_bernoulli():
    p = np.repeat(np.float32([0, 1, 0.25]), 4000)
    got = bernoulli(np, p, dtype=9, rng=rng()).reshape(3, -1).mean(1)
    assert got[:2].tolist() == [0, 1]
    assert abs(got[2] - 0.25) < 0.03
    assert bernoulli(np, p.astype(ml_dtypes.bfloat16), rng=rng()).dtype == ml_dtypes.bfloat16


def test_multinomial():
    p = np.array([[0.5, 0.25, 0.25, 0], [0, 0, 0, 1]])
    with np.errstate(divide="ignore"):
        logits = np.log(p) + 700
    got = multinomial(np, logits.astype(np.float32), sample_size=8000, dtype=7, rng=rng())
    assert got.dtype == np.int64
    assert multinomial(np, logits, rng=rng()).dtype == np.int32
    for row, expected in zip(got, p, strict=True):
        np.testing.assert_allclose(np.bincount(row, minlength=4) / 8000, expected, atol=0.03)
    with pytest.raises(NodeError):
        multinomial(np, np.zeros((2, 0)), rng=rng())


X = np.ones((100, 100), np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16], ids=str)
def test_training_scales_what_it_keeps(dtype):
    y, mask = dropout_12(np, X.astype(dtype), np.float32(0.75), np.array(True), n_outputs=2, rng=rng())
    assert (y.dtype, mask.dtype) == (dtype, np.bool_)
    np.testing.assert_array_equal(y.astype(np.float32), np.where(mask, 4, 0))
    assert abs(mask.mean() - 0.25) < 0.03
    assert dropout_12(np, X, None, np.array(True), rng=rng())[0].mean() == pytest.approx(1, abs=0.05)


def test_inference_is_a_copy():
    nan = np.float32([np.nan, 1])
    assert dropout_12(np, nan)[0] is nan
    assert dropout_12(np, nan, np.float32(0.9), np.array(False), n_outputs=2)[1].tolist() == [True, True]
    assert dropout_7(np, nan, n_outputs=2)[1].dtype == np.float32
    assert dropout_10(np, nan, n_outputs=2)[1].dtype == np.bool_
    assert dropout_6(np, nan, is_test=1)[0] is nan


def test_a_ratio_of_0_keeps_and_dropped_elements_are_zero():
    nan = np.full(8, np.nan, np.float32)
    np.testing.assert_array_equal(dropout_12(np, X, np.float32(0), np.array(True), rng=rng())[0], X)
    y, mask = dropout_12(np, nan, np.float32(0.5), np.array(True), seed=1)
    assert (y[~mask] == 0).all()
    assert 0 < mask.sum() < 8
    y, mask = dropout_1(np, X, ratio=0.5, n_outputs=2, rng=rng())
    assert mask.dtype == np.float32
    np.testing.assert_array_equal(y, mask * 2)
    with pytest.raises(NodeError, match="ratio"):
        dropout_12(np, X, np.float32(1), np.array(True))
