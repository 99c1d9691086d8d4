import numpy as np
import pytest
from onnx import helper


def transposed(normal, few=1, k=2, channels=12, bias=True, group=1, **attrs):
    """Nodes, feeds and weights of a transposed convolution after another one, and a sigmoid."""
    nodes = [
        helper.make_node("Conv", ["x", "w_c"], ["c"]),
        helper.make_node("ConvTranspose", ["c", "w_t", *(["b_t"] if bias else [])], ["t"], name="t", group=group, **attrs),
        helper.make_node("Sigmoid", ["t"], ["y"]),
    ]
    weights = {"w_c": normal(channels, 3, 1, 1), "w_t": normal(channels, few, k, k), "b_t": normal(few * group)}
    return nodes, {"x": normal(2, 3, 7, 10)}, weights if bias else {n: w for n, w in weights.items() if n != "b_t"}


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize(
    "case",
    [
        {"strides": [2, 2]},
        {"few": 3, "strides": [2, 2], "bias": False},
        {"few": 4, "k": 4, "strides": [4, 4], "pads": [0, 0, 0, 0], "auto_pad": "NOTSET"},
        {"few": 2, "k": 3, "strides": [3, 3], "auto_pad": "VALID"},
    ],
    ids=["one_channel", "no_bias", "fours", "valid"],
)
def test_windows_side_by_side(net, normal, prepared, case, free):
    nodes, feeds, weights = transposed(normal, **case)
    made = prepared(nodes, feeds, weights, free=free)
    assert "DepthToSpace" in made
    assert not any("ConvTranspose" in op for op in made)
    net.check(nodes, feeds, weights, rtol=2e-5, free=free)


@pytest.mark.parametrize(
    "case",
    [
        {"strides": [2, 2], "few": 5},
        {"strides": [2, 2], "few": 2, "group": 2},
        {"strides": [2, 2], "k": 3},
        {"strides": [3, 3]},
        {"strides": [2, 2], "pads": [0, 1, 0, 0]},
        {"strides": [2, 2], "output_padding": [1, 0]},
        {"strides": [2, 2], "output_shape": [14, 20]},
        {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
        {"strides": [2, 2], "dilations": [2, 2]},
    ],
    ids=lambda c: "-".join(c),
)
def test_others_stay(net, normal, prepared, case):
    nodes, feeds, weights = transposed(normal, **case)
    assert "DepthToSpace" not in prepared(nodes, feeds, weights)
    net.check(nodes, feeds, weights, rtol=2e-5)


def test_weights_that_are_fed_stay(net, normal, prepared):
    nodes, feeds, weights = transposed(normal, strides=[2, 2])
    feeds["w_t"] = weights.pop("w_t").astype(np.float32)
    assert "DepthToSpace" not in prepared(nodes, feeds, weights)
    net.check(nodes, feeds, weights, rtol=2e-5)
