import numpy as np
import pytest
from onnx import helper

# channels, outputs per group, group, kernel, attributes, size
CASES = {
    "2x2s2": (24, 24, 1, (2, 2), {"strides": [2, 2]}, (5, 6)),
    "one_output": (24, 1, 1, (2, 2), {"strides": [2, 2]}, (5, 6)),
    "overlapping": (20, 18, 1, (3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}, (7, 6)),
    "stride_1": (16, 16, 1, (3, 3), {"pads": [1, 0, 0, 2]}, (4, 5)),
    "output_padding": (8, 5, 1, (3, 3), {"strides": [2, 3], "pads": [1, 1, 1, 1], "output_padding": [1, 2]}, (4, 5)),
    "dilated": (8, 20, 1, (3, 2), {"strides": [1, 2], "dilations": [2, 3]}, (6, 5)),
    "groups": (20, 9, 2, (3, 3), {"strides": [2, 2], "group": 2}, (5, 4)),
    "depthwise": (20, 1, 20, (4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1], "group": 20}, (5, 4)),
    "output_shape": (6, 4, 1, (3, 3), {"strides": [3, 2], "output_shape": [10, 8]}, (3, 3)),
    "same_upper": (6, 4, 1, (3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}, (3, 4)),
    "same_lower": (6, 4, 1, (3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}, (3, 4)),
    "gaps": (6, 4, 1, (2, 2), {"strides": [4, 3]}, (3, 4)),
    "many_rows": (6, 20, 1, (2, 2), {"strides": [2, 2]}, (40, 130)),
    "many_rows_cut": (6, 4, 1, (2, 3), {"strides": [3, 2], "pads": [4, 1, 2, 0], "output_padding": [2, 1]}, (41, 90)),
    "many_rows_overlapping": (6, 4, 1, (3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}, (41, 90)),
    "1d": (6, 20, 1, (5,), {"strides": [3], "pads": [2, 1]}, (9,)),
}


@pytest.mark.parametrize("constant", [True, False], ids=["constant", "fed"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_conv_transpose(net, normal, case, constant):
    c, o, group, kernel, attrs, size = case
    node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], **attrs)
    x, rest = {"x": normal(2, c, *size)}, {"w": normal(c, o, *kernel), "b": normal(o * group)}
    net.check([node], x if constant else x | rest, rest if constant else {})


def test_size_under_dilation_and_stride(net, normal):
    attrs = {"kernel_shape": [3, 5], "dilations": [3, 1], "strides": [2, 1], "pads": [4, 2, 4, 2]}
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], **attrs)
    (y,) = net.check([node], {"x": normal(1, 1, 50, 50)}, {"w": normal(1, 1, 3, 5)})
    assert y.shape == (1, 1, 97, 50)


def test_activation_after_it(net, prepared, normal):
    nodes = [
        helper.make_node("ConvTranspose", ["x", "w", "b"], ["c"], strides=[2, 2]),
        helper.make_node("Sigmoid", ["c"], ["y"]),
    ]
    feeds, w = {"x": normal(1, 12, 5, 6)}, {"w": normal(12, 20, 2, 2), "b": normal(20)}
    assert prepared(nodes, feeds, w) == ["sx::ConvTranspose", "sx::ConvertLayout"]
    net.check(nodes, feeds, w, rtol=2e-5)


def test_sum_with_it_stays_apart(net, prepared, normal):
    nodes = [
        helper.make_node("ConvTranspose", ["x", "w"], ["c"], strides=[2, 2]),
        helper.make_node("Add", ["c", "r"], ["y"]),
    ]
    feeds, w = {"x": normal(1, 12, 5, 6), "r": normal(1, 20, 10, 12)}, {"w": normal(12, 20, 2, 2)}
    assert prepared(nodes, feeds, w)[0] == "ConvTranspose"
    net.check(nodes, feeds, w)


def test_empty_batch(net, normal):
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2])
    (y,) = net.check([node], {"x": np.zeros((0, 4, 3, 3), np.float32)}, {"w": normal(4, 6, 2, 2)})
    assert y.shape == (0, 6, 6, 6)
