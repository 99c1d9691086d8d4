"""Many threads on one session, and many shapes: the same bits, and no growth."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import sardonyx
from sardonyx.runtime.memory_report import resident_bytes

THREADS, RUNS, SETTLED, SHAPES = 8, 200, 50, 10_000
PROVIDERS = sardonyx.get_available_providers()

pytestmark = [
    pytest.mark.parametrize("provider", PROVIDERS),
    pytest.mark.filterwarnings("ignore:.*not on the providers asked for"),
]


def network():
    """A convolution, a product and a softmax over pictures of any number and size."""
    rng = np.random.default_rng(0)
    w, b, m = rng.standard_normal((8, 3, 3, 3)), rng.standard_normal(8), rng.standard_normal((8, 10))
    weights = [numpy_helper.from_array(a.astype(np.float32), name) for a, name in ((w, "w"), (b, "b"), (m, "m"))]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("MatMul", ["f", "m"], ["p"]),
        helper.make_node("Softmax", ["p"], ["y"]),
    ]
    x, y = (
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10]),
    )
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def open_session(provider, model):
    options = sardonyx.SessionOptions()
    options.intra_op_num_threads = 1
    assert isinstance(model, onnx.ModelProto)
    return sardonyx.InferenceSession(model, options, providers=[provider])


def test_eight_threads_get_the_bits_of_one_and_memory_settles(provider):
    session = open_session(provider, network())
    rng = np.random.default_rng(1)
    feeds = [rng.standard_normal((n, 3, 8 + n, 9)).astype(np.float32) for n in range(1, 5)]
    expected = [session.run(None, {"x": x})[0] for x in feeds]
    barrier, sizes, failures = threading.Barrier(THREADS), [], []

    def work(index):
        for i in range(RUNS):
            k = (index + i) % len(feeds)
            if not np.array_equal(session.run(None, {"x": feeds[k]})[0], expected[k]):
                failures.append((index, i))
            if i in (SETTLED, RUNS - 1) and barrier.wait() == 0:
                sizes.append(resident_bytes())

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    assert failures == []
    if sizes[0] is not None:
        assert sizes[1] - sizes[0] <= max(sizes[0] // 100, 1 << 20), sizes


def test_many_shapes_do_not_grow_the_process(provider):
    session = open_session(provider, network())
    rng = np.random.default_rng(2)
    x = rng.standard_normal((4, 3, 40, 40)).astype(np.float32)

    def run(count):
        for n, h, w in rng.integers(1, (5, 33, 33), (count, 3)):
            session.run(None, {"x": x[:n, :, :h, :w]})

    run(SHAPES // 20)
    gc.collect()
    before = resident_bytes()
    run(SHAPES)
    gc.collect()
    if before is not None:
        assert resident_bytes() <= 1.05 * before
