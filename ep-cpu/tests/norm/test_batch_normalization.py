import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels


def kernel(since):
    return kernels.find("", "BatchNormalization", since)


def inputs(*shape, dtype=np.float32, spatial=True):
    rng = np.random.default_rng(sum(shape))
    stats = (shape[1],) if spatial else shape[1:]
    x = (rng.standard_normal(shape) * 3 + 1).astype(dtype)
    return x, *(rng.uniform(0.5, 2, stats).astype(dtype) for _ in range(4))


def expected(x, scale, b, mean, var, epsilon=1e-5):
    scale, b, mean, var = (v.astype(np.float64) for v in (scale, b, mean, var))
    if scale.ndim == 1 and x.ndim > 1:
        scale, b, mean, var = (v.reshape(-1, *(1,) * (x.ndim - 2)) for v in (scale, b, mean, var))
    return (x.astype(np.float64) - mean) / np.sqrt(var + epsilon) * scale + b


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3), (4, 1, 2, 2, 2), (0, 3, 2), (2, 3, 0)])
@pytest.mark.parametrize("since", [6, 7, 9, 14, 15])
def test_inference(shape, since):
    values = inputs(*shape)
    (y,) = kernel(since).function(np, *values)
    np.testing.assert_allclose(y, expected(*values), rtol=1e-4, atol=1e-5)


def test_first_version():
    values = inputs(2, 3, 4, 5)
    (y,) = kernel(1).function(np, *values, consumed_inputs=[0, 0, 0, 1, 1], is_test=1)
    np.testing.assert_allclose(y, expected(*values), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_constant_statistics(dtype):
    values = inputs(2, 3, 4, 5, dtype=dtype)
    prepared = kernel(15).prepare(np, [None, *values[1:]], {"epsilon": 1e-3})
    (y,) = kernel(15).function(np, *values, epsilon=1e-3, prepared=prepared)
    assert y.dtype == dtype
    tolerance = {2: 2e-2, 4: 1e-5, 8: 1e-12}[np.dtype(dtype).itemsize]
    np.testing.assert_allclose(y.astype(np.float64), expected(*values, epsilon=1e-3), rtol=tolerance, atol=tolerance)


def test_nothing_is_prepared_of_unknown_statistics_or_for_training():
    values = inputs(2, 3, 4)
    assert kernel(15).prepare(np, [None, *values[1:4], None], {}) is None
    assert kernel(15).prepare(np, [None, *values[1:]], {"training_mode": 1}) is None


@pytest.mark.parametrize(("since", "more"), [(6, {"n_outputs": 5}), (7, {"n_outputs": 5}), (9, {"n_outputs": 3}), (14, {}), (15, {})])
def test_training(since, more):
    x, scale, b, mean, var = inputs(4, 3, 5, 2)
    more = more or {"training_mode": 1}
    outputs = kernel(since).function(np, x, scale, b, mean, var, momentum=0.75, **more)
    wide = x.astype(np.float64)
    batch_mean, batch_var = wide.mean(axis=(0, 2, 3)), wide.var(axis=(0, 2, 3))
    want = [expected(x, scale, b, batch_mean, batch_var), mean * 0.75 + batch_mean * 0.25, var * 0.75 + batch_var * 0.25]
    want += [batch_mean, batch_var]
    assert len(outputs) == (3 if since >= 14 else 5)
    for got, right in zip(outputs, want, strict=False):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)


def test_one_output_means_inference_before_version_14():
    values = inputs(4, 3, 5)
    for since in (6, 7, 9):
        (y,) = kernel(since).function(np, *values, n_outputs=1)
        np.testing.assert_allclose(y, expected(*values), rtol=1e-4, atol=1e-5)


def test_statistics_per_activation():
    values = inputs(5, 2, 3, spatial=False)
    (y,) = kernel(7).function(np, *values, spatial=0)
    np.testing.assert_allclose(y, expected(*values), rtol=1e-4, atol=1e-5)
    x, scale, b, mean, _ = values
    y, running, *_ = kernel(7).function(np, *values, spatial=0, n_outputs=5)
    np.testing.assert_allclose(y, expected(x, scale, b, x.mean(axis=0), x.var(axis=0)), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(running, mean * 0.9 + x.mean(axis=0) * 0.1, rtol=1e-5)


def test_half_precision_training_does_not_overflow():
    x = np.full((2, 1, 64), 300, np.float16)
    x[0] = -300
    one = np.ones(1, np.float32)
    y, mean, var = kernel(15).function(np, x, one.astype(np.float16), one.astype(np.float16), one, one, momentum=0.0, training_mode=1)
    assert y.dtype == np.float16
    np.testing.assert_allclose(y[:, 0, 0], [0, 2], atol=1e-3)
    assert (mean.dtype, var.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose(var, 90000)


def test_a_single_axis_is_one_channel():
    x = np.array([1, 3], np.float32)
    one = np.ones(1, np.float32)
    y, *_ = kernel(15).function(np, x, one, one * 0, one, one, training_mode=1)
    np.testing.assert_allclose(y, [-1, 1], atol=1e-4)


def test_shapes_that_do_not_fit_raise():
    x, scale, b, mean, var = inputs(2, 3, 4)
    with pytest.raises(NodeError):
        kernel(15).function(np, x, scale[:1], b, mean, var)
    with pytest.raises(NodeError):
        kernel(15).function(np, x, scale, b, mean[:2], var)
