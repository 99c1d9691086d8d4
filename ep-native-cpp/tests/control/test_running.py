"""Runs that are stopped, what programs hold, and what they give back."""

import _thread
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import sardonyx
from sardonyx.errors import RunCancelled

F = TensorProto.FLOAT


def chain(n, size=256):
    """n products with constant matrices, each of its own."""
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array((rng.standard_normal((size, size)) / 16).astype("f"), f"w{i}") for i in range(n)]
    nodes = [helper.make_node("MatMul", [f"t{i}", f"w{i}"], [f"t{i + 1}"]) for i in range(n)]
    values = [helper.make_tensor_value_info(name, F, ["rows", size]) for name in ("t0", f"t{n}")]
    graph = helper.make_graph(nodes, "chain", values[:1], values[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8).SerializeToString()


def native(model, **options):
    return sardonyx.InferenceSession(model, providers=[("native", options)])


def endless():
    """A Loop whose condition stays true."""
    one = numpy_helper.from_array(np.ones(1, np.float32), "one")
    keep = numpy_helper.from_array(np.array(True), "keep")
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c_out"]), helper.make_node("Add", ["x_in", "one"], ["x_out"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x_in", F, [1]),
        ],
        [helper.make_tensor_value_info("c_out", TensorProto.BOOL, []), helper.make_tensor_value_info("x_out", F, [1])],
        [one],
    )
    x, y = helper.make_tensor_value_info("x", F, [1]), helper.make_tensor_value_info("y", F, [1])
    loop = helper.make_node("Loop", ["", "keep", "x"], ["y"], body=body)
    graph = helper.make_graph([loop], "g", [x], [y], [keep])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8).SerializeToString()


@pytest.mark.parametrize("profiling", [False, True])
def test_a_set_flag_stops_a_run_before_its_first_step(profiling):
    session = native(chain(3))
    options = sardonyx.RunOptions()
    options.terminate = True
    x = {"t0": np.ones((2, 256), np.float32)}
    if profiling:
        so = sardonyx.SessionOptions()
        so.enable_profiling = True
        session = sardonyx.InferenceSession(chain(3), so, providers=["native"])
    with pytest.raises(RunCancelled):
        session.run(None, x, options)
    options.terminate = False
    assert session.run(None, x, options)[0].shape == (2, 256)


def test_an_endless_loop_can_be_stopped():
    session, options = native(endless()), sardonyx.RunOptions()
    assert {n.ep for n in session.explain().nodes} == {"native"}
    threading.Timer(0.2, lambda: setattr(options, "terminate", True)).start()
    start = time.monotonic()
    with pytest.raises(RunCancelled):
        session.run(None, {"x": np.zeros(1, np.float32)}, options)
    assert time.monotonic() - start > 0.1


def test_ctrl_c_stops_an_endless_loop():
    session = native(endless())
    # A shell's background jobs ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.2, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            session.run(None, {"x": np.zeros(1, np.float32)})
    finally:
        signal.signal(signal.SIGINT, before)


def test_plans_share_their_packed_weights_and_trim_forgets_all_but_one():
    session = native(chain(4))
    packed = 4 * 256 * 256 * 4
    for rows in (1, 2, 7, 300):
        x = np.random.default_rng(rows).standard_normal((rows, 256)).astype("f")
        before = session.run(None, {"t0": x})[0]
    held = session.memory_report().providers["native"]
    assert held["plans"] == 4
    assert packed <= held["packed"] < 1.1 * packed
    assert held["arenas"] > 0
    session.trim()
    held = session.memory_report().providers["native"]
    assert (held["plans"], held["arenas"]) == (1, 0)
    np.testing.assert_array_equal(session.run(None, {"t0": x})[0], before)


def arenas(session):
    return session.memory_report().providers["native"]["arenas"]


def test_plans_take_turns_with_one_arena():
    session = native(chain(4))
    expected, held = {}, []
    for rows in (300, 7, 1, 40, 1, 7, 300):
        x = np.random.default_rng(rows).standard_normal((rows, 256)).astype("f")
        got = session.run(None, {"t0": x})[0]
        np.testing.assert_array_equal(got, expected.setdefault(rows, got))
        held.append(arenas(session))
    assert set(held) == {held[0]}
    assert held[0] > 0


def test_an_arena_grows_with_the_shapes_and_shrinks_when_the_largest_is_forgotten():
    session = native(chain(4), plan_cache=2)
    sizes = []
    for rows in (40, 300, 20, 10):
        session.run(None, {"t0": np.ones((rows, 256), np.float32)})
        sizes.append(arenas(session))
    assert sizes[0] < sizes[1] == sizes[2]
    assert sizes[3] < sizes[0]


def test_runs_side_by_side_of_many_shapes_have_an_arena_each_at_most():
    session = native(chain(4))
    x = {rows: np.random.default_rng(rows).standard_normal((rows, 256)).astype("f") for rows in (300, 200, 7, 40, 120, 1)}
    expected = {rows: session.run(None, {"t0": v})[0] for rows, v in x.items()}
    one, runners = arenas(session), 4

    def work(turn):
        for k in range(60):
            rows = list(x)[(turn + k) % len(x)]
            np.testing.assert_array_equal(session.run(None, {"t0": x[rows]})[0], expected[rows])

    with ThreadPoolExecutor(runners) as pool:
        list(pool.map(work, range(runners)))
    assert arenas(session) <= runners * one


def test_sessions_of_one_file_share_packed_weights(tmp_path):
    file = tmp_path / "chain.onnx"
    file.write_bytes(chain(2))
    sessions = [native(str(file)) for _ in range(2)]
    x = {"t0": np.ones((3, 256), np.float32)}
    first, second = (s.run(None, x)[0] for s in sessions)
    np.testing.assert_array_equal(first, second)
    packed = 2 * 256 * 256 * 4
    for s in sessions:
        report = s.memory_report()
        assert packed <= report.shared <= report.total
    s.run(["t1"], x)
    assert s.memory_report().extra["native"]["packed"] < packed / 8


def test_the_instruction_set_is_one_for_the_process():
    from sardonyx_ep_native import _native

    session = native(chain(1))
    other = "baseline" if _native.isa() != "baseline" else "avx2"
    with pytest.raises(sardonyx.SardonyxError, match="needs a process"):
        sardonyx.InferenceSession(chain(1), providers=[("native", {"isa": other})])
    assert session.run(None, {"t0": np.ones((1, 256), np.float32)})[0].shape == (1, 256)


def test_a_profile_tells_shapes_and_rates_where_sizes_are_known_only_in_the_run():
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="product"),
        helper.make_node("NonZero", ["a"], ["i"], name="find"),
        helper.make_node("Add", ["i", "i"], ["y"], name="twice"),
    ]
    weights = [numpy_helper.from_array(np.ones((4, 6), np.float32), "w")]
    graph = helper.make_graph(nodes, "g", [value("x", F, ["rows", 4])], [value("y", TensorProto.INT64, None)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8).SerializeToString()
    profile = native(model).profile({"x": np.ones((3, 4), np.float32)}, runs=2)
    rows = {r["node"]: r for r in profile.rows()}
    assert {n: (r["ep"], r["shapes"], r["calls"]) for n, r in rows.items()} == {
        "product": ("native", ["float[3, 6]"], 2),
        "find": ("native", ["int64[2, 18]"], 2),
        "twice": ("native", ["int64[2, 18]"], 2),
    }
    assert rows["product"]["gflops"] > 0
    assert profile.work("twice").bytes == 2 * 18 * 8 * 2
