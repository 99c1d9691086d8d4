import numpy as np
import pytest
from onnx import helper


def net_of(*middle, last="m"):
    """A convolution, nodes with channels last from "t" to `last`, and a convolution."""
    return [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Transpose", ["c"], ["t"], perm=[0, 2, 3, 1]),
        *middle,
        helper.make_node("Transpose", [last], ["b"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["b", "v"], ["y"]),
    ]


def node(op, *inputs, out="m", **attrs):
    return helper.make_node(op, inputs, [out], **attrs)


@pytest.fixture
def data(normal):
    """(feeds, weights) of net_of() for a middle of 20 -> `channels` channels."""

    def make(channels=20, **more):
        return {"x": normal(2, 8, 5, 6)}, {"w": normal(20, 8, 1, 1), "v": normal(12, channels, 1, 1) / 4, **more}

    return make


def test_a_block_of_convnext(net, prepared, normal, data):
    middle = [
        node("LayerNormalization", "t", "s", "o", out="n", epsilon=1e-3),
        node("MatMul", "n", "m1", out="p"),
        node("Add", "p", "b1", out="a"),
        node("Gelu", "a", out="g"),
        node("MatMul", "g", "m2", out="q"),
        node("Add", "b2", "q", out="m"),
    ]
    feeds, w = data(24, s=normal(20), o=normal(20), m1=normal(20, 50), b1=normal(50), m2=normal(50, 24) / 8, b2=normal(24))
    nodes = net_of(*middle)
    assert prepared(nodes, feeds, w) == ["Conv", "sx::BlockNorm", "sx::Conv", "sx::Conv", "Conv", "sx::ConvertLayout"]
    net.check(nodes, feeds, w, rtol=2e-5)


MIDDLES = {
    "multiply": (["Mul"], {"k": (20,)}),
    "multiply_by_a_row": (["Mul"], {"k": (1, 1, 1, 20)}),
    "subtract": (["Sub"], {"k": (20,)}),
    "add_a_scalar": (["Add"], {"k": ()}),
}


@pytest.mark.parametrize("case", MIDDLES.values(), ids=MIDDLES.keys())
@pytest.mark.parametrize("swapped", [False, True])
def test_arithmetic_per_channel(net, prepared, normal, data, case, swapped):
    (op,), shapes = case
    feeds, w = data(k=normal(*shapes["k"]) if shapes["k"] else np.float32(0.3))
    nodes = net_of(node(op, *(("k", "t") if swapped else ("t", "k"))))
    assert "Transpose" not in prepared(nodes, feeds, w)
    net.check(nodes, feeds, w, rtol=2e-5)


def test_residual_with_channels_last(net, prepared, normal, data):
    middle = [node("MatMul", "t", "k", out="p"), node("Add", "t", "p")]
    feeds, w = data(k=normal(20, 20))
    assert "Transpose" not in prepared(net_of(*middle), feeds, w)
    net.check(net_of(*middle), feeds, w, rtol=2e-5)


def test_norm_of_few_and_of_many_channels(net, normal):
    for channels in (3, 16, 33, 200):
        nodes = [
            helper.make_node("Conv", ["x", "w"], ["c"]),
            helper.make_node("Transpose", ["c"], ["t"], perm=[0, 2, 3, 1]),
            node("LayerNormalization", "t", "s", out="m"),
            helper.make_node("Transpose", ["m"], ["y"], perm=[0, 3, 1, 2]),
        ]
        w = {"w": normal(channels, 4, 1, 1), "s": normal(channels)}
        net.check(nodes, {"x": normal(2, 4, 5, 7) + 3}, w, rtol=2e-5)


GUARDS = {
    "norm_of_more_axes": ([node("LayerNormalization", "t", "k", axis=2)], {"k": (6, 20)}),
    "product_with_a_batch_of_matrices": ([node("MatMul", "t", "k")], {"k": (2, 1, 20, 20)}),
    "operand_along_another_axis": ([node("Mul", "t", "k")], {"k": (6, 1)}),
}


@pytest.mark.parametrize("case", GUARDS.values(), ids=GUARDS.keys())
def test_what_is_left_alone(net, prepared, normal, data, case):
    middle, shapes = case
    feeds, w = data(**{n: normal(*s) for n, s in shapes.items()})
    assert prepared(net_of(*middle), feeds, w).count("Transpose") == 2
    net.check(net_of(*middle), feeds, w, rtol=2e-5)
