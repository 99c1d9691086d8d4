import numpy as np
import pytest
from onnx import helper

# few channels, of many, kernel, attributes
CASES = {
    "one": (1, 16, (3, 3), {"pads": [1, 1, 1, 1]}),
    "two": (2, 48, (3, 3), {"pads": [1, 1, 1, 1]}),
    "picture": (3, 32, (9, 9), {"pads": [4, 4, 4, 4]}),
    "four_points": (4, 32, (1, 1), {}),
    "strided": (3, 16, (5, 3), {"strides": [2, 3], "pads": [2, 0, 1, 2]}),
    "dilated": (2, 16, (3, 3), {"dilations": [2, 4], "pads": [2, 4, 2, 4]}),
    "windows_in_the_padding": (1, 16, (7, 7), {"pads": [9, 8, 7, 9], "dilations": [2, 1]}),
    "wider_than_the_input": (4, 16, (3, 40), {"pads": [1, 20, 1, 20]}),
}


@pytest.fixture
def head(normal):
    """head(case, activation): nodes, feeds and weights of a convolution to few channels behind one to many, and an activation."""

    def make(case, activation=None, height=13, width=45, **attrs):
        few, many, kernel, own = CASES[case]
        nodes = [
            helper.make_node("Conv", ["x", "w_c", "b_c"], ["c"]),
            helper.make_node("Conv", ["c", "w_f", "b_f"], ["f" if activation else "y"], **own),
        ]
        if activation:
            nodes.append(helper.make_node(activation, ["f"], ["y"], **attrs))
        scale = np.float32(1 / np.sqrt(many * kernel[0] * kernel[1]))
        weights = {"w_c": normal(many, 5, 1, 1), "b_c": normal(many), "w_f": normal(few, many, *kernel) * scale, "b_f": normal(few)}
        return nodes, {"x": normal(2, 5, height, width)}, weights

    return make


@pytest.mark.parametrize("case", CASES)
def test_against_the_definition(net, head, prepared, case):
    nodes, feeds, weights = head(case)
    assert prepared(nodes, feeds, weights) == ["Conv", "Conv"], "neither end is blocked"
    net.check(nodes, feeds, weights, rtol=2e-5)


@pytest.mark.parametrize(("activation", "attrs"), [("Sigmoid", {}), ("Relu", {}), ("Tanh", {}), ("LeakyRelu", {"alpha": 0.3})])
@pytest.mark.parametrize("case", ["one", "picture"])
def test_activations_are_its_own(net, head, prepared, case, activation, attrs):
    nodes, feeds, weights = head(case, activation, **attrs)
    assert prepared(nodes, feeds, weights) == ["Conv", "sx::Conv"]
    net.check(nodes, feeds, weights, rtol=2e-5)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 60), (30, 1), (2, 15)])
@pytest.mark.parametrize("case", ["two", "picture"])
def test_sizes(net, head, case, height, width):
    net.check(*head(case, height=height, width=width), rtol=2e-5, free=True)


def test_channels_that_fill_no_block_stay_blocked(net, normal, prepared):
    """Log makes the padding of a block -inf, which must not reach the sums."""
    nodes = [
        helper.make_node("Conv", ["x", "w_c", "b_c"], ["c"]),
        helper.make_node("Abs", ["c"], ["a"]),
        helper.make_node("Log", ["a"], ["l"]),
        helper.make_node("Conv", ["l", "w_f"], ["y"], pads=[1, 1, 1, 1]),
    ]
    weights = {"w_c": normal(19, 5, 1, 1), "b_c": np.full(19, 99, np.float32), "w_f": normal(2, 19, 3, 3)}
    feeds = {"x": normal(1, 5, 9, 9)}
    assert prepared(nodes, feeds, weights)[-1] == "sx::ConvertLayout"
    net.check(nodes, feeds, weights, rtol=2e-5)


def test_one_axis(net, normal):
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[2, 2])]
    net.check(nodes, {"x": normal(2, 32, 33)}, {"w": normal(2, 32, 5)}, rtol=2e-5)
