import numpy as np
import pytest
from scipy import special

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels


def run(op, *inputs, **attributes):
    with np.errstate(all="ignore"):
        return kernels.find("com.microsoft", op, 1).function(np, *inputs, **attributes)


def f32(value):
    return np.array(value, np.float32)


def real(x, scale, zero):
    return (x.astype(np.float64) - float(zero)) * float(scale)


def quantized(value, scale, zero):
    info = np.iinfo(zero.dtype)
    return np.clip(np.rint(value / float(scale)) + int(zero), info.min, info.max)


@pytest.fixture(params=[np.uint8, np.int8])
def codes(request):
    """Every 8-bit code, as (2, 128), with a scale and a zero point."""
    return np.arange(256, dtype=np.uint8).view(request.param).reshape(2, 128), f32(1 / 32), np.array(57, request.param)


def test_add_and_mul_broadcast(codes):
    x, scale, zero = codes
    other = (x[:1, ::-1], f32(1 / 16), np.array(3, x.dtype))
    out = (f32(1 / 8), np.array(100, x.dtype))
    a, b = real(x, scale, zero), real(*other)
    np.testing.assert_array_equal(run("QLinearAdd", x, scale, zero, *other, *out), quantized(a + b, *out))
    np.testing.assert_array_equal(run("QLinearMul", x, scale, zero, *other, *out), quantized(a * b, *out))
    no_zero = quantized(real(x, scale, 0) + real(*other[:2], 0), out[0], np.array(0, x.dtype))
    np.testing.assert_array_equal(run("QLinearAdd", x, scale, None, *other[:2], None, out[0]), no_zero)


def test_functions_of_one_tensor(codes):
    x, scale, zero = codes
    out = (f32(0.0037), np.array(1, x.dtype))
    got = run("QLinearSigmoid", x, scale, zero, *out)
    np.testing.assert_array_equal(got, quantized(special.expit(real(x, scale, zero)), *out))
    got = run("QLinearLeakyRelu", x.T, scale, zero, *out, alpha=0.25)
    value = real(x.T, scale, zero)
    np.testing.assert_array_equal(got, quantized(np.where(value < 0, 0.25 * value, value), *out))


def test_concat_and_where_requantize(codes):
    x, scale, zero = codes
    out = (f32(0.043), np.array(20, x.dtype))
    expected = quantized(real(x, scale, zero), *out)
    np.testing.assert_array_equal(run("QLinearConcat", *out, x, scale, zero, x, *out, axis=-2), np.concatenate([expected, x]))
    condition = x % 2 == 0
    got = run("QLinearWhere", condition, x, scale, zero, x, *out, *out)
    np.testing.assert_array_equal(got, np.where(condition, expected, x))
    with pytest.raises(NodeError, match="scale and a zero point"):
        run("QLinearConcat", *out, x, scale, axis=0)


@pytest.mark.parametrize("channels_last", [0, 1])
def test_pools(codes, channels_last):
    x, scale, zero = codes
    x = x.reshape(1, 2, 8, 16)
    fed = np.moveaxis(x, 1, -1) if channels_last else x
    out = (f32(0.043), np.array(20, x.dtype))

    def shaped(y):
        return np.moveaxis(y, 1, -1) if channels_last else y

    mean = quantized(real(x, scale, zero).mean(axis=(2, 3), keepdims=True), *out)
    np.testing.assert_array_equal(run("QLinearGlobalAveragePool", fed, scale, zero, *out, channels_last=channels_last), shaped(mean))
    padded = np.pad(real(x, scale, zero), ((0, 0), (0, 0), (1, 0), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 2), (2, 3)).mean(axis=(4, 5))
    got = run(
        "QLinearAveragePool",
        fed,
        scale,
        zero,
        *out,
        kernel_shape=[2, 2],
        pads=[1, 0, 0, 0],
        count_include_pad=1,
        channels_last=channels_last,
    )
    np.testing.assert_array_equal(got, quantized(shaped(windows), *out))


def test_nhwc_max_pool(codes):
    x = codes[0].reshape(1, 8, 16, 2)
    got = run("NhwcMaxPool", x, kernel_shape=[2, 3], strides=[2, 2])
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), (1, 2))[:, ::2, ::2].max(axis=(4, 5))
    np.testing.assert_array_equal(got, windows)


def test_reduce_mean(codes):
    x, scale, zero = codes
    out = (f32(0.043), np.array(20, x.dtype))
    got = run("QLinearReduceMean", x, scale, zero, *out, axes=[-1], keepdims=0)
    np.testing.assert_array_equal(got, quantized(real(x, scale, zero).mean(axis=-1), *out))


def test_softmax(codes):
    x, scale, zero = codes
    x, out = x[:, :12].reshape(2, 3, 4), (f32(1 / 256), np.array(-128 if x.dtype == np.int8 else 0, x.dtype))
    value = real(x, scale, zero)
    got = run("QLinearSoftmax", x, scale, zero, *out, axis=1, opset=13)
    np.testing.assert_array_equal(got, quantized(special.softmax(value, axis=1), *out))
    got = run("QLinearSoftmax", x, scale, zero, *out, axis=1, opset=11)
    np.testing.assert_array_equal(got, quantized(special.softmax(value, axis=(1, 2)), *out))


def test_quantize_linear_needs_an_axis_for_several_scales():
    x, scales = np.float32([[1, 2], [3, 4]]), np.float32([1, 2])
    assert run("QuantizeLinear", x, scales, np.uint16([0, 1]), axis=0).tolist() == [[1, 2], [3, 3]]
    assert run("DequantizeLinear", np.uint8([[1, 2]]), f32([2]), np.uint8([1])).tolist() == [[0, 2]]
    with pytest.raises(NodeError, match="axis"):
        run("QuantizeLinear", x, scales)
