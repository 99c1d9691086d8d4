import json
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.ep import TensorInfo
from sardonyx.errors import InvalidInput
from sardonyx.ir.graph import Node, Value
from sardonyx.ir.types import TensorType
from sardonyx.runtime.profiler import Profile
from sardonyx.runtime.work import Work

X = np.arange(4, dtype=np.float32)


@pytest.fixture
def model(make_model):
    nodes = [helper.make_node("Neg", ["x"], ["a"], name="first"), helper.make_node("Sin", ["a"], ["y"], name="second")]
    return make_model(nodes, ["x"], ["y"])


def test_a_profile_has_every_execution(model):
    profile = sardonyx.InferenceSession(model, providers=["cpu"]).profile({"x": X}, runs=5, warmup=1)
    assert profile.runs == 5
    assert [(e.node, e.ep) for e in profile.events] == [("first", "cpu"), ("second", "cpu")] * 5
    rows = {r["node"]: r for r in profile.rows()}
    assert rows["first"]["calls"] == 5
    assert rows["first"]["bytes"] == 16
    assert rows["first"]["shapes"] == ["float[4]"]
    assert sum(r["share"] for r in rows.values()) == pytest.approx(1)
    assert {r["op"] for r in profile.by_op()} == {"Neg", "Sin"}
    assert "second" in str(profile)


def test_rates_where_shapes_follow_from_data(make_model):
    nodes = [helper.make_node("NonZero", ["x"], ["i"], name="find"), helper.make_node("Neg", ["i"], ["y"], name="turn")]
    profile = sardonyx.InferenceSession(
        make_model(nodes, ["x"], [helper.make_tensor_value_info("y", TensorProto.INT64, None)]), providers=["cpu"]
    ).profile({"x": X}, runs=1)
    assert profile.work("turn") == Work(0, 2 * 3 * 8)
    assert profile.work("find") == Work(0, 16 + 3 * 8)


def test_an_output_inside_a_provider_is_told_by_type_and_shape():
    node = Node("Relu", [Value("x", TensorType(np.dtype("f4"), (None,)))], [Value("y", TensorType(np.dtype("f4"), (None,)))], name="n")
    profile = Profile()
    profile.record(node, 0, 1, [TensorInfo(np.dtype("f4"), (3, 2))], "some")
    event = profile.events[0]
    assert (event.ep, event.shapes, event.bytes, event.sizes) == ("some", ["float[3, 2]"], 24, [24])
    profile.record(node, 1, 2, [None], "some")
    assert profile.events[1].shapes == []


def test_a_trace_is_what_chrome_reads(model, tmp_path):
    profile = sardonyx.InferenceSession(model, providers=["cpu"]).profile({"x": X}, runs=2)
    events = json.loads(Path(profile.save(str(tmp_path / "trace.json"))).read_text())
    assert [e["name"] for e in events] == ["Neg first", "Sin second"] * 2
    assert all(e["ph"] == "X" and e["ts"] >= 0 and e["dur"] >= 0 for e in events)
    starts = [e["ts"] for e in events]
    assert starts == sorted(starts)


def test_profiling_as_in_onnxruntime(model, tmp_path):
    options = sardonyx.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "p_")
    session = sardonyx.InferenceSession(model, options, providers=["cpu"])
    assert session.get_profiling_start_time_ns() > 0
    session.run(None, {"x": X})
    session.run(["y"], {"x": X})
    path = session.end_profiling()
    assert path.startswith(options.profile_file_prefix)
    assert len(json.loads(Path(path).read_text())) == 4
    session.run(None, {"x": X})
    with pytest.raises(InvalidInput, match="enable_profiling"):
        session.end_profiling()


def test_nodes_of_bodies_are_in_the_profile(make_model):
    value = helper.make_tensor_value_info
    branches = {
        k: helper.make_graph([helper.make_node(op, ["x"], ["r"], name=k)], k, [], [value("r", 1, None)])
        for k, op in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }
    model = make_model(
        [helper.make_node("If", ["flag"], ["y"], name="choice", **branches)], ["x", value("flag", TensorProto.BOOL, [])], ["y"]
    )
    profile = sardonyx.InferenceSession(model, providers=["cpu"]).profile({"x": X, "flag": np.array(True)}, runs=1, warmup=0)
    assert [e.op for e in profile.events if e.op in ("Neg", "Abs")] == ["Neg"]
