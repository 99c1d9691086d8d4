import numpy as np
import pytest
from onnx import helper


def conv(x, y, k=3, group=1, **attrs):
    return helper.make_node("Conv", [x, f"w_{y}", f"b_{y}"], [y], name=y, pads=[k // 2] * 4, group=group, **attrs)


@pytest.fixture
def weights(normal):
    """weights(y=(outputs, inputs, k), ...): constants of conv() nodes, scaled so that sums stay near 1."""

    def make(**sizes):
        made = {}
        for y, (o, i, k) in sizes.items():
            made[f"w_{y}"], made[f"b_{y}"] = normal(o, i, k, k) / np.float32(np.sqrt(i) * k), normal(o)
        return made

    return make


def tail(op, **attrs):
    return [conv("x", "c"), helper.make_node(op, ["c"], ["y"], **attrs)]


ACTIVATIONS = {
    "Relu": {},
    "LeakyRelu": {"alpha": 0.2},
    "Sigmoid": {},
    "HardSigmoid": {"alpha": 0.3, "beta": 0.4},
    "HardSwish": {},
    "Gelu": {},
    "Tanh": {},
    "Elu": {"alpha": 0.7},
    "Softplus": {},
    "Mish": {},
}


@pytest.mark.parametrize("op", ACTIVATIONS)
@pytest.mark.parametrize("shape", [(20, 12, 3, 1), (24, 1, 3, 24), (24, 8, 1, 1)], ids=["3x3", "depthwise", "1x1"])
def test_activation(net, normal, prepared, weights, op, shape):
    o, i, k, group = shape
    nodes = [conv("x", "c", k, group), helper.make_node(op, ["c"], ["y"], **ACTIVATIONS[op])]
    feeds, w = {"x": normal(2, i * group, 7, 9)}, weights(c=(o, i, k))
    assert prepared(nodes, feeds, w) == ["sx::Conv", "sx::ConvertLayout"]
    net.check(nodes, feeds, w, rtol=2e-5)


def test_clip_with_one_bound(net, normal, prepared, weights):
    feeds, w = {"x": normal(1, 12, 7, 9)}, weights(c=(20, 12, 3))
    for bounds in ({"low": np.float32(-0.3)}, {"low": np.float32(-0.3), "high": np.float32(0.5)}):
        nodes = [conv("x", "c"), helper.make_node("Clip", ["c", *bounds], ["y"])]
        assert prepared(nodes, feeds, w | bounds)[0] == "sx::Conv"
        net.check(nodes, feeds, w | bounds, rtol=2e-5)


def test_an_absent_bound_is_the_greatest_finite_number(net, weights):
    x, w = np.full((1, 4, 3, 3), np.inf, np.float32), weights(c=(20, 4, 1)) | {"low": np.float32(0)}
    w["w_c"] = np.abs(w["w_c"])
    nodes = [conv("x", "c", 1), helper.make_node("Clip", ["c", "low"], ["y"])]
    assert np.all(net.native(net.model(nodes, {"x": x}, w, ["y"]), {"x": x})[0] == np.finfo(np.float32).max)


def test_clip_and_relu_keep_nan(net, weights):
    x = np.full((1, 4, 3, 3), np.nan, np.float32)
    for op, extra in (("Relu", {}), ("Clip", {"low": np.float32(0), "high": np.float32(6)})):
        nodes = [conv("x", "c", 1), helper.make_node(op, ["c", *extra], ["y"])]
        w = weights(c=(20, 4, 1)) | extra
        assert np.isnan(net.native(net.model(nodes, {"x": x}, w, ["y"]), {"x": x})[0]).all()


def test_a_convolution_with_two_users_keeps_its_result(net, normal, prepared, weights):
    nodes = [*tail("Relu"), helper.make_node("Sigmoid", ["c"], ["z"])]
    feeds, w = {"x": normal(1, 12, 5, 5)}, weights(c=(20, 12, 3))
    assert prepared(nodes, feeds, w, ["y", "z"])[0] == "Conv"
    net.check(nodes, feeds, w, ["y", "z"], rtol=2e-5)


def test_a_convolution_that_is_an_output_keeps_its_result(net, normal, weights):
    feeds, w = {"x": normal(1, 12, 5, 5)}, weights(c=(20, 12, 3))
    net.check(tail("Relu"), feeds, w, ["c", "y"], rtol=2e-5)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("relu", [None, "before", "after"])
def test_residual(net, normal, prepared, weights, relu, free):
    nodes = [conv("x", "a", 1), conv("a", "b")]
    if relu == "before":
        nodes += [helper.make_node("Relu", ["b"], ["r"]), helper.make_node("Add", ["a", "r"], ["y"])]
    elif relu == "after":
        nodes += [helper.make_node("Add", ["b", "a"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    else:
        nodes += [helper.make_node("Add", ["b", "a"], ["y"])]
    feeds, w = {"x": normal(2, 8, 9, 10)}, weights(a=(20, 8, 1), b=(20, 20, 3))
    if not free:
        assert prepared(nodes, feeds, w) == ["Conv", "sx::Conv", "sx::ConvertLayout"]
    net.check(nodes, feeds, w, rtol=2e-5, free=free)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("channels", "kernel"), [(512, 3), (3200, 1)])
def test_a_residual_that_a_long_sum_replaces(net, normal, weights, channels, kernel, after):
    pads, size = [kernel // 2] * 4, 9 if kernel == 3 else 5
    join = [helper.make_node("Relu", ["l"], ["f"]), helper.make_node("Add", ["c", "f"], ["s"])]
    if not after:
        join = [helper.make_node("Add", ["l", "c"], ["f"]), helper.make_node("Relu", ["f"], ["s"])]
    nodes = [
        conv("r", "d"),
        helper.make_node("Relu", ["d"], ["c"]),
        helper.make_node("Conv", ["x", "w_l"], ["l"], strides=[2 if kernel == 3 else 1] * 2, pads=pads),
        *join,
        conv("s", "y", 1),
    ]
    w = weights(d=(40, 8, 3), y=(20, 40, 1)) | {"w_l": normal(40, channels, kernel, kernel)}
    net.check(nodes, {"r": normal(1, 8, 5, 5), "x": normal(1, channels, size, size)}, w, rtol=2e-5)


def test_the_input_as_its_own_residual(net, normal, weights):
    nodes = [conv("x", "a"), conv("a", "b", 1), helper.make_node("Add", ["b", "a"], ["s"]), conv("s", "y")]
    net.check(nodes, {"x": normal(1, 8, 9, 10)}, weights(a=(32, 8, 3), b=(32, 32, 1), y=(8, 32, 3)), rtol=2e-5)


@pytest.mark.parametrize("other", [(1, 20, 6, 7), (1, 20, 1, 7), (1, 20, 6, 1), (1, 20, 1, 1)])
def test_a_residual_of_unknown_size_may_broadcast(net, normal, weights, other):
    nodes = [conv("x", "c"), helper.make_node("Add", ["c", "r"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    net.check(nodes, {"x": normal(1, 8, 6, 7), "r": normal(*other)}, weights(c=(20, 8, 3)), rtol=2e-5, free=True)


def test_a_scalar_after_the_activation(net, normal, prepared, weights):
    nodes = [
        conv("x", "c"),
        helper.make_node("HardSwish", ["c"], ["h"]),
        helper.make_node("Mul", ["scale", "h"], ["m"]),
        helper.make_node("Add", ["m", "shift"], ["y"]),
    ]
    feeds, w = {"x": normal(1, 12, 7, 9)}, weights(c=(20, 12, 3)) | {"scale": np.float32([1.7]), "shift": np.float32([-0.4])}
    assert prepared(nodes, feeds, w) == ["sx::Conv", "sx::ConvertLayout"]
    net.check(nodes, feeds, w, rtol=2e-5)


def shuffle(x, y, shape, group, perm=(0, 2, 1, 3, 4)):
    n, c, *size = shape
    w = {f"{y}_5": np.array([n, group, c // group, *size], np.int64), f"{y}_4": np.array(shape, np.int64)}
    nodes = [
        helper.make_node("Reshape", [x, f"{y}_5"], [f"{y}_a"]),
        helper.make_node("Transpose", [f"{y}_a"], [f"{y}_b"], perm=perm),
        helper.make_node("Reshape", [f"{y}_b", f"{y}_4"], [y]),
    ]
    return nodes, w


@pytest.mark.parametrize("group", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 3])
def test_a_convolution_reads_shuffled_channels(net, normal, prepared, weights, group, k):
    nodes, w = shuffle("a", "s", (2, 60, 6, 5), 3)
    nodes = [conv("x", "a"), *nodes, conv("s", "y", k, group)]
    w |= weights(a=(60, 8, 3), y=(18, 60 // group, k))
    feeds = {"x": normal(2, 8, 6, 5)}
    assert prepared(nodes, feeds, w) == ["Conv", "sx::Conv", "sx::ConvertLayout"]
    net.check(nodes, feeds, w, rtol=2e-5)


def test_a_shuffle_passes_a_depthwise_convolution(net, normal, prepared, weights):
    nodes, w = shuffle("a", "s", (2, 68, 6, 5), 4)
    nodes = [conv("x", "a"), *nodes, conv("s", "d", 3, 68), helper.make_node("Relu", ["d"], ["r"]), conv("r", "y", 1, 4)]
    w |= weights(a=(68, 8, 3), d=(68, 1, 3), y=(24, 17, 1))
    feeds = {"x": normal(2, 8, 6, 5)}
    assert prepared(nodes, feeds, w) == ["Conv", "sx::Conv", "sx::Conv", "sx::ConvertLayout"]
    net.check(nodes, feeds, w, rtol=2e-5)


def test_a_shuffle_with_other_users_is_done(net, normal, prepared, weights):
    nodes, w = shuffle("a", "s", (2, 24, 6, 5), 3)
    nodes = [conv("x", "a"), *nodes, conv("s", "y", 1), helper.make_node("Relu", ["s"], ["z"])]
    w |= weights(a=(24, 8, 3), y=(9, 24, 1))
    feeds = {"x": normal(2, 8, 6, 5)}
    assert "sx::BlockShuffle" in prepared(nodes, feeds, w, ["y", "z"])
    net.check(nodes, feeds, w, ["y", "z"], rtol=2e-5)


def test_another_transpose_is_no_channel_shuffle(net, normal, prepared, weights):
    nodes, w = shuffle("a", "s", (2, 24, 6, 6), 3, (0, 1, 2, 4, 3))
    nodes = [conv("x", "a"), *nodes]
    w |= weights(a=(24, 8, 3))
    feeds = {"x": normal(2, 8, 6, 6)}
    assert "sx::BlockShuffle" not in prepared(nodes, feeds, w, ["s"])
    net.check(nodes, feeds, w, ["s"], rtol=2e-5)


@pytest.mark.parametrize("channels", [20, 32])
def test_what_stays_in_the_blocked_layout(net, normal, prepared, weights, channels):
    """A net whose middle never leaves the layout, with channels that do not fill a block."""
    names = ["mean", "var", "gamma", "beta"]
    nodes = [
        conv("x", "a"),
        helper.make_node("BatchNormalization", ["p", "gamma", "beta", "mean", "var"], ["n"]),
        helper.make_node("Tanh", ["n"], ["t"]),
        conv("t", "c", 1),
        helper.make_node("Concat", ["a", "c"], ["d"], axis=1),
        helper.make_node("Mul", ["d", "lanes"], ["e"]),
        helper.make_node("GlobalAveragePool", ["e"], ["g"]),
        helper.make_node("Mul", ["e", "g"], ["h"]),
        helper.make_node("Sub", ["one", "h"], ["i"]),
        helper.make_node("Resize", ["i", "", "scales"], ["j"], mode="linear"),
        conv("j", "y"),
    ]
    nodes.insert(1, helper.make_node("MaxPool", ["a"], ["p"], kernel_shape=[3, 3], pads=[1] * 4))
    w = weights(a=(channels, 8, 3), c=(channels, channels, 1), y=(6, 2 * channels, 3))
    w |= {n: np.abs(normal(channels)) + np.float32(0.1) for n in names}
    w |= {"lanes": normal(2 * channels, 1, 1), "one": np.float32(1), "scales": np.float32([1, 1, 2, 2])}
    feeds = {"x": normal(2, 8, 6, 7)}
    plain = [op for op in prepared(nodes, feeds, w) if op == "sx::ConvertLayout"]
    assert len(plain) == 1
    net.check(nodes, feeds, w, rtol=3e-5)


def test_without_rules_the_result_is_the_same(net, normal, weights):
    nodes = [conv("x", "a"), helper.make_node("Relu", ["a"], ["r"]), conv("r", "b"), helper.make_node("Add", ["b", "r"], ["y"])]
    net.check(nodes, {"x": normal(2, 8, 6, 7)}, weights(a=(20, 8, 3), b=(20, 20, 3)), rtol=2e-5, fusion=False)


def test_maximum_keeps_nan_of_either_side(net, normal, weights):
    nodes = [conv("x", "a", 1), helper.make_node("Max", ["a", "r"], ["y"]), helper.make_node("Max", ["r", "a"], ["z"])]
    feeds, w = {"x": normal(1, 4, 3, 3), "r": normal(1, 20, 3, 3)}, weights(a=(20, 4, 1))
    feeds["r"][0, 3] = np.nan
    feeds["x"][0, :, 1, 1] = np.nan
    wanted = np.isnan(feeds["r"])
    wanted[:, :, 1, 1] = True
    for got in net.native(net.model(nodes, feeds, w, ["y", "z"]), feeds):
        np.testing.assert_array_equal(np.isnan(got), wanted)


@pytest.mark.parametrize(
    ("mode", "nearest"), [("linear", "floor"), ("nearest", "floor"), ("nearest", "round_prefer_ceil"), ("nearest", "ceil")]
)
@pytest.mark.parametrize("transformation", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
def test_resize(net, normal, prepared, weights, mode, nearest, transformation):
    resize = helper.make_node(
        "Resize", ["c", "", "scales"], ["y"], mode=mode, nearest_mode=nearest, coordinate_transformation_mode=transformation
    )
    feeds = {"x": normal(1, 8, 5, 6)}
    for scales in ([1, 1, 2, 3], [1, 1, 0.6, 1.5]):
        w = weights(c=(20, 8, 3)) | {"scales": np.float32(scales)}
        assert "sx::BlockResize" in prepared([conv("x", "c"), resize], feeds, w)
        net.check([conv("x", "c"), resize], feeds, w, rtol=2e-5)


def test_concat_of_channels_that_share_blocks(net, normal, weights):
    names = ["a", "b", "c", "d"]
    nodes = [conv("x", n) for n in names] + [helper.make_node("Concat", names, ["j"], axis=1), conv("j", "y", 1)]
    w = weights(a=(16, 4, 3), b=(5, 4, 3), c=(30, 4, 3), d=(3, 4, 3), y=(8, 54, 1))
    net.check(nodes, {"x": normal(2, 4, 5, 6)}, w, ["j", "y"], rtol=2e-5)


def test_plain_users_get_plain_tensors(net, normal, weights):
    nodes = [
        conv("x", "c"),
        helper.make_node("Transpose", ["c"], ["t"], perm=[0, 2, 3, 1]),
        helper.make_node("Flatten", ["c"], ["f"]),
        helper.make_node("Relu", ["c"], ["r"]),
    ]
    net.check(nodes, {"x": normal(2, 4, 5, 6)}, weights(c=(20, 4, 3)), ["t", "f", "r", "c"], rtol=2e-5)
