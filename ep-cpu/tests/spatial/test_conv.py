import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels
from sardonyx_ep_cpu.ops.spatial import conv_plan
from sardonyx_ep_cpu.ops.spatial.conv import conv, prepare_conv


def numbers(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


CASES = {
    "pointwise": ((2, 6, 5, 4), (8, 6, 1, 1), {}),
    "pointwise, strided": ((1, 6, 5, 4), (8, 6, 1, 1), {"strides": [2, 3]}),
    "pointwise, padded": ((1, 6, 5, 4), (8, 6, 1, 1), {"pads": [1, 0, 0, 2]}),
    "pointwise, grouped": ((2, 6, 5, 4), (9, 2, 1, 1), {"group": 3}),
    "same 3x3": ((2, 3, 7, 9), (4, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
    "valid 3x3": ((1, 3, 7, 9), (4, 3, 3, 3), {}),
    "asymmetric": ((1, 3, 7, 9), (4, 3, 3, 3), {"pads": [0, 2, 1, 0]}),
    "strided": ((1, 3, 8, 8), (4, 3, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "stem": ((1, 3, 17, 18), (4, 3, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]}),
    "patches": ((1, 3, 8, 8), (4, 3, 4, 4), {"strides": [4, 4]}),
    "dilated": ((1, 3, 9, 9), (4, 3, 3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2]}),
    "dilated, strided": ((1, 3, 9, 9), (4, 3, 3, 3), {"pads": [2, 4, 2, 4], "dilations": [2, 4], "strides": [2, 3]}),
    "grouped": ((2, 6, 5, 5), (4, 3, 3, 3), {"pads": [1, 1, 1, 1], "group": 2}),
    "depthwise": ((2, 6, 5, 5), (6, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 6}),
    "depthwise, multiplied": ((1, 3, 6, 5), (6, 1, 5, 5), {"pads": [2, 2, 2, 2], "group": 3, "strides": [1, 2]}),
    "pads wider than the kernel": ((1, 2, 3, 3), (2, 2, 2, 2), {"pads": [3, 3, 3, 3]}),
    "kernel wider than the input": ((1, 2, 2, 2), (2, 2, 5, 5), {"pads": [2, 2, 2, 2]}),
    "line": ((2, 3, 11), (4, 3, 3), {"pads": [1, 1]}),
    "line, strided": ((2, 4, 11), (4, 2, 4), {"pads": [2, 1], "strides": [3], "group": 2}),
    "volume": ((1, 2, 4, 5, 6), (3, 2, 3, 3, 3), {"pads": [1] * 6}),
    "volume, strided": ((2, 2, 4, 5, 6), (3, 2, 2, 3, 1), {"strides": [2, 1, 2], "pads": [0, 1, 0, 1, 1, 0]}),
    "four axes": ((1, 2, 3, 3, 3, 3), (2, 2, 2, 2, 2, 2), {}),
}


def geometry(x, attributes):
    rank = x.ndim - 2
    pads = attributes.get("pads", [0] * 2 * rank)
    return {
        "strides": attributes.get("strides", [1] * rank),
        "dilations": attributes.get("dilations", [1] * rank),
        "begin": pads[:rank],
        "end": pads[rank:],
        "group": attributes.get("group", 1),
    }


@pytest.mark.parametrize("column_bytes", [conv_plan.COLUMN_BYTES, 600])
@pytest.mark.parametrize("name", CASES)
def test_against_float64(name, column_bytes, convolve, monkeypatch):
    monkeypatch.setattr(conv_plan, "COLUMN_BYTES", column_bytes)
    conv_plan.plan_conv.cache_clear()
    x_shape, w_shape, attributes = CASES[name]
    x, w, b = numbers(*x_shape), numbers(*w_shape), numbers(w_shape[0])
    want = convolve(x, w, b, **geometry(x, attributes))
    for prepared in (None, prepare_conv(np, [None, w, b], attributes)):
        y = conv(np, x, w, b, **attributes, prepared=prepared)
        assert y.dtype == np.float32
        np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4)
    conv_plan.plan_conv.cache_clear()


@pytest.mark.parametrize("shape", [(64, 64, 56), (32, 16, 20), (48, 40, 13)])
def test_large_3x3_is_exact_to_a_hundred_thousandth(shape, convolve):
    m, c, side = shape
    x, w = np.maximum(numbers(1, c, side, side), 0), numbers(m, c, 3, 3)
    y = conv(np, x, w, pads=[1] * 4, prepared=prepare_conv(np, [None, w], {}))
    want = convolve(x, w, strides=[1, 1], dilations=[1, 1], begin=[1, 1], end=[1, 1], group=1)
    assert np.abs(y - want).max() <= 1e-5 * np.abs(want).max()


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float16, 2e-3), (ml_dtypes.bfloat16, 2e-2)])
@pytest.mark.parametrize("name", ["pointwise", "same 3x3", "depthwise", "strided"])
def test_dtypes(name, dtype, tolerance, convolve):
    x_shape, w_shape, attributes = CASES[name]
    x, w, b = numbers(*x_shape, dtype=dtype), numbers(*w_shape, dtype=dtype), numbers(w_shape[0], dtype=dtype)
    want = convolve(x, w, b, **geometry(x, attributes))
    for prepared in (None, prepare_conv(np, [None, w, b], attributes)):
        y = conv(np, x, w, b, **attributes, prepared=prepared)
        assert y.dtype == dtype
        np.testing.assert_allclose(y.astype(np.float64), want, rtol=tolerance, atol=tolerance * 3)


def test_same_with_dilation_uses_the_effective_kernel(convolve):
    x, w = numbers(1, 1, 22), numbers(1, 1, 3)
    y = conv(np, x, w, auto_pad="SAME_UPPER", dilations=[2])
    np.testing.assert_allclose(y, convolve(x, w, strides=[1], dilations=[2], begin=[2], end=[2], group=1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("auto_pad", "begin", "end"), [("SAME_UPPER", 0, 1), ("SAME_LOWER", 1, 0)])
def test_same_with_an_even_kernel(auto_pad, begin, end, convolve):
    x, w = numbers(1, 2, 6, 6), numbers(2, 2, 2, 2)
    y = conv(np, x, w, auto_pad=auto_pad)
    want = convolve(x, w, strides=[1, 1], dilations=[1, 1], begin=[begin] * 2, end=[end] * 2, group=1)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("x", "w", "shape"),
    [
        ((0, 3, 5, 5), (2, 3, 3, 3), (0, 2, 3, 3)),
        ((2, 3, 5, 5), (0, 3, 3, 3), (2, 0, 3, 3)),
        ((2, 0, 5, 5), (2, 0, 3, 3), (2, 2, 3, 3)),
        ((1, 3, 0, 5), (2, 3, 3, 3), (1, 2, 0, 3)),
    ],
)
def test_empty(x, w, shape):
    y = conv(np, numbers(*x), numbers(*w), np.ones(w[0], np.float32))
    assert y.shape == shape
    assert (y == 1).all()


def test_outside_is_zero_even_next_to_infinity():
    x = np.full((1, 1, 3, 3), np.inf, np.float32)
    x[0, 0, :, :2] = 0
    y = conv(np, x, np.ones((1, 1, 1, 3), np.float32), pads=[0, 1, 0, 1])
    assert y[0, 0].tolist() == [[0, np.inf, np.inf]] * 3


def test_inputs_are_not_written_to():
    x, w, b = numbers(1, 2, 5, 5), numbers(2, 2, 3, 3), numbers(2)
    for v in (x, w, b):
        v.flags.writeable = False
    conv(np, x, w, b, pads=[1] * 4)


def test_strided_inputs():
    x, w = numbers(1, 8, 5, 5), numbers(4, 4, 3, 3)
    np.testing.assert_array_equal(conv(np, x[:, ::2], w, pads=[1] * 4), conv(np, x[:, ::2].copy(), w, pads=[1] * 4))


@pytest.mark.parametrize(
    ("x", "w", "attributes"),
    [
        ((1, 3, 5, 5), (2, 2, 3, 3), {}),
        ((1, 4, 5, 5), (3, 2, 3, 3), {"group": 2}),
        ((1, 3, 5, 5), (2, 3, 3), {}),
        ((1, 3), (2, 3), {}),
        ((1, 3, 2, 2), (2, 3, 3, 3), {}),
        ((1, 3, 5, 5), (2, 3, 3, 3), {"kernel_shape": [2, 2]}),
        ((1, 3, 5, 5), (2, 3, 3, 3), {"group": 0}),
    ],
)
def test_shapes_that_do_not_fit_raise(x, w, attributes):
    with pytest.raises(NodeError):
        conv(np, numbers(*x), numbers(*w), **attributes)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_geometry(convolve, data):
    rank = data.draw(st.integers(1, 3))
    group, per_group, multiple = (data.draw(st.integers(1, 3)) for _ in range(3))
    axes = [
        (data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2)), data.draw(st.integers(0, 3)))
        for _ in range(rank)
    ]
    kernel, strides, dilations, begin = (list(v) for v in zip(*axes, strict=True))
    end = [data.draw(st.integers(0, 3)) for _ in range(rank)]
    size = [max(1, (k - 1) * d + 1 - p - q) + data.draw(st.integers(0, 5)) for (k, _, d, p), q in zip(axes, end, strict=True)]
    x, w = numbers(2, group * per_group, *size), numbers(group * multiple, per_group, *kernel)
    y = conv(np, x, w, group=group, strides=strides, dilations=dilations, pads=begin + end)
    want = convolve(x, w, strides=strides, dilations=dilations, begin=begin, end=end, group=group)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("activation", "params", "function"),
    [
        ("Relu", None, lambda y: np.maximum(y, 0)),
        ("Sigmoid", None, lambda y: 1 / (1 + np.exp(-y))),
        ("Tanh", None, np.tanh),
        ("LeakyRelu", [0.1], lambda y: np.where(y < 0, 0.1 * y, y)),
        ("Clip", [-0.5, 0.5], lambda y: np.clip(y, -0.5, 0.5)),
        ("HardSigmoid", [0.3, 0.4], lambda y: np.clip(0.3 * y + 0.4, 0, 1)),
        ("", None, lambda y: y),
    ],
)
@pytest.mark.parametrize("group", [1, 2])
def test_fused_conv(activation, params, function, group, convolve):
    x, w, b, z = numbers(2, 4, 5, 5), numbers(6, 4 // group, 3, 3), numbers(6), numbers(2, 6, 5, 5)
    y = kernels.find("com.microsoft", "FusedConv", 1).function(
        np, x, w, b, z, activation=activation, activation_params=params, pads=[1] * 4, group=group
    )
    want = convolve(x, w, b, strides=[1, 1], dilations=[1, 1], begin=[1, 1], end=[1, 1], group=group)
    np.testing.assert_allclose(y, function(want + z), rtol=1e-4, atol=1e-4)


def test_fused_conv_refuses_unknown_activations():
    with pytest.raises(NodeError, match="Softsign"):
        kernels.find("com.microsoft", "FusedConv", 1).function(np, numbers(1, 1, 3), numbers(1, 1, 3), activation="Softsign")


@pytest.mark.parametrize("name", ["pointwise", "same 3x3", "stem", "line"])
def test_repeated_filters(name, convolve):
    """Where most filters are repetitions, equal ones give equal channels, to the last bit, at any size of product."""
    x_shape, (_, *w_shape), attributes = CASES[name]
    x = numbers(*x_shape)
    distinct = numbers(3, *w_shape)
    distinct[2] = 0
    places = np.array([1, 0, 2] * 40 + [1])
    w, b = distinct[places], numbers(len(places))
    want = convolve(x, w, b, **geometry(x, attributes))
    for prepared in (None, prepare_conv(np, [x, w, b], attributes)):
        got = conv(np, x, w, None, prepared=prepared, **attributes)
        assert all((got[:, m] == got[:, places.tolist().index(place)]).all() for m, place in enumerate(places))
        np.testing.assert_allclose(conv(np, x, w, b, prepared=prepared, **attributes), want, rtol=1e-4, atol=1e-5)
    assert len(prepared.matrix[0]) == 3


def test_few_repeated_filters():
    """A repetition or two, or filters that only begin alike, are not worth a copy of the result."""
    x, w = numbers(1, 2, 4, 4), numbers(8, 2, 1, 1)
    w[3] = w[5]
    assert prepare_conv(np, [x, w], {}).places is None
    w[:, 0] = 1
    assert prepare_conv(np, [x, w], {}).places is None
