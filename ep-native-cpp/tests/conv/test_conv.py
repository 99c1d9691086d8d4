import numpy as np
import pytest
from onnx import helper

import sardonyx
from sardonyx.errors import SardonyxError

# channels, outputs, group, kernel, strides, pads, dilations, size, batch
CASES = {
    "stem": (3, 32, 1, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), (17, 19), 1),
    "stem_7x7": (3, 20, 1, (7, 7), (2, 2), (3, 3, 3, 3), (1, 1), (30, 31), 2),
    "patches_of_4": (3, 24, 1, (4, 4), (4, 4), (0, 0, 0, 0), (1, 1), (20, 24), 1),
    "patches_uneven_pads": (2, 9, 1, (5, 6), (1, 2), (4, 0, 1, 5), (2, 1), (11, 9), 2),
    "one_channel": (1, 1, 1, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), (4, 4), 1),
    "plain_wide_kernel": (2, 5, 1, (3, 12), (2, 3), (1, 5, 2, 6), (1, 1), (9, 40), 1),
    "1x1": (20, 40, 1, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1), (5, 9), 2),
    "1x1_strided": (20, 40, 1, (1, 1), (2, 2), (0, 0, 0, 0), (1, 1), (5, 9), 2),
    "1x1_strided_rows": (20, 40, 1, (1, 1), (2, 1), (0, 0, 0, 0), (1, 1), (5, 9), 1),
    "1x1_padded": (16, 16, 1, (1, 1), (1, 1), (1, 0, 2, 1), (1, 1), (3, 4), 1),
    "half_tile": (32, 24, 1, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1), (7, 9), 1),
    "3x3_strided": (20, 40, 1, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), (13, 9), 2),
    "uneven": (40, 70, 1, (5, 3), (3, 2), (2, 0, 1, 4), (1, 2), (20, 17), 1),
    "long_sum": (512, 16, 1, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), (9, 9), 1),
    "single_pixel": (32, 16, 1, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), (1, 1), 3),
    "groups": (20, 40, 2, (3, 3), (1, 1), (0, 1, 2, 1), (1, 1), (15, 9), 2),
    "groups_of_34": (136, 136, 4, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1), (6, 6), 1),
    "groups_dilated": (24, 48, 3, (3, 3), (1, 1), (2, 2, 2, 2), (2, 2), (15, 20), 1),
    "kernel_dilated_beyond_input": (24, 20, 1, (3, 3), (1, 1), (12, 12, 12, 12), (12, 12), (5, 7), 2),
    "taps_in_the_padding": (20, 20, 1, (5, 3), (2, 2), (9, 4, 3, 2), (3, 4), (6, 3), 1),
    "groups_with_taps_in_the_padding": (24, 48, 3, (3, 5), (1, 1), (4, 18, 4, 18), (4, 9), (4, 3), 1),
    "plain_with_taps_in_the_padding": (3, 20, 1, (7, 3), (1, 1), (6, 1, 6, 1), (1, 1), (2, 9), 1),
    "3d_with_taps_in_the_padding": (20, 8, 1, (3, 2, 3), (1, 1, 1), (2, 0, 4, 2, 1, 4), (2, 1, 4), (2, 6, 3), 1),
    "far_dilation": (560, 20, 1, (3, 3), (1, 1), (12, 12, 12, 12), (12, 12), (9, 16), 2),
    "far_dilation_groups": (560, 40, 2, (3, 3), (1, 1), (13, 12, 11, 12), (12, 12), (9, 16), 1),
    "far_dilation_strided": (560, 16, 1, (3, 3), (2, 3), (12, 11, 20, 14), (12, 13), (11, 16), 1),
    "far_dilation_outside": (560, 16, 1, (3, 2), (1, 1), (40, 30, 12, 30), (12, 26), (9, 16), 1),
    "depthwise": (24, 24, 24, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), (15, 21), 2),
    "depthwise_5x5": (24, 24, 24, (5, 5), (2, 2), (2, 2, 2, 2), (1, 1), (15, 30), 1),
    "depthwise_7x7": (16, 16, 16, (7, 7), (1, 1), (3, 3, 3, 3), (1, 1), (7, 7), 1),
    "depthwise_larger_than_input": (16, 16, 16, (5, 5), (1, 1), (4, 4, 4, 4), (1, 1), (2, 3), 1),
    "depthwise_strides_differ": (20, 20, 20, (3, 3), (2, 1), (1, 1, 1, 1), (1, 1), (9, 12), 1),
    "depthwise_stride_3": (20, 20, 20, (3, 3), (3, 3), (0, 1, 1, 0), (1, 1), (19, 30), 1),
    "depthwise_dilated": (20, 20, 20, (3, 3), (1, 1), (2, 2, 2, 2), (2, 2), (9, 12), 1),
    "channel_multiplier": (24, 48, 24, (5, 5), (2, 2), (2, 2, 2, 2), (1, 1), (15, 30), 1),
    "1d": (8, 8, 1, (4,), (2,), (1, 2), (1,), (50,), 2),
    "1d_wide": (1, 20, 1, (40,), (16,), (0, 0), (1,), (500,), 1),
    "1d_depthwise": (20, 20, 20, (3,), (1,), (2, 0), (2,), (33,), 2),
    "3d": (20, 8, 1, (3, 2, 3), (1, 2, 1), (1, 0, 1, 1, 1, 0), (1, 1, 1), (5, 6, 7), 2),
    "3d_dilated": (6, 8, 1, (3, 2, 3), (2, 2, 1), (1, 0, 1, 1, 1, 0), (2, 1, 1), (9, 6, 7), 2),
    "3d_groups": (8, 8, 4, (1, 2, 1), (1, 1, 1), (0, 0, 0, 0, 0, 0), (1, 1, 1), (3, 4, 5), 1),
}


@pytest.mark.parametrize("constant", [True, False], ids=["constant", "fed"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_conv(net, normal, case, constant):
    c, o, group, kernel, strides, pads, dilations, size, n = case
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], strides=strides, pads=pads, dilations=dilations, group=group)
    x, rest = {"x": normal(n, c, *size)}, {"w": normal(o, c // group, *kernel), "b": normal(o)}
    net.check([node], x if constant else x | rest, rest if constant else {})


def test_without_bias_and_with_free_sizes(net, normal):
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    net.check([node], {"x": normal(1, 5, 6, 7)}, {"w": normal(18, 5, 3, 3)}, free=True)


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 2), (2, 1), (3, 1)])
def test_auto_pad_counts_the_dilated_kernel(net, normal, mode, stride, dilation):
    node = helper.make_node("Conv", ["x", "w"], ["y"], auto_pad=mode, strides=[stride] * 2, dilations=[dilation] * 2)
    (y,) = net.check([node], {"x": normal(1, 4, 22, 19)}, {"w": normal(6, 4, 3, 3)})
    if mode != "VALID":
        assert y.shape[2] == -(-22 // stride)


def test_one_session_meets_several_sizes(net, normal):
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    w = normal(16, 16, 3, 3)
    session = sardonyx.InferenceSession(net.model([node], {"x": normal(1, 16, 8, 8)}, {"w": w}, ["y"], True), providers=["native"])
    for size in ((8, 8), (1, 1), (8, 8), (40, 3)):
        x = normal(1, 16, *size)
        padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        want = np.einsum("nchwij,ocij->nohw", windows, w.astype(np.float64))
        np.testing.assert_allclose(session.run(None, {"x": x})[0], want, rtol=0, atol=2e-5 * np.abs(want).max())


def test_empty_batch(net, normal):
    node = helper.make_node("Conv", ["x", "w"], ["y"])
    (y,) = net.check([node], {"x": normal(0, 4, 5, 5)}, {"w": normal(6, 4, 3, 3)})
    assert y.shape == (0, 6, 3, 3)


@pytest.mark.parametrize(
    ("x", "w", "group"), [((1, 4, 5, 5), (6, 3, 3, 3), 1), ((1, 4, 2, 5), (6, 4, 3, 3), 1), ((1, 4, 5, 5), (5, 2, 3, 3), 2)]
)
def test_what_does_not_fit_is_an_error(net, normal, x, w, group):
    node = helper.make_node("Conv", ["x", "w"], ["y"], group=group)
    feeds = {"x": normal(*x), "w": normal(*w)}
    with pytest.raises(SardonyxError):
        net.native(net.model([node], feeds, {}, ["y"], True), feeds)


def test_an_unknown_auto_pad_is_an_error(net, normal):
    node = helper.make_node("Conv", ["x", "w"], ["y"], auto_pad="BAD")
    feeds = {"x": normal(1, 4, 5, 5), "w": normal(6, 4, 3, 3)}
    with pytest.raises(SardonyxError, match="auto_pad is 'BAD'"):
        net.native(net.model([node], feeds, {}, ["y"], True), feeds)


WINOGRAD = {
    "one_tile_row": (16, 16, (4, 9), (1, 1, 1, 1)),
    "odd": (24, 40, (13, 11), (1, 1, 1, 1)),
    "uneven_pads": (20, 24, (14, 15), (0, 2, 1, 0)),
    "without_pads": (64, 64, (30, 30), (0, 0, 0, 0)),
    "wide_pads": (16, 16, (5, 6), (4, 4, 4, 4)),
    "many_channels": (256, 72, (7, 7), (1, 1, 1, 1)),
    "large": (32, 32, (56, 56), (1, 1, 1, 1)),
}


@pytest.mark.parametrize("case", WINOGRAD.values(), ids=WINOGRAD.keys())
def test_winograd(net, normal, case):
    c, o, size, pads = case
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=pads)
    feeds, weights = {"x": normal(2, c, *size)}, {"w": normal(o, c, 3, 3), "b": normal(o)}
    net.check([node], feeds, weights, rtol=2e-5)
    net.check([node], feeds, weights, rtol=4e-6, winograd=False)


# Along one axis, and of five taps: channels, outputs, size, kernel, pads, dilations.
FORMS = {
    "three_of_a_row": (32, 40, (9, 33), (1, 3), (0, 1, 0, 1), (1, 1)),
    "three_of_a_column": (32, 24, (34, 9), (3, 1), (1, 0, 2, 0), (1, 1)),
    "five_of_a_row": (48, 32, (7, 31), (1, 5), (0, 2, 0, 2), (1, 1)),
    "five_of_a_column": (24, 32, (31, 10), (5, 1), (0, 0, 0, 0), (1, 1)),
    "five_by_five": (32, 40, (21, 18), (5, 5), (2, 2, 2, 2), (1, 1)),
    "dilated_row": (32, 32, (6, 40), (1, 3), (0, 4, 0, 4), (1, 4)),
    "one_column": (64, 64, (90, 1), (5, 1), (2, 0, 2, 0), (1, 1)),
    "sequence": (64, 72, (77,), (3,), (1, 1), (1,)),
    "long_sequence": (256, 48, (2100,), (5,), (0, 0), (1,)),
    "dilated_sequence": (32, 32, (200,), (3,), (8, 8), (8,)),
}


@pytest.mark.parametrize("case", FORMS.values(), ids=FORMS.keys())
def test_winograd_of_other_forms(net, normal, case):
    c, o, size, kernel, pads, dilations = case
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=pads, dilations=dilations),
        helper.make_node("Add", ["c", "r"], ["s"]),
        helper.make_node("LeakyRelu", ["s"], ["y"]),
    ]
    n = len(size)
    out = [d + a + b - (k - 1) * e for d, a, b, k, e in zip(size, pads[:n], pads[n:], kernel, dilations, strict=True)]
    weights = {"w": normal(o, c, *kernel), "b": normal(o)}
    net.check(nodes[:1], {"x": normal(2, c, *size)}, weights, outputs=["c"], rtol=2e-5)
    net.check(nodes[:1], {"x": normal(2, c, *size)}, weights, outputs=["c"], rtol=4e-6, winograd=False)
    net.check(nodes, {"x": normal(2, c, *size), "r": normal(2, o, *out)}, weights, rtol=2e-5)


DILATED = {
    "squares": (32, 40, (32, 32), (2, 2), (2, 2, 2, 2), 2),
    "odd": (24, 20, (27, 33), (2, 4), (2, 4, 2, 4), 1),
    "uneven_pads": (32, 32, (30, 29), (3, 2), (0, 2, 6, 3), 2),
    "phases_together": (64, 64, (16, 16), (2, 2), (2, 2, 2, 2), 3),
    "pads_that_shift_phases": (32, 32, (20, 20), (2, 2), (1, 1, 3, 3), 1),
}


@pytest.mark.parametrize("case", DILATED.values(), ids=DILATED.keys())
def test_winograd_of_dilated_convolutions(net, normal, case):
    c, o, size, dilations, pads, n = case
    feeds, weights = {"x": normal(n, c, *size)}, {"w": normal(o, c, 3, 3), "b": normal(o)}
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=pads, dilations=dilations), helper.make_node("LeakyRelu", ["c"], ["y"])]
    net.check(nodes, feeds, weights, rtol=2e-5)
    residual = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=pads, dilations=dilations),
        helper.make_node("Add", ["c", "r"], ["s"]),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    out = [d + a + b - 2 * k for d, a, b, k in zip(size, pads[:2], pads[2:], dilations, strict=True)]
    net.check(residual, feeds | {"r": normal(n, o, *out)}, weights, rtol=2e-5)


def test_winograd_of_many_small_images(net, normal):
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    net.check([node], {"x": normal(9, 64, 7, 7)}, {"w": normal(64, 64, 3, 3)}, rtol=2e-5)
    net.check([node], {"x": normal(5, 256, 7, 7)}, {"w": normal(256, 256, 3, 3)}, rtol=2e-5)
