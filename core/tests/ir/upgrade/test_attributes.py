"""Dropped, respelled and renamed: numbers before and after."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import helper

from sardonyx.ir.load import load
from sardonyx.ir.schema import newest

X = np.random.default_rng(0).normal(size=(2, 3, 4, 4)).astype(np.float32)


def test_consumed_inputs(tools):
    model = tools.one_node("Relu", {"x": X}, 1, consumed_inputs=[0])
    assert tools.upgraded(model, {"x": X}, [X.clip(0)], "Relu").graph.nodes[0].attrs == {}


def test_selu_defaults(tools):
    a, g = np.float32(1.6732), np.float32(1.0507)
    want = np.where(X > 0, g * X, g * (a * np.exp(X) - a))
    tools.upgraded(tools.one_node("Selu", {"x": X}, 1), {"x": X}, [want], "Selu", rtol=1e-5)


def test_concat_default_axis(tools):
    model = tools.one_node("Concat", {"a": X, "b": X}, 1)
    tools.upgraded(model, {"a": X, "b": X}, [np.concatenate([X, X], 1)], "Concat")


@pytest.mark.parametrize(("to", "dtype"), [("INT32", np.int32), ("DOUBLE", np.float64), ("BOOL", np.bool_)])
def test_cast_to_a_name(tools, to, dtype):
    model = tools.one_node("Cast", {"x": X}, 1, to=to)
    tools.upgraded(model, {"x": X}, [X.astype(dtype)], "Cast")


def test_cast_to_fnuz_is_kept(tools):
    assert load(tools.one_node("Cast", {"x": X}, 19, to=18)).graph.nodes[0].since == 23
    assert load(tools.one_node("Cast", {"x": X}, 19, to=17)).graph.nodes[0].since == newest("", "Cast")


def test_cast_like(tools):
    for dtype, kept in ((np.float16, False), (ml_dtypes.float8_e5m2fnuz, True)):
        model = tools.one_node("CastLike", {"x": X, "like": np.zeros(1, dtype)}, 19)
        assert (load(model).graph.nodes[0].since == 23) is kept


@pytest.mark.parametrize(("op", "attrs"), [("LpPool", {"kernel_shape": [2, 2]}), ("GlobalLpPool", {})])
def test_lp_pool_exponent(tools, op, attrs):
    model = tools.one_node(op, {"x": X}, 1, p=3.0, **attrs)
    cubes = np.abs(X) ** 3
    window = np.lib.stride_tricks.sliding_window_view(cubes, attrs.get("kernel_shape", [4, 4]), axis=(2, 3))
    want = [window.sum((-1, -2)) ** (1 / 3)]
    tools.upgraded(model, {"x": X}, want, op, engine=tools.onnxruntime, rtol=1e-4, opset=11)
    assert load(tools.one_node(op, {"x": X}, 1, p=2.5, **attrs)).graph.nodes[0].since == 1


@pytest.mark.parametrize("mode", [None, "bilinear", "bicubic", "nearest"])
def test_grid_sample_modes(tools, mode):
    grid = np.random.default_rng(1).uniform(-1, 1, (2, 3, 3, 2)).astype(np.float32)
    model = tools.one_node("GridSample", {"x": X, "grid": grid}, 16, **({} if mode is None else {"mode": mode}))
    want = tools.onnxruntime(model, {"x": X, "grid": grid})
    loaded = tools.upgraded(model, {"x": X, "grid": grid}, want, "GridSample", engine=tools.onnxruntime, rtol=1e-4)
    assert loaded.graph.nodes[0].attrs["mode"] in ("linear", "cubic", "nearest")


def test_roi_align_is_not_shifted(tools):
    feeds = {"x": X, "rois": np.float32([[0.5, 0.5, 2.5, 3]]), "batch": np.array([1])}
    model = tools.one_node("RoiAlign", feeds, 10, output_height=2, output_width=2, sampling_ratio=2)
    want = tools.onnxruntime(model, feeds)
    tools.upgraded(model, feeds, want, "RoiAlign", engine=tools.onnxruntime, rtol=1e-4, opset=16)


@pytest.mark.parametrize(("op", "opset"), [("Erf", 9), ("ReduceLogSum", 18), ("ReduceLogSumExp", 13)])
def test_integers_where_only_floats_are_left(tools, op, opset):
    ints = load(tools.one_node(op, {"x": X.astype(np.int32)}, opset)).graph.nodes[0]
    assert ints.since < newest("", op)
    assert load(tools.one_node(op, {"x": X}, opset)).graph.nodes[0].since == newest("", op)


def test_one_hot(tools):
    constants = {"i": np.array([0, 2]), "depth": np.array(3), "values": np.float32([0, 1])}
    tools.upgraded(tools.one_node("OneHot", {}, 9, constants), {}, [np.eye(3, dtype=np.float32)[[0, 2]]], "OneHot")
    constants["i"] = np.array([0, -2])
    assert load(tools.one_node("OneHot", {}, 9, constants)).graph.nodes[0].since == 9


def test_scatter(tools):
    feeds = {"x": X[0, 0], "i": np.array([[1, 0, 2, 3]]), "u": np.float32([[9, 8, 7, 6]])}
    want = X[0, 0].copy()
    want[[1, 0, 2, 3], range(4)] = [9, 8, 7, 6]
    tools.upgraded(tools.one_node("Scatter", feeds, 9), feeds, [want], "ScatterElements")


def test_label_encoder(tools):
    labels = ["a", "b", "a"]
    x = np.array(["a", "b", "c"], object)
    model = tools.one_node("LabelEncoder", {"x": x}, 1, domain="ai.onnx.ml", classes_strings=labels, default_int64=7)
    tools.upgraded(model, {"x": x}, [np.array([0, 1, 7])], "LabelEncoder")
    x = np.array([0, 1, 2, 3])
    model = tools.one_node("LabelEncoder", {"x": x}, 1, domain="ai.onnx.ml", classes_strings=labels, default_string="?")
    tools.upgraded(model, {"x": x}, [np.array(["a", "b", "a", "?"], object)], "LabelEncoder")


def test_new_names_are_unique(tools):
    nodes = [helper.make_node("Softmax", ["x"], ["z"], name="n"), helper.make_node("Relu", ["z"], ["y"], name="n/Flatten")]
    graph = load(tools.model_of(nodes, {"x": X}, ["y"], 11)).graph
    names = [n.name for n in graph.nodes]
    assert len(set(names)) == len(names) == 4
    assert [n.origins for n in graph.nodes] == [("n",)] * 3 + [("n/Flatten",)]
