import gc
import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import sardonyx
from sardonyx.ep import Executable, Provider
from sardonyx.runtime.memory_report import MemoryReport, resident_bytes

X = np.ones((1, 256), np.float32)
BYTES = 256 * 256 * 4


def write(path, padding=0):
    w = numpy_helper.from_array(np.eye(256, dtype=np.float32), "w")
    x, y = (helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["n", 256]) for n in "xy")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Neg", ["p"], ["y"])]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], [w]), opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    model.producer_name = "p" * padding
    onnx.save(model, path)
    return path


def open_session(source):
    return sardonyx.InferenceSession(source, providers=["cpu"])


def test_weights_are_mapped_or_copied(tmp_path):
    found = []
    for padding in range(4):
        held = open_session(write(tmp_path / f"{padding}.onnx", padding)).memory_report().providers["cpu"]
        assert held["mapped"] + held["weights"] == BYTES
        found.append(held["mapped"] == BYTES)
    assert sorted(found) == [False, False, False, True]


def test_bytes_of_the_model_and_extra_plans(tmp_path):
    data = write(tmp_path / "m.onnx").read_bytes()
    session = open_session(data)
    session.run(["p"], {"x": X})
    report = session.memory_report()
    assert report.source == len(data)
    assert report.extra_plans == 1
    assert report.extra["cpu"].keys() == report.providers["cpu"].keys()
    assert report.total >= len(data)
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()
    session.trim()
    assert session.memory_report().extra_plans == 0
    np.testing.assert_array_equal(session.run(["p"], {"x": X})[0], X)


def unaligned(tmp_path, name="m"):
    """A model in a file where its weights cannot be used: each session has the copy that all share."""
    for padding in range(4):
        path = write(tmp_path / f"{name}{padding}.onnx", padding)
        if open_session(path).memory_report().providers["cpu"]["weights"] == BYTES:
            return path
    raise AssertionError("all weights are aligned")


def test_weights_that_plans_and_sessions_share_count_once(tmp_path):
    path = unaligned(tmp_path)
    gc.collect()
    session = open_session(path)
    alone = session.memory_report()
    assert alone.shared == 0
    session.run(["p"], {"x": X})
    session.run(["p", "y"], {"x": X})
    report = session.memory_report()
    assert report.extra_plans == 2
    assert report.providers == alone.providers
    assert report.extra == {"cpu": {"mapped": 0, "packed": 0, "weights": 0}}
    assert report.total == alone.total >= BYTES
    assert report.shared == 0
    other = session.clone()
    assert session.memory_report().shared == other.memory_report().shared == BYTES
    assert other.memory_report().total == alone.total
    assert "of it, shared with others" in str(session.memory_report())
    del other
    gc.collect()
    assert session.memory_report().shared == 0


def test_weights_in_given_bytes_are_the_model_s_bytes(tmp_path):
    for padding in range(4):
        report = open_session(write(tmp_path / "m.onnx", padding).read_bytes()).memory_report()
        held = report.providers["cpu"]
        assert held["mapped"] + held["weights"] == BYTES
        assert report.total == report.source + held["weights"] + held["packed"]


def test_a_report_is_a_table():
    report = MemoryReport({"a": {"arenas": 3 << 20, "mapped": 1 << 30, "plans": 4}}, {"a": {"arenas": 512}}, 1, 1024, 5 << 20)
    assert report.total == (3 << 20) + 512 + 1024
    lines = [line.split() for line in str(report).splitlines()]
    assert ["a", "arenas", "3.0", "MiB"] in lines
    assert ["a", "plans", "4"] in lines
    assert ["a", "(internal", "tensors)", "arenas", "0.5", "KiB"] in lines
    assert ["session", "total,", "without", "mapped", "3.0", "MiB"] in lines
    assert "shared" not in str(report)


def test_providers_tell_and_trim(register, make_model):
    class Held(Executable):
        held = 100

        def run(self, inputs, *, outputs=None, ctx=None):
            return [-inputs[0]]

        def memory(self):
            return {"arenas": self.held}

        def trim(self):
            self.held = 0

    class Keeps(Provider):
        def claim(self, graph):
            from sardonyx.ep import Claim

            return {n: Claim() for n in graph.nodes}

        def compile(self, graph, context):
            return Held()

    register("keeps", Keeps)
    session = sardonyx.InferenceSession(make_model([helper.make_node("Neg", ["x"], ["y"])], ["x"], ["y"]), providers=["keeps"])
    assert session.memory_report().providers == {"keeps": {"arenas": 100}}
    session.trim()
    assert session.memory_report().providers == {"keeps": {"arenas": 0}}


def test_memory_of_a_device(device_ep, make_model):
    from sardonyx.ep import KernelSet

    kernels = KernelSet()
    kernels.add("MatMul")(lambda xp, a, b: a @ b)
    device = device_ep("toy", kernels)
    device.stats = lambda: {"in use": 7}
    session = sardonyx.InferenceSession(make_model([helper.make_node("MatMul", ["x", "x"], ["y"])], ["x"], ["y"]), providers=["toy"])
    assert session.memory_report().providers["toy"]["device in use"] == 7


@pytest.mark.skipif(resident_bytes() is None, reason="this system does not say how large a process is")
def test_trim_gives_memory_back(tmp_path):
    session = open_session(write(tmp_path / "m.onnx"))
    session.run(None, {"x": np.ones((20_000, 256), np.float32)})
    freed = session.trim()
    assert freed is not None
    assert freed >= 0
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], -X)


@pytest.mark.skipif(resident_bytes() is None, reason="this system does not say how large a process is")
def test_a_second_session_of_a_file_takes_little_memory(tmp_path):
    """Its weights, 64 MiB that no array can use where they lie in the file, are there once."""
    w = np.ones((4096, 4096), np.float32)
    x, y = (helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["n", 4096]) for n in "xy")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [numpy_helper.from_array(w, "w")])
    del w
    for padding in range(4):
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9, producer_name="p" * padding)
        path = tmp_path / f"{padding}.onnx"
        onnx.save(model, path)
        first = open_session(path)
        if first.memory_report().providers["cpu"]["weights"]:
            break
    del model
    gc.collect()
    before = resident_bytes()
    second, third = open_session(path), first.clone()
    gc.collect()
    assert resident_bytes() - before < 16 << 20
    assert second.memory_report().providers == third.memory_report().providers == first.memory_report().providers
