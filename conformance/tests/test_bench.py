"""Timing side by side: feeds, differences, dead engines, the command."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from sardonyx.errors import InvalidInput
from sardonyx_conformance.bench.__main__ import main
from sardonyx_conformance.bench.feeds import make_feeds, parse_model
from sardonyx_conformance.bench.measure import difference, measure, speedups
from sardonyx_conformance.bench.worker import burst


@pytest.fixture
def model(tmp_path):
    """y = relu(x) + mask, and integers and booleans that nothing reads."""
    value = helper.make_tensor_value_info
    inputs = [
        value("x", TensorProto.FLOAT, ["batch", 3, "w"]),
        value("mask", TensorProto.FLOAT, [3, "w"]),
        value("ids", TensorProto.INT64, ["n"]),
        value("on", TensorProto.BOOL, []),
    ]
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Add", ["a", "mask"], ["y"])]
    graph = helper.make_graph(nodes, "g", inputs, [value("y", TensorProto.FLOAT, ["batch", 3, "w"])])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return str(path)


def test_feeds(model):
    """Dimensions by name, by input and axis, and for the rest; ones for masks."""
    path, dims = parse_model(f"{model}:batch=2,mask.1=5,x.2=5,*=7")
    assert path == model
    feeds = make_feeds(path, dims, max_int=4)
    assert {k: v.shape for k, v in feeds.items()} == {"x": (2, 3, 5), "mask": (3, 5), "ids": (7,), "on": ()}
    assert (feeds["mask"] == 1).all()
    assert feeds["ids"].max() < 4
    assert feeds["ids"].dtype == np.int64
    np.testing.assert_array_equal(feeds["x"], make_feeds(path, dims)["x"])


def test_wrong_dimension(model):
    """Named, with what would be right."""
    with pytest.raises(InvalidInput, match="'batch=two' is no dimension"):
        parse_model(f"{model}:batch=two")


def test_difference():
    """Relative to the reference's largest value."""
    a = [np.array([1, -4], np.float32), np.array([3])]
    assert difference(a, a) == 0
    assert difference(a, [np.array([1, -4.4], np.float32), np.array([3])]) == pytest.approx(0.1)
    assert difference(a, [np.array([1, np.nan], np.float32), np.array([3])]) == float("inf")
    assert difference(a, [np.array([[1, -4]], np.float32), np.array([3])]) == float("inf")
    assert difference(a, a[:1]) == float("inf")
    nan = [np.array([np.nan, np.inf])]
    assert difference(nan, nan) == 0
    assert difference([np.array(["a"], object)], [np.array(["b"], object)]) == float("inf")
    assert difference([np.zeros(2)], [np.zeros(2)]) == 0


def test_burst():
    """Three runs at least."""
    calls = []
    assert len(burst(lambda: calls.append(1), 0)) == 3 == len(calls)


def test_measure(model):
    """Two engines and one that cannot run: the others are timed."""
    row = measure(model, ["sardonyx:cpu", "sardonyx:nobody", "sardonyx"], rounds=2, seconds=0.01)
    assert "no provider is called 'nobody'" in row["sardonyx:nobody"]["error"]
    for engine in ("sardonyx:cpu", "sardonyx"):
        r = row[engine]
        assert 0 < r["median_s"] <= r["p90_s"] <= r["p99_s"]
        assert r["runs"] >= 6
        assert r["difference"] == 0
        assert r["load_s"] > 0
        assert r["first_s"] > 0


def test_speedups():
    """Against the fastest other engine that is right."""
    row = {
        "a": {"median_s": 2.0, "difference": 0.0},
        "b": {"median_s": 1.0, "difference": 1.0},
        "c": {"median_s": 4.0, "difference": 0.0},
        "d": {"error": "died"},
    }
    assert speedups([row], "a", 1e-4) == [2.0]
    assert speedups([row], "d", 1e-4) == []


def test_command(model, tmp_path, capsys):
    """A table, JSON, and statuses."""
    file = tmp_path / "out.json"
    arguments = ["--engines", "sardonyx:cpu", "--rounds", "1", "--seconds", "0.01", "--json", str(file)]
    assert main([f"{model}:batch=2", *arguments]) == 0
    assert "sardonyx:cpu" in capsys.readouterr().out
    (told,) = json.loads(file.read_text())
    assert told["dims"] == {"batch": 2}
    assert told["engines"]["sardonyx:cpu"]["difference"] == 0
    assert main([f"{model}:batch=two", *arguments]) == 2
    assert main([model, "--engines", "abacus"]) == 2
    assert main([str(tmp_path / "missing.onnx"), *arguments]) == 2
    assert "no engine is called 'abacus'" in capsys.readouterr().err
