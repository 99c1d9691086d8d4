"""What the engine's errors say: the node, its inputs with their shapes and producers, also where memory runs out."""

import subprocess
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.errors import NodeError

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
info, node = helper.make_tensor_value_info, helper.make_node


def model(nodes, inputs, outputs):
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()


def loop(body):
    steps, x = info("n", I, []), info("x", F, ["k"])
    names = [f"y{i}" for i in range(len(body.output) - 1)]
    given = ["n", "", "x"] if len(body.input) == 3 else ["n", ""]
    return model([node("Loop", given, names, name="loop", body=body)], [steps, x], [info(y, F, None) for y in names])


def body(nodes, states, outputs):
    keep = node("Identity", ["c"], ["go"])
    return helper.make_graph([keep, *nodes], "b", [info("i", I, []), info("c", B, []), *states], [info("go", B, []), *outputs])


@pytest.mark.parametrize("planned", [True, False], ids=["while planning", "while running"])
@pytest.mark.parametrize("cut", [False, True], ids=["whole", "in segments"])
def test_inputs_and_their_producers(planned, cut):
    nodes = [node("Relu", ["a"], ["r"], name="relu"), node("MatMul" if planned else "Gather", ["r", "b"], ["y"], name="the_node")]
    outputs = [info("y", F, None)]
    if cut:
        nodes.insert(1, node("NonZero", ["r"], ["z"], name="cut"))
        outputs.append(info("z", I, None))
    b = np.ones((4, 5), np.float32) if planned else np.array([4])
    m = model(nodes, [info("a", F, ["p", "q"]), info("b", F if planned else I, [f"b{i}" for i in range(b.ndim)])], outputs)
    with pytest.raises(NodeError) as caught:
        sardonyx.InferenceSession(m, providers=["native"]).run(None, {"a": np.ones((2, 3), np.float32), "b": b})
    assert caught.value.node == "the_node"
    assert "input 0 'r': float32[2, 3], from 'relu'" in str(caught.value)
    assert f"input 1 'b': {b.dtype}{list(b.shape)}, an input" in str(caught.value)


def test_a_node_of_a_body_is_named_itself():
    m = loop(body([node("Gather", ["x", "i"], ["g"], name="inner")], [], [info("g", F, None)]))
    with pytest.raises(NodeError, match=r"'inner' \(Gather-13\)") as caught:
        sardonyx.InferenceSession(m, providers=["native"]).run(None, {"n": np.array(5), "x": np.ones(3, np.float32)})
    assert caught.value.node == "inner"
    assert "input 0 'x': float32[3]" in str(caught.value)


GROWING = {
    "a state": loop(body([node("Concat", ["s", "s"], ["t"], name="grow", axis=0)], [info("s", F, None)], [info("t", F, None)])),
    "scan outputs": loop(body([node("Neg", ["x"], ["t"], name="grow")], [], [info("t", F, None)])),
}


@pytest.mark.parametrize("what", GROWING)
def test_a_loop_that_grows_without_bound_ends_with_an_error(what):
    code = f"""
import resource, numpy as np, sardonyx
session = sardonyx.InferenceSession({GROWING[what]!r}, providers=["native"])
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (3 << 29), -1))
try:
    session.run(None, {{"n": np.array(1 << 20), "x": np.ones(1 << 20, np.float32)}})
except sardonyx.SardonyxError as e:
    print(type(e).__name__, e.node, e)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ended.stdout.startswith(f"NodeError {'grow' if what == 'a state' else 'loop'}"), ended.stdout + ended.stderr
    assert "GiB" in ended.stdout
