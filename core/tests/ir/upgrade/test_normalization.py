"""BatchNormalization, GroupNormalization, Dropout: numbers before and after."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx.ir.load import load
from sardonyx.ir.schema import newest

rng = np.random.default_rng(0)
X = rng.normal(size=(4, 3, 5)).astype(np.float32)
S, B, M = (rng.normal(size=3).astype(np.float32) for _ in range(3))
V = rng.uniform(0.5, 2, 3).astype(np.float32)


def normal(x, s, b, m, v):
    return (x - m) / np.sqrt(v + 1e-5) * s + b


def column(*arrays):
    return [a[:, None] for a in arrays]


@pytest.mark.parametrize(("opset", "attrs"), [(1, {"is_test": 1, "consumed_inputs": [0, 0]}), (6, {"is_test": 1}), (7, {}), (9, {})])
def test_inference(tools, opset, attrs):
    model = tools.one_node("BatchNormalization", {"x": X}, opset, {"s": S, "b": B, "m": M, "v": V}, **attrs)
    loaded = tools.upgraded(model, {"x": X}, [normal(X, *column(S, B, M, V))], "BatchNormalization", rtol=1e-5)
    assert loaded.graph.nodes[0].attrs == {}


@pytest.mark.parametrize("opset", [6, 7, 9])
def test_training(tools, opset):
    model = tools.one_node(
        "BatchNormalization", {"x": X}, opset, {"s": S, "b": B, "m": M, "v": V}, outputs=["y", "om", "ov"], momentum=0.75
    )
    mean, var = X.mean((0, 2)), X.var((0, 2))
    want = [normal(X, *column(S, B, mean, var)), 0.75 * M + 0.25 * mean, 0.75 * V + 0.25 * var]
    loaded = tools.upgraded(model, {"x": X}, want, "BatchNormalization", rtol=1e-4)
    assert loaded.graph.nodes[0].attrs["training_mode"] == 1


def test_saved_statistics_are_kept(tools):
    outputs = ["y", "om", "ov", "sm", "sv"]
    model = tools.one_node("BatchNormalization", {"x": X}, 7, {"s": S, "b": B, "m": M, "v": V}, outputs=outputs)
    assert load(model).graph.nodes[0].since == 7
    del model.graph.output[1:]
    assert load(model).graph.nodes[0].since == newest("", "BatchNormalization")


@pytest.mark.parametrize("constant", [True, False])
def test_per_activation(tools, constant):
    parts = {k: rng.uniform(0.5, 2, (3, 5)).astype(np.float32) for k in "sbmv"}
    feeds = {"x": X} if constant else {"x": X} | parts
    model = tools.one_node("BatchNormalization", feeds, 7, parts if constant else None, spatial=0)
    ops = "Flatten Shape " + ("" if constant else "Reshape " * 4) + "BatchNormalization Reshape"
    tools.upgraded(model, feeds, [normal(X, **parts)], ops, rtol=1e-5)


@pytest.mark.parametrize("channels", ["static", "dynamic"])
@pytest.mark.parametrize("constant", [True, False])
def test_group_scale_becomes_channel_scale(tools, constant, channels):
    x = rng.normal(size=(2, 6, 4)).astype(np.float32)
    scale, bias = np.float32([1, 2, 3]), np.float32([-1, 0, 1])
    feeds = {"x": x} if constant else {"x": x, "s": scale, "b": bias}
    model = tools.one_node("GroupNormalization", feeds, 18, {"s": scale, "b": bias} if constant else None, num_groups=3)
    if channels == "dynamic":
        model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "c"
    groups = x.reshape(2, 3, 8)
    flat = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    want = (flat * scale[:, None] + bias[:, None]).reshape(x.shape)
    loaded = tools.upgraded(model, feeds, [want], rtol=1e-4)
    assert [n.op for n in loaded.graph.nodes].count("GroupNormalization") == 1
    if constant and channels == "static":
        assert len(loaded.graph.nodes) == 1


@pytest.mark.parametrize(("opset", "attrs"), [(1, {"is_test": 1}), (6, {"is_test": 1}), (7, {}), (10, {})])
def test_dropout_copies(tools, opset, attrs):
    model = tools.one_node("Dropout", {"x": X}, opset, ratio=0.25, **attrs)
    node = tools.upgraded(model, {"x": X}, [X], "Dropout").graph.nodes[0]
    assert node.const(1) == np.float32(0.25)


@pytest.mark.parametrize(("opset", "ops", "dtype"), [(7, "Dropout CastLike", np.float32), (10, "Dropout", np.bool_)])
def test_dropout_mask(tools, opset, ops, dtype):
    model = tools.one_node("Dropout", {"x": X}, opset, outputs=["y", "mask"])
    tools.upgraded(model, {"x": X}, [X, np.ones_like(X, dtype)], ops)


def test_dropout_without_is_test_trains(tools):
    node = load(tools.one_node("Dropout", {"x": X}, 6)).graph.nodes[0]
    assert node.const(2) == np.True_


def test_dropout_mask_of_a_test_is_kept(tools):
    assert load(tools.one_node("Dropout", {"x": X}, 6, outputs=["y", "mask"], is_test=1)).graph.nodes[0].since == 6
