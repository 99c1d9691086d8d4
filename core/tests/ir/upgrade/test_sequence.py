"""Recurrent operators of opset 1: numbers before and after."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx.ir.load import load

rng = np.random.default_rng(0)


@pytest.mark.parametrize(("op", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
@pytest.mark.parametrize("opset", [1, 7])
def test_recurrent(tools, op, gates, opset):
    feeds = {"x": rng.normal(size=(3, 2, 4)).astype(np.float32)}
    constants = {"w": rng.normal(size=(1, gates * 5, 4)).astype(np.float32), "r": rng.normal(size=(1, gates * 5, 5)).astype(np.float32)}
    want = tools.reference(tools.one_node(op, feeds, 14, constants, outputs=["y", "h"], hidden_size=5), feeds)
    attrs = {"output_sequence": 1} if opset == 1 else {}
    model = tools.one_node(op, feeds, opset, constants, outputs=["y", "h"], hidden_size=5, **attrs)
    loaded = tools.upgraded(model, feeds, want, op, rtol=1e-5)
    assert loaded.graph.nodes[0].attrs == {"hidden_size": 5}


def test_gru_1_direction(tools):
    feeds = {"x": rng.normal(size=(3, 2, 4)).astype(np.float32)}
    constants = {"w": np.zeros((1, 15, 4), np.float32), "r": np.zeros((1, 15, 5), np.float32)}
    model = tools.one_node("GRU", feeds, 1, constants, outputs=["y"], hidden_size=5, direction="foward")
    assert load(model).graph.nodes[0].attrs["direction"] == "forward"
