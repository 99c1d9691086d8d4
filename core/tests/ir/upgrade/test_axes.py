"""Attributes that became inputs: numbers before and after."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from sardonyx.ir.load import load

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("op", "opset", "x", "attrs", "want"),
    [
        ("Squeeze", 1, X[:, None], {"axes": [1]}, X),
        ("Squeeze", 11, X[None, :, None], {}, X),
        ("Unsqueeze", 1, X, {"axes": [0, 4]}, X[None, ..., None]),
        ("Unsqueeze", 11, X, {"axes": [-1]}, X[..., None]),
        ("ReduceSum", 1, X, {"axes": [1], "keepdims": 0}, X.sum(1)),
        ("ReduceSum", 11, X, {"axes": [-1]}, X.sum(-1, keepdims=True)),
        ("ReduceMean", 1, X, {}, X.mean(keepdims=True)),
        ("ReduceMax", 12, X, {"axes": [0, 2]}, X.max((0, 2), keepdims=True)),
        ("ReduceL2", 13, X, {"axes": [2], "keepdims": 0}, np.sqrt((X * X).sum(2))),
        ("ReduceLogSum", 11, X + 1, {"axes": [2], "keepdims": 0}, np.log((X + 1).sum(2))),
        ("Reshape", 1, X, {"shape": [0, -1]}, X.reshape(2, 12)),
        ("Slice", 1, X, {"starts": [1, -3], "ends": [9, 3]}, X[1:, -3:3]),
        ("Slice", 1, X, {"starts": [-2], "ends": [2**31 - 1], "axes": [2]}, X[..., -2:]),
        ("Tile", 1, None, {}, None),
        ("Clip", 1, X, {"min": 3.0}, X.clip(3)),
        ("Clip", 6, X, {"max": 5.0}, X.clip(None, 5)),
        ("Clip", 6, X.astype(np.float16), {"max": 5.0, "min": 2.0}, X.clip(2, 5).astype(np.float16)),
        ("Pad", 1, X[0], {"paddings": [0, 1, 2, 0]}, np.pad(X[0], ((0, 2), (1, 0)))),
        ("Pad", 2, X[0], {"pads": [0, 1, 0, -1], "value": 2.5}, np.pad(X[0, :, :3], ((0, 0), (1, 0)), constant_values=2.5)),
        ("Pad", 2, X[0], {"pads": [0, 1, 0, 1], "mode": "reflect"}, np.pad(X[0], ((0, 0), (1, 1)), mode="reflect")),
    ],
)
def test_one_output(tools, op, opset, x, attrs, want):
    if op == "Tile":
        constants = {"tiles": np.float32(2), "axis": np.float32(1)}
        model, x, want = tools.one_node("Tile", {"x": X}, 1, constants), X, np.tile(X, (1, 2, 1))
    else:
        model = tools.one_node(op, {"x": x}, opset, **attrs)
    engine = tools.onnxruntime if op == "Pad" else tools.reference
    tools.upgraded(model, {"x": x}, [want], op, engine=engine)


def test_split_lengths_as_attribute(tools):
    model = tools.one_node("Split", {"x": X}, 2, outputs=["a", "b"], axis=2, split=[1, 3])
    tools.upgraded(model, {"x": X}, [X[..., :1], X[..., 1:]], "Split")


def test_split_lengths_as_typed_input(tools):
    model = tools.one_node("Split", {"x": X}, 1, {"split": np.array([2, 1], np.float32)}, outputs=["a", "b"], axis=1)
    tools.upgraded(model, {"x": X}, [X[:, :2], X[:, 2:]], "Split")


@pytest.mark.parametrize("opset", [1, 2, 11, 13])
def test_split_evenly(tools, opset):
    model = tools.one_node("Split", {"x": X}, opset, outputs=["a", "b"], axis=2)
    loaded = tools.upgraded(model, {"x": X}, [X[..., :2], X[..., 2:]], "Split")
    assert loaded.graph.nodes[0].attrs == {"axis": 2, "num_outputs": 2}


def test_top_k(tools):
    model = tools.one_node("TopK", {"x": X}, 1, outputs=["v", "i"], k=2, axis=1)
    want = [X[:, :0:-1], np.broadcast_to(np.array([2, 1])[None, :, None], (2, 2, 4))]
    tools.upgraded(model, {"x": X}, want, "TopK")


@pytest.mark.parametrize("axis", [None, 1, 2])
def test_dft(tools, axis):
    x = np.random.default_rng(0).normal(size=(2, 5, 3, 1)).astype(np.float32)
    attrs = {} if axis is None else {"axis": axis}
    want = np.fft.fft(x[..., 0], axis=axis or 1)
    model = tools.one_node("DFT", {"x": x}, 17, **attrs)
    tools.upgraded(model, {"x": x}, [np.stack([want.real, want.imag], -1).astype(np.float32)], "DFT", rtol=1e-4)


def test_tile_of_unknown_rank_is_kept(tools):
    constants = {"tiles": np.float32(2), "axis": np.float32(1)}
    model = tools.one_node("Tile", {"x": X}, 1, constants)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    assert load(model).graph.nodes[0].since == 1


def test_clip_bounds_of_unknown_type_are_kept(tools):
    node = helper.make_node("Mystery", ["x"], ["z"], domain="there")
    clip = helper.make_node("Clip", ["z"], ["y"], min=0.0)
    model = tools.model_of([node, clip], {"x": X}, ["y"], 6)
    model.opset_import.add(domain="there", version=1)
    kept = load(model).graph.nodes[1]
    assert kept.since == 6
    assert kept.attrs == {"min": 0.0}
