import asyncio
import threading
import time

import numpy as np
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.ep import custom_op
from sardonyx.errors import InvalidInput, NodeError, RunCancelled, RunTimeout
from sardonyx.runtime import async_runs

X = np.arange(4, dtype=np.float32)


class Slow:
    """An operator that waits until it is let go, and counts its calls."""

    def __init__(self):
        self.calls, self.begun, self.go = 0, threading.Event(), threading.Event()
        self.op = custom_op("test.async", "Slow", dtypes=[0], register=False)(self.run)

    def run(self, x):
        self.calls += 1
        self.begun.set()
        self.go.wait(20)
        return x + 1


@pytest.fixture
def slow():
    one = Slow()
    yield one
    one.go.set()


def open_session(slow, count=2):
    nodes = [helper.make_node("Slow", [f"v{i}" if i else "x"], [f"v{i + 1}"], domain="test.async", name=f"slow_{i}") for i in range(count)]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"]) for n in ("x", f"v{count}"))
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("test.async", 1)]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=opsets, ir_version=9)
    options = sardonyx.SessionOptions()
    options.register_custom_ops(slow.op)
    return sardonyx.InferenceSession(model, options, providers=["cpu"])


def test_many_runs_await_each_other(slow):
    slow.go.set()
    session = open_session(slow)

    async def main():
        return await asyncio.gather(*(session.arun(None, {"x": X + i}) for i in range(20)))

    for i, (y,) in enumerate(asyncio.run(main())):
        np.testing.assert_array_equal(y, X + i + 2)


def test_the_loop_goes_on_while_a_run_is_under_way(slow):
    session = open_session(slow)

    async def main():
        task = asyncio.create_task(session.arun(["v1"], {"x": X}))
        await asyncio.to_thread(slow.begun.wait)
        assert not task.done()
        slow.go.set()
        return await task

    np.testing.assert_array_equal(asyncio.run(main())[0], X + 1)


def wait_for_the_end(session, slow):
    """Let the node go, and see that no further node of the run begins."""
    before = slow.calls
    slow.go.set()
    session.run(None, {"x": X})
    time.sleep(0.05)
    return slow.calls - before - 2


def test_a_cancelled_task_stops_the_run_before_its_next_node(slow):
    session = open_session(slow)

    async def main():
        task = asyncio.create_task(session.arun(None, {"x": X}))
        await asyncio.to_thread(slow.begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert wait_for_the_end(session, slow) == 0


def test_a_timeout_stops_the_run_before_its_next_node(slow):
    session = open_session(slow)

    async def main():
        with pytest.raises(RunTimeout, match=r"longer than 0\.05 s") as e:
            await session.arun(None, {"x": X}, timeout=0.05)
        assert isinstance(e.value, TimeoutError)
        assert isinstance(e.value, RunCancelled)

    asyncio.run(main())
    assert wait_for_the_end(session, slow) == 0


def test_terminate_of_the_run_options_ends_an_awaited_run(slow):
    session = open_session(slow)
    options = sardonyx.RunOptions()

    async def main():
        task = asyncio.create_task(session.arun(None, {"x": X}, options))
        await asyncio.to_thread(slow.begun.wait)
        options.terminate = True
        slow.go.set()
        with pytest.raises(RunCancelled):
            await task

    asyncio.run(main())
    assert slow.calls == 1


def test_errors_come_out_of_await(slow):
    session = open_session(slow)

    async def main():
        with pytest.raises(InvalidInput, match="Required inputs"):
            await session.arun(None, {})

    asyncio.run(main())


def called_back(session, *args):
    done, got = threading.Event(), []

    def callback(*given):
        got.extend(given)
        done.set()

    session.run_async(*args[:2], callback, *args[2:])
    assert done.wait(20)
    return got


def test_callbacks(slow):
    slow.go.set()
    session = open_session(slow)
    data = object()
    results, user_data, error = called_back(session, None, {"x": X}, data)
    np.testing.assert_array_equal(results[0], X + 2)
    assert user_data is data
    assert error == ""
    results, user_data, error = called_back(session, None, {"z": X})
    assert (results, user_data) == ([], None)
    assert "Required inputs (['x']) are missing" in error
    with pytest.raises(InvalidInput, match="callback is a function"):
        session.run_async(None, {"x": X}, "no function")


def test_a_callback_that_raises_is_logged(slow, monkeypatch):
    slow.go.set()
    logged, said = threading.Event(), []
    monkeypatch.setattr(async_runs.logger, "exception", lambda text: said.append(text) or logged.set())

    def callback(results, user_data, error):
        raise NodeError("from the callback")

    open_session(slow).run_async(None, {"x": X}, callback)
    assert logged.wait(20)
    assert said == ["the callback of run_async raised"]
