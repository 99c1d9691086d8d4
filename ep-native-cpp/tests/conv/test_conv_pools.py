import numpy as np
import pytest
from onnx import helper

from sardonyx.errors import SardonyxError

# kernel, strides, pads, dilations, ceil_mode, size
CASES = {
    "3x3s2": ((3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 0, (13, 18)),
    "3x3s2_ceil": ((3, 3), (2, 2), (0, 0, 0, 0), (1, 1), 1, (4, 4)),
    "2x2": ((2, 2), (2, 2), (0, 0, 0, 0), (1, 1), 0, (9, 12)),
    "uneven": ((3, 2), (3, 1), (1, 0, 2, 1), (1, 1), 1, (11, 10)),
    "dilated": ((3, 3), (1, 2), (2, 2, 2, 2), (2, 2), 0, (9, 10)),
    "whole": ((7, 7), (1, 1), (0, 0, 0, 0), (1, 1), 0, (7, 7)),
    "1d": ((3,), (2,), (1, 1), (1,), 1, (12,)),
}


@pytest.mark.parametrize("channels", [16, 5])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pool(net, normal, op, case, channels):
    kernel, strides, pads, dilations, ceil, size = case
    attrs = {"kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": dilations, "ceil_mode": ceil}
    x = {"x": normal(2, channels, *size)}
    net.check([helper.make_node(op, ["x"], ["y"], **attrs)], x, {})
    if op == "AveragePool":
        net.check([helper.make_node(op, ["x"], ["y"], count_include_pad=1, **attrs)], x, {})


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_auto_pad(net, normal, mode):
    for op in ("MaxPool", "AveragePool"):
        net.check([helper.make_node(op, ["x"], ["y"], kernel_shape=[3, 2], strides=[2, 2], auto_pad=mode)], {"x": normal(1, 3, 8, 9)}, {})


def test_average_counts_padding_but_not_what_ceil_mode_adds(net):
    x = np.float32([2.0903, 4.6493, 1.6320, -3.2051, 4.6975, 4.7296, 3.3653, -1.5815, -2.3832]).reshape(1, 1, -1)
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[7], strides=[3], pads=[3, 3], ceil_mode=1, count_include_pad=1)
    (y,) = net.check([node], {"x": x}, {})
    np.testing.assert_allclose(y.ravel(), [0.7381, 2.5656, 0.8032, -0.0999], atol=1e-4)


def test_ceil_mode_makes_no_window_in_the_padding(net):
    x = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    (y,) = net.check([node], {"x": x}, {})
    np.testing.assert_allclose(y[0, 0], [[6, 7.5], [12, 13.5]])


def test_a_kernel_beyond_the_input_under_ceil_mode(net, normal):
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[20, 20], strides=[20, 20], ceil_mode=1, count_include_pad=1)
    x = normal(1, 20, 7, 7)
    (y,) = net.check([node], {"x": x}, {})
    np.testing.assert_allclose(y[..., 0, 0], x.mean((2, 3)), atol=1e-6)


def test_max_keeps_nan_and_infinity(net):
    x = np.zeros((1, 1, 2, 6), np.float32)
    x[0, 0, 0, 0], x[0, 0, 1, 2], x[0, 0, :, 4:] = np.nan, np.inf, -np.inf
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    y = net.native(net.model([node], {"x": x}, {}, ["y"]), {"x": x})[0]
    np.testing.assert_array_equal(y.ravel(), [np.nan, np.inf, -np.inf])


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool"])
@pytest.mark.parametrize("shape", [(2, 20, 5, 7), (1, 16, 1, 1), (1, 3, 300, 3), (2, 4, 9), (1, 17, 3, 4, 5)])
def test_global_pool(net, normal, op, shape):
    net.check([helper.make_node(op, ["x"], ["y"])], {"x": normal(*shape)}, {})


def test_dilations_of_other_axes_are_refused(net, normal):
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], dilations=[1, 1, 1])
    feeds = {"x": normal(1, 3, 5, 5)}
    with pytest.raises(SardonyxError, match="kernel_shape has 2 values and dilations 3"):
        net.native(net.model([node], feeds, {}, ["y"], True), feeds)
