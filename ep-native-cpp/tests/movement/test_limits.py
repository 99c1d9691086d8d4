"""What is too large for the engine or for memory ends in an error that names the node, or is left to another provider."""

import subprocess
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.errors import NodeError


def i64(*values):
    return np.array(values, np.int64)


def model(nodes, shape=None):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


X = np.ones((1, 4, 2, 3), np.float32)
TOO_LARGE = [
    ("ConstantOfShape", [i64(2**62, 4)], {}),
    ("ConstantOfShape", [i64(2**31, 2**31)], {}),
    ("ConstantOfShape", [i64(2**40)], {}),
    ("Expand", [X, i64(2**33, 1, 4, 2, 3)], {}),
    ("Tile", [X, i64(1, 2**62, 1, 1)], {}),
    ("Tile", [X, i64(2**40, 1, 1, 1)], {}),
    ("Reshape", [X, i64(2**62 + 6, 4)], {}),
    ("Reshape", [X[:0], i64(2**32, 2**32)], {"allowzero": 1}),
    ("Pad", [X, i64(0, 0, 0, 2**62, 0, 0, 0, 2**62)], {}),
    ("Pad", [X, i64(0, 0, 0, 2**34, 0, 0, 0, 0), None], {"mode": "wrap"}),
    ("OneHot", [i64(1, 2), i64(2**60), np.array([0, 1], np.float32)], {}),
    ("DepthToSpace", [X], {"blocksize": 2**32}),
    ("SpaceToDepth", [X], {"blocksize": 2**62}),
    ("Conv", [X, np.ones((1, 4, 2, 2), np.float32)], {"pads": [2**62, 0, 2**62, 0]}),
    ("Conv", [X, np.ones((1, 4, 2, 2), np.float32)], {"dilations": [2**62, 1]}),
    ("ConvTranspose", [X, np.ones((4, 1, 2, 2), np.float32)], {"strides": [2**62, 1]}),
    ("ConvTranspose", [X, np.ones((4, 1, 2, 2), np.float32)], {"output_padding": [2**62, 0]}),
    ("Resize", [X, None, np.array([1, 1, 1e8, 1e8], np.float32)], {}),
    ("Col2Im", [X[0], i64(2, 3), i64(2**32, 2**32)], {}),
]


@pytest.mark.parametrize(("op", "inputs", "attributes"), TOO_LARGE, ids=lambda v: v if isinstance(v, str) else "")
def test_outputs_larger_than_memory_are_refused_at_once(run, op, inputs, attributes):
    with pytest.raises(NodeError, match=r"node '.*failed: "):
        run(op, *inputs, **attributes)


def test_roi_align_without_pixels(run):
    with pytest.raises(NodeError, match="negative dimension"):
        run("RoiAlign", X, np.ones((1, 4), np.float32), i64(0), output_width=-(2**31))


def test_roi_align_of_a_region_far_larger_than_the_image(run):
    far = np.array([[0, 0, 1e9, 1e9], [-1e9, -1e9, 1e9, 1e9]], np.float32)
    y = run("RoiAlign", np.ones((1, 2, 4, 4), np.float32), far, i64(0, 0), output_width=2, output_height=2)
    assert np.abs(y).max() < 1e-6  # nearly all samples lie outside
    with pytest.raises(NodeError, match="sampling_ratio"):
        run("RoiAlign", X, np.ones((1, 4), np.float32), i64(0), sampling_ratio=2**40)


@pytest.mark.parametrize("shape", [(1,) * 7 + (3, 4), (1,) * 38 + (3, 4)], ids=len)
def test_many_dimensions_are_left_to_another_provider(shape):
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Transpose", ["a"], ["y"])]
    session = sardonyx.InferenceSession(model(nodes, shape), providers=["native", "cpu"])
    x = np.arange(12, dtype=np.float32).reshape(shape) - 5
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], np.maximum(x, 0).T)
    assert f"{len(shape)} dimensions; the engine takes up to 8" in session.explain().nodes[0].reasons["native"]


def test_many_dimensions_of_an_input_that_nobody_reads():
    m = model([helper.make_node("Relu", ["x"], ["y"])], ["n"])
    m.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [1] * 12))
    session = sardonyx.InferenceSession(m, providers=["native"])
    assert session.run(None, {"x": np.float32([-1, 2]), "z": np.ones([1] * 12, np.float32)})[0].tolist() == [0, 2]


def test_more_dimensions_than_were_known(run):
    with pytest.raises(NodeError, match=r"'the_node'.*8 dimensions.*provider cpu"):
        run("Reshape", X, i64(*[1] * 9, 24))


def test_more_threads_than_the_system_gives():
    m = model([helper.make_node("Relu", ["x"], ["y"])], ["n"])
    code = f"""
import resource, sys, numpy as np, sardonyx
options = sardonyx.SessionOptions()
options.intra_op_num_threads = 3000
session = sardonyx.InferenceSession({m.SerializeToString()!r}, options, providers=["native"])
x = np.arange(-1 << 18, 1 << 18, dtype=np.float32)
before = resource.getrlimit(resource.RLIMIT_AS)
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (1 << 29), before[1]))
try:
    session.run(None, {{"x": x}})
except sardonyx.SardonyxError as e:
    print(e)
resource.setrlimit(resource.RLIMIT_AS, before)
assert (session.run(None, {{"x": x}})[0] == np.maximum(x, 0)).all()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
