import numpy as np
import pytest

from sardonyx_ep_cpu.kernels import kernels


def run(op, *inputs, domain="", constant=(), **attributes):
    kernel = kernels.find(domain, op, 10)
    known = [x if i in constant else None for i, x in enumerate(inputs)]
    attributes["prepared"] = kernel.prepare(np, known, attributes) if constant else None
    return kernel.function(np, *inputs, **attributes)


def integers(dtype, *shape):
    info = np.iinfo(dtype)
    return np.random.default_rng(sum(shape)).integers(info.min, info.max + 1, shape).astype(dtype)


def exact(x, w, group=1):
    """Convolution of int64 NCHW without padding or strides, tap by tap."""
    n, c, height, width = x.shape
    m, _, kh, kw = w.shape
    y = np.zeros((n, group, m // group, height - kh + 1, width - kw + 1), np.int64)
    x, w = x.reshape(n, group, c // group, height, width), w.reshape(group, m // group, c // group, kh, kw)
    for i in range(kh):
        for j in range(kw):
            y += np.einsum("gmc,ngchw->ngmhw", w[..., i, j], x[..., i : i + y.shape[3], j : j + y.shape[4]])
    return y.reshape(n, m, *y.shape[3:])


@pytest.mark.parametrize(
    ("x", "w", "group"),
    [
        ((2, 3, 6, 7), (4, 3, 3, 2), 1),
        ((1, 600, 4, 4), (2, 600, 3, 3), 1),
        ((1, 1200, 3, 3), (2, 600, 3, 3), 2),
        ((1, 2, 40, 40), (1, 2, 36, 36), 1),
        ((1, 6, 5, 5), (6, 1, 3, 3), 6),
    ],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_conv_integer_is_exact(x, w, group, dtype):
    x, w = integers(np.uint8, *x), integers(dtype, *w)
    x[...] = np.where(x % 2, x, 255)
    x_zero, w_zero = np.array(3, np.uint8), integers(dtype, w.shape[0])
    expected = exact(x.astype(np.int64) - 3, w.astype(np.int64) - w_zero.astype(np.int64)[:, None, None, None], group)
    for constant in ((), (1, 3), (1,)):
        got = run("ConvInteger", x, w, x_zero, w_zero, group=group, constant=constant)
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, expected)


def test_padding_is_the_zero_point():
    x, w = np.full((1, 1, 2, 2), 7, np.uint8), np.ones((1, 1, 3, 3), np.int8)
    got = run("ConvInteger", x, w, np.array([7], np.uint8), pads=[1, 1, 1, 1])
    assert not got.any()


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("bias", [None, 1000, 2**25])
@pytest.mark.parametrize("channels", [4, 600])
def test_qlinear_conv(per_channel, bias, channels):
    x, w = integers(np.uint8, 1, channels, 5, 5), integers(np.int8, 3, channels, 3, 3)
    w_scale = np.float32([0.5, 1, 2]) if per_channel else np.array(1, np.float32)
    w_zero = np.int8([0, 1, 2]) if per_channel else np.array(-3, np.int8)
    b = None if bias is None else np.int32([bias, -bias, bias // 3])
    y_scale, y_zero = np.array(2.0**13, np.float32), np.array(-10, np.int8)
    inputs = (x, np.array(0.25, np.float32), np.array(128, np.uint8), w, w_scale, w_zero, y_scale, y_zero, b)
    total = exact(x.astype(np.int64) - 128, w.astype(np.int64) - w_zero.reshape(-1, 1, 1, 1).astype(np.int64))
    if b is not None:
        total += b.reshape(-1, 1, 1)
    expected = np.clip(np.rint(total * (0.25 * w_scale.reshape(-1, 1, 1).astype(float) / 2**13)) - 10, -128, 127)
    for constant in ((), (3, 5)):
        got = run("QLinearConv", *inputs, constant=constant)
        assert got.dtype == np.int8
        np.testing.assert_array_equal(got, expected)


def test_channels_last():
    x, w = integers(np.uint8, 1, 5, 6, 4), integers(np.int8, 3, 4, 3, 3)
    rest = (np.array(0.25, np.float32), np.array(2.0**9, np.float32), np.array(100, np.uint8))
    inputs = (rest[0], np.array(9, np.uint8), w, rest[0], np.array(0, np.int8), *rest[1:])
    first = run("QLinearConv", x.transpose(0, 3, 1, 2), *inputs, pads=[1, 0, 1, 0])
    last = run("QLinearConv", x, *inputs, domain="com.microsoft", channels_last=1, pads=[1, 0, 1, 0])
    np.testing.assert_array_equal(last, first.transpose(0, 2, 3, 1))
