import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels


def run(op, since, *inputs, domain="", **attributes):
    return kernels.find(domain, op, since).function(np, *inputs, **attributes)


def numbers(*shape, dtype=np.float32):
    return (np.random.default_rng(sum(shape)).standard_normal(shape) * 2 + 1).astype(dtype)


def standardized(x, groups, epsilon=1e-5):
    rows = x.astype(np.float64).reshape(x.shape[0], groups, -1)
    rows = (rows - rows.mean(axis=2, keepdims=True)) / np.sqrt(rows.var(axis=2, keepdims=True) + epsilon)
    return rows.reshape(x.shape)


def by_channel(v, x):
    return v.astype(np.float64).reshape(-1, *(1,) * (x.ndim - 2))


@pytest.mark.parametrize("shape", [(2, 4, 5, 3), (3, 4, 70), (2, 4, 3, 3, 3)])
@pytest.mark.parametrize("since", [1, 6, 22])
def test_instance_normalization(shape, since):
    x, scale, b = numbers(*shape), numbers(shape[1]), numbers(shape[1])
    y = run("InstanceNormalization", since, x, scale, b, epsilon=1e-3)
    want = standardized(x, shape[1], 1e-3) * by_channel(scale, x) + by_channel(b, x)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_group_normalization(groups, dtype):
    x, scale, bias = numbers(2, 4, 5, 3, dtype=dtype), numbers(4, dtype=dtype), numbers(4, dtype=dtype)
    y = run("GroupNormalization", 21, x, scale, bias, num_groups=groups)
    assert y.dtype == dtype
    tolerance = {2: 3e-2, 4: 1e-4, 8: 1e-12}[np.dtype(dtype).itemsize]
    want = standardized(x, groups) * by_channel(scale, x) + by_channel(bias, x)
    np.testing.assert_allclose(y.astype(np.float64), want, rtol=tolerance, atol=tolerance)


def test_group_normalization_18_scales_groups():
    x, scale, bias = numbers(2, 6, 5), numbers(3), numbers(3)
    y = run("GroupNormalization", 18, x, scale, bias, num_groups=3)
    want = standardized(x, 3) * by_channel(scale.repeat(2), x) + by_channel(bias.repeat(2), x)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)


def test_empty_and_constant_inputs():
    one = np.ones(2, np.float32)
    assert run("InstanceNormalization", 22, np.ones((0, 2, 3), np.float32), one, one).shape == (0, 2, 3)
    assert run("GroupNormalization", 18, np.ones((2, 4, 0), np.float32), one, one, num_groups=2).shape == (2, 4, 0)
    np.testing.assert_array_equal(run("InstanceNormalization", 22, np.full((1, 2, 3), 7, np.float32), one, one), np.ones((1, 2, 3)))


def test_groups_that_do_not_divide_raise():
    with pytest.raises(NodeError):
        run("GroupNormalization", 21, numbers(1, 4, 2), numbers(4), numbers(4), num_groups=3)
    with pytest.raises(NodeError):
        run("GroupNormalization", 21, numbers(1, 4, 2), numbers(2), numbers(2), num_groups=2)
    with pytest.raises(NodeError):
        run("InstanceNormalization", 22, numbers(1, 4, 2), numbers(3), numbers(4))


def silu(x):
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize("activation", [0, 1])
def test_microsoft_group_norm(channels_last, activation):
    x, gamma, beta = numbers(2, 4, 5, 3), numbers(4), numbers(4)
    want = standardized(x, 2) * by_channel(gamma, x) + by_channel(beta, x)
    want = silu(want) if activation else want
    attributes = {"activation": activation, "groups": 2, "channels_last": channels_last}
    moved = np.ascontiguousarray(np.moveaxis(x, 1, -1)) if channels_last else x
    y = run("GroupNorm", 1, moved, gamma, beta, domain="com.microsoft", **attributes)
    np.testing.assert_allclose(np.moveaxis(y, -1, 1) if channels_last else y, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("skip", [(2, 5, 3, 4), (2, 1, 1, 4), (2, 4)])
def test_microsoft_skip_group_norm(skip):
    x, gamma, beta, skip, bias = numbers(2, 5, 3, 4), numbers(4), numbers(4), numbers(*skip), numbers(4)
    y, total = run("SkipGroupNorm", 1, x, gamma, beta, skip, bias, domain="com.microsoft", activation=0, groups=2)
    want = x + (skip.reshape(2, 1, 1, 4) if skip.size == 8 else skip) + bias
    np.testing.assert_allclose(total, want, rtol=1e-5)
    moved = np.moveaxis(want, -1, 1)
    want = standardized(moved, 2) * by_channel(gamma, moved) + by_channel(beta, moved)
    np.testing.assert_allclose(np.moveaxis(y, -1, 1), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("beta", [0.75, 0.5, 1.3])
def test_lrn_is_over_channels(size, beta):
    x = numbers(1, 5, 5, 4)
    y = run("LRN", 13, x, size=size, alpha=0.3, beta=beta, bias=1.5)
    wide = x.astype(np.float64)
    for c in range(5):
        low, high = max(0, c - (size - 1) // 2), min(4, c + -(-(size - 1) // 2))
        total = np.square(wide[:, low : high + 1]).sum(axis=1)
        np.testing.assert_allclose(y[:, c], wide[:, c] / (1.5 + 0.3 / size * total) ** beta, rtol=1e-5)


def test_lrn_of_other_ranks_and_halves():
    for shape in ((2, 3), (2, 3, 4), (1, 3, 2, 2, 2)):
        assert run("LRN", 1, numbers(*shape), size=3).shape == shape
    x = np.full((1, 3, 2), 300, np.float16)
    y = run("LRN", 13, x, size=3, alpha=3.0)
    assert y.dtype == np.float16
    np.testing.assert_allclose(y[0, 1], 300 / (1 + 3 * 300.0**2) ** 0.75, rtol=1e-2)


def test_mean_variance_normalization():
    x = numbers(2, 3, 4, 5)
    wide = x.astype(np.float64)
    for axes in ((0, 2, 3), (1, -1), (0,)):
        want = (wide - wide.mean(axis=axes, keepdims=True)) / wide.std(axis=axes, keepdims=True)
        np.testing.assert_allclose(run("MeanVarianceNormalization", 13, x, axes=list(axes)), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(run("MeanVarianceNormalization", 9, np.full((1, 1, 2, 2), 3, np.float32)), np.zeros((1, 1, 2, 2)))


@pytest.mark.parametrize("p", [1, 2])
def test_lp_normalization(p):
    x = numbers(3, 4)
    x[1] = 0
    norm = np.linalg.norm(x.astype(np.float64), p, axis=1, keepdims=True)
    np.testing.assert_allclose(run("LpNormalization", 22, x, p=p), x / np.where(norm == 0, 1, norm), rtol=1e-5)
    np.testing.assert_allclose(run("LpNormalization", 1, x.T, p=p, axis=0), run("LpNormalization", 1, x, p=p, axis=-1).T, rtol=1e-6)


def test_lp_normalization_knows_two_norms():
    with pytest.raises(NodeError):
        run("LpNormalization", 22, numbers(2, 2), p=3)
