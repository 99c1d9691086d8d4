import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

BF16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(0)
TOLERANCE = {np.float16: 2e-3, BF16: 2e-2, np.float32: 1e-5, np.float64: 1e-12}


def run(op, *inputs, domain="", **attributes):
    return kernels.find(domain, op, 99).function(np, *inputs, **attributes)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def standardized(x, axis, epsilon, center=True):
    axes = tuple(range(axis % x.ndim, x.ndim))
    mean = x.mean(axes, keepdims=True) if center else 0
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)
    return (x - mean) * inverse, mean, inverse


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda d: d.__name__)
@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 40, 60)])
def test_layer_normalization(dtype, axis, shape):
    x, scale, bias = (normal(*s, dtype=dtype) for s in (shape, shape[axis:], shape[axis:]))
    y, mean, inverse = run("LayerNormalization", x, scale, bias, axis=axis, epsilon=1e-3)
    exact, exact_mean, exact_inverse = standardized(x.astype(float), axis, 1e-3)
    assert y.dtype == dtype
    assert mean.dtype == inverse.dtype == np.float32
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(y.astype(float), exact * scale.astype(float) + bias.astype(float), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(mean, exact_mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(inverse, exact_inverse, rtol=1e-5)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda d: d.__name__)
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_rms_forms_do_not_centre(dtype, axis):
    x, scale = normal(2, 3, 40, dtype=dtype) + dtype(2), normal(*(2, 3, 40)[axis:], dtype=dtype)
    exact, _, exact_inverse = standardized(x.astype(float), axis, 1e-3, center=False)
    exact = exact * scale.astype(float)
    tolerance = TOLERANCE[dtype]
    y = run("RMSNormalization", x, scale, axis=axis, epsilon=1e-3)
    assert y.dtype == dtype
    np.testing.assert_allclose(y.astype(float), exact, rtol=tolerance, atol=tolerance)
    for domain in ("", "com.microsoft"):
        y, inverse = run("SimplifiedLayerNormalization", x, scale, domain=domain, axis=axis, epsilon=1e-3)
        assert y.dtype == dtype
        np.testing.assert_allclose(y.astype(float), exact, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(inverse.astype(float), exact_inverse, rtol=1e-5)


def test_rms_result_has_the_scales_dtype():
    x, scale = normal(2, 8, dtype=np.float16), normal(8)
    assert run("RMSNormalization", x, scale).dtype == np.float32
    assert run("RMSNormalization", scale[None], x[0]).dtype == np.float16


def test_scale_and_bias_broadcast_from_the_right():
    x = np.float32([[[0.5, 1.5], [-1, 2], [0, 4]]])
    scale, bias = np.float32([2, -1]), np.float32([1, 3])
    exact = standardized(x.astype(float), 1, 1e-5)[0] * scale + bias
    np.testing.assert_allclose(run("LayerNormalization", x, scale, bias, axis=1)[0], exact, rtol=1e-5)
    with pytest.raises(ValueError, match="broadcast"):
        run("LayerNormalization", x, np.ones((2, 3, 2), np.float32), axis=1)
    with pytest.raises(NodeError, match="axis 3"):
        run("LayerNormalization", x, scale, axis=3)


def test_a_great_mean_costs_no_digits_of_the_deviation():
    x = np.float32([[10000, 10001, 10002, 10003]])
    y = run("LayerNormalization", x, np.ones(4, np.float32))[0]
    np.testing.assert_allclose(y, [[-1.3416355, -0.44721183, 0.44721183, 1.3416355]], rtol=1e-5)


def test_empty_and_stash_type():
    y, mean, inverse = run("LayerNormalization", np.zeros((0, 3), np.float32), np.ones(3, np.float32))
    assert (y.shape, mean.shape, inverse.shape) == ((0, 3), (0, 1), (0, 1))
    x = normal(2, 3, dtype=BF16)
    assert run("LayerNormalization", x, x[0], stash_type=16)[1].dtype == BF16


def test_long_rows_lose_no_digits():
    x = RNG.random((2, 500_000), dtype=np.float32)
    _, mean, inverse = run("LayerNormalization", x, np.float32(1).reshape(1))
    exact = x.astype(np.float64)
    np.testing.assert_allclose(mean[:, 0], exact.mean(1), rtol=2e-7)
    np.testing.assert_allclose(inverse[:, 0], 1 / np.sqrt(exact.var(1) + 1e-5), rtol=3e-7)
