import pytest
from onnx import helper


def conv(x, y):
    return helper.make_node("Conv", [x, f"w_{y}", f"b_{y}"], [y], name=y)


@pytest.fixture
def excited(normal):
    """excited(gate=..., outer=...): nodes, feeds and weights of c + c * gate(mean(c)), c a 1x1 convolution of x."""

    def make(first=True, gate="HardSigmoid", height=9, width=7):
        nodes = [
            conv("x", "c"),
            helper.make_node("GlobalAveragePool", ["c"], ["m"]),
            conv("m", "s"),
            helper.make_node("Relu", ["s"], ["r"]),
            conv("r", "e"),
            helper.make_node(gate, ["e"], ["g"]),
            helper.make_node("Mul", ["c", "g"] if first else ["g", "c"], ["p"]),
            helper.make_node("Add", ["c", "p"] if first else ["p", "c"], ["y"]),
        ]
        weights = {}
        for y, o, i in (("c", 20, 12), ("s", 5, 20), ("e", 20, 5)):
            weights[f"w_{y}"], weights[f"b_{y}"] = normal(o, i, 1, 1), normal(o)
        return nodes, {"x": normal(2, 12, height, width)}, weights

    return make


ONE_PASS = ["Conv", "GlobalAveragePool", "sx::Conv", "sx::Conv", "sx::BlockMap", "sx::ConvertLayout"]


@pytest.mark.parametrize("gate", ["HardSigmoid", "Sigmoid"])
@pytest.mark.parametrize("first", [True, False])
def test_one_pass(net, excited, prepared, first, gate):
    nodes, feeds, weights = excited(first, gate)
    assert prepared(nodes, feeds, weights) == ONE_PASS
    net.check(nodes, feeds, weights, rtol=2e-5)


def test_free_sizes(net, excited, prepared):
    nodes, feeds, weights = excited()
    assert prepared(nodes, feeds, weights, free=True) == ONE_PASS
    net.check(nodes, feeds, weights, rtol=2e-5, free=True)


@pytest.mark.parametrize("wanted", ["p", "g"])
def test_a_gate_or_product_that_others_read_stays(net, excited, prepared, wanted):
    nodes, feeds, weights = excited()
    assert prepared(nodes, feeds, weights, ["y", wanted]).count("sx::BlockMap") == 2
    net.check(nodes, feeds, weights, ["y", wanted], rtol=2e-5)


def test_a_gate_per_pixel_stays(net, normal, prepared):
    nodes = [
        conv("x", "c"),
        conv("x", "g"),
        helper.make_node("Mul", ["c", "g"], ["p"]),
        helper.make_node("Add", ["c", "p"], ["y"]),
    ]
    feeds = {"x": normal(1, 12, 5, 5)}
    weights = {"w_c": normal(20, 12, 1, 1), "b_c": normal(20), "w_g": normal(20, 12, 1, 1), "b_g": normal(20)}
    assert prepared(nodes, feeds, weights).count("sx::BlockMap") == 2
    net.check(nodes, feeds, weights, rtol=2e-5)


def test_another_tensor_added_stays(net, excited, prepared, normal):
    nodes, feeds, weights = excited()
    nodes[-1] = helper.make_node("Add", ["p", "z"], ["y"])
    feeds["z"] = normal(2, 20, 9, 7)
    assert prepared(nodes, feeds, weights).count("sx::BlockMap") == 2
    net.check(nodes, feeds, weights, rtol=2e-5)
