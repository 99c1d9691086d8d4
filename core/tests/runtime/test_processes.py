"""Sessions in other processes: pickled, and forked."""

import multiprocessing
import os
import pickle
import threading

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import sardonyx

PROVIDERS = sardonyx.get_available_providers()
X = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)

pytestmark = pytest.mark.filterwarnings("ignore:.*not on the providers asked for", "ignore:.*multi-threaded.*fork")


@pytest.fixture
def path(tmp_path):
    w = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 64]) for n in "xy")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Softmax", ["p"], ["y"])]
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(w, "w")]),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=9,
    )
    onnx.save(model, tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


def in_child(function) -> int:
    """The exit status of function() in a forked child; a child that hangs is killed."""
    child = os.fork()
    if child == 0:
        threading.Timer(30, os._exit, (99,)).start()
        try:
            os._exit(0 if function() else 1)
        finally:
            os._exit(98)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_forked_child_goes_on_with_its_parents_sessions(path, provider):
    session = sardonyx.InferenceSession(path, providers=[provider])
    y = session.run(None, {"x": X})[0]
    called = threading.Event()
    session.run_async(None, {"x": X}, lambda *_: called.set())
    assert called.wait(20)

    def child():
        same = np.array_equal(session.run(None, {"x": X})[0], y)
        internal = session.run(["p"], {"x": X})[0].shape == X.shape
        anew = np.array_equal(sardonyx.InferenceSession(path, providers=[provider]).run(None, {"x": X})[0], y)
        done = threading.Event()
        session.run_async(None, {"x": X}, lambda *_: done.set())
        return same and internal and anew and done.wait(20)

    assert [in_child(child) for _ in range(2)] == [0, 0]
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], y)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_while_another_thread_makes_a_session(path):
    session = sardonyx.InferenceSession(path, providers=["cpu"])
    y = session.run(None, {"x": X})[0]
    with session._lock:
        status: list[int] = []
        thread = threading.Thread(target=lambda: status.append(in_child(lambda: np.array_equal(session.run(["p", "y"], {"x": X})[1], y))))
        thread.start()
        thread.join()
    assert status == [0]


def test_a_session_is_sent_to_other_processes(path):
    session = sardonyx.InferenceSession(path, providers=["cpu"])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (y,) = pool.apply(pickle.loads(pickle.dumps(session)).run, (None, {"x": X}))
    np.testing.assert_array_equal(y, session.run(None, {"x": X})[0])


def test_a_clone_is_a_session_of_its_own(path):
    session = sardonyx.InferenceSession(path, providers=["cpu"])
    options = sardonyx.SessionOptions()
    options.enable_profiling = True
    twin, other = session.clone(), session.clone(options)
    for one in (twin, other):
        np.testing.assert_array_equal(one.run(None, {"x": X})[0], session.run(None, {"x": X})[0])
    assert other.get_session_options() is options
    assert twin.get_session_options() is session.get_session_options()
    assert other.get_profiling_start_time_ns() > 0 == twin.get_profiling_start_time_ns()
