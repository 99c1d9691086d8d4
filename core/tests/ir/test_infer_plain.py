"""Plain inference says what onnx's says, or nothing."""

from __future__ import annotations

import random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.infer import _infer_standard
from sardonyx.ir.infer_plain import plain_types
from sardonyx.ir.load import load
from sardonyx.ir.schema import schema, since_version
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import TensorType

F32, I64 = np.dtype(np.float32), np.dtype(np.int64)
X = ("n", 4, 6, "w")


def value(given) -> Value:
    if isinstance(given, np.ndarray):
        return Value("c", TensorType(given.dtype, given.shape), Tensor.of(given))
    return Value("x", TensorType(F32, given))


def i64(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


CASES = [
    ("Relu", [X], {}, 13),
    ("Softmax", [X], {"axis": -2}, 13),
    ("Softmax", [X], {"axis": 4}, 13),
    ("Add", [X, (6, 1)], {}, 14),
    ("Add", [X, ("m", 1, 1, "w")], {}, 14),
    ("Add", [X, (5, "w")], {}, 14),
    ("Sum", [X, (4, 1, 1), ("n", 1, 1, 1)], {}, 13),
    ("Equal", [X, (1,)], {}, 13),
    ("Cast", [X], {"to": 7}, 13),
    ("IsNaN", [X], {}, 13),
    ("PRelu", [X, (4, 1, 1)], {}, 16),
    ("LayerNormalization", [X, ("w",)], {}, 17),
    ("BatchNormalization", [X, (4,), (4,), (4,), (4,)], {}, 15),
    ("BatchNormalization", [X, (5,), (5,), (5,), (5,)], {}, 15),
    ("InstanceNormalization", [X, (4,), (4,)], {}, 6),
    ("MatMul", [("n", 2, 3), (1, 3, "k")], {}, 13),
    ("MatMul", [(2, 3), (4, 5)], {}, 13),
    ("MatMul", [(3,), (3, 5)], {}, 13),
    ("Gemm", [("n", 3), (5, 3), (5,)], {"transB": 1}, 13),
    ("Conv", [(2, 4, 9, "w"), (8, 4, 3, 3)], {"strides": [2, 2], "pads": [1, 0, 1, 0]}, 11),
    ("Conv", [(2, 4, 9, 9), (8, 4, 3, 3)], {"auto_pad": "SAME_UPPER"}, 11),
    ("ConvTranspose", [(2, 4, 9, "w"), (4, 3, 3, 3)], {"strides": [2, 2], "output_padding": [1, 1], "group": 2}, 11),
    ("MaxPool", [(2, 4, 9, 9)], {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}, 12),
    ("AveragePool", [(2, 4, 7, 7)], {"kernel_shape": [99, 99], "strides": [99, 99], "ceil_mode": 1}, 11),
    ("GlobalAveragePool", [X], {}, 1),
    ("ReduceMean", [X], {"axes": [-1, 1], "keepdims": 0}, 13),
    ("ReduceMean", [X, i64(2)], {}, 18),
    ("ReduceSum", [X], {}, 13),
    ("ReduceSum", [X], {"noop_with_empty_axes": 1}, 13),
    ("ArgMax", [X], {"axis": 2, "keepdims": 0}, 13),
    ("Reshape", [X, i64(0, 2, -1, 0)], {}, 14),
    ("Reshape", [X, i64(-1, 24)], {}, 14),
    ("Reshape", [(2, 3, 4), i64(-1, 8)], {}, 14),
    ("Reshape", [(2, 3, 4), i64(-1, 7)], {}, 14),
    ("Reshape", [X, (3,)], {}, 14),
    ("Flatten", [X], {"axis": -2}, 13),
    ("Flatten", [X], {"axis": 0}, 13),
    ("Squeeze", [(1, "n", 1), i64(0, -1)], {}, 13),
    ("Squeeze", [(1, "n", 1)], {"axes": [0]}, 11),
    ("Squeeze", [(1, "n", 1)], {}, 11),
    ("Squeeze", [(1, "n", 1), i64(1)], {}, 13),
    ("Unsqueeze", [X, i64(0, -1)], {}, 13),
    ("Unsqueeze", [X, i64(1, 1)], {}, 13),
    ("Transpose", [X], {"perm": [0, 2, 3, 1]}, 13),
    ("Transpose", [X], {}, 13),
    ("Concat", [X, ("n", 5, 6, 3)], {"axis": 1}, 13),
    ("Concat", [X, ("m", 4, 6, "w")], {"axis": -1}, 13),
    ("Concat", [X, (2, 4, 5, "w")], {"axis": 1}, 13),
    ("Split", [X, i64(1, 3)], {"axis": 1}, 13),
    ("Split", [X], {"axis": 2}, 13),
    ("Split", [X], {"axis": 1, "num_outputs": 2}, 18),
    ("Slice", [X, i64(1, -4), i64(1 << 62, -1), i64(1, 2), i64(2, 1)], {}, 13),
    ("Slice", [X, i64(0), i64(2), i64(3)], {}, 13),
    ("Slice", [X, i64(-1), i64(-9), i64(1), i64(-1)], {}, 13),
    ("Slice", [X], {"starts": [1], "ends": [3], "axes": [2]}, 1),
    ("Gather", [X, i64(1, 2)], {"axis": 1}, 13),
    ("Gather", [X, np.array(1)], {"axis": -2}, 13),
    ("Shape", [X], {}, 13),
    ("Shape", [X], {"start": 1, "end": -1}, 15),
    ("Expand", [("n", 1), i64(3, 1, 7)], {}, 13),
    ("Where", [np.array(True), X, (6, 1)], {}, 16),
    ("Pad", [X, i64(0, 0, 1, 0, 0, 1, 2, 0)], {}, 13),
    ("Pad", [X, i64(0, 0, 1, 1, 0, 1, 2, 0)], {}, 13),
    ("Resize", [("n", 3, 5, 7), None, np.array([1, 1, 1.5, 2], np.float32)], {}, 13),
    ("Resize", [("n", 3, 5, 7), None, None, i64(1, 3, 9, 9)], {}, 13),
    ("Dropout", [X], {}, 13),
    ("LogSoftmax", [X], {}, 13),
]


def answers(op: str, inputs, attrs, opset: int):
    count = 2 if op == "Split" else 1
    values = [None if g is None else value(g) for g in inputs]
    node = Node(op, values, [Value(f"y{i}") for i in range(count)], attrs, since=since_version("", op, opset) or 1)
    return plain_types(node), _infer_standard(node, schema("", op, opset))


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[3]}-{c[2]}")
def test_as_onnx_infers(case):
    plain, reference = answers(*case)
    if plain is not None:
        assert plain[: len(reference)] == reference


def test_common_forms_need_no_onnx():
    left = [c for c in CASES if answers(*c)[0] is None]
    assert len(left) < len(CASES) / 4
    assert {"Reshape", "Slice", "Squeeze", "Concat", "MatMul"} <= {c[0] for c in left}


def test_windows_as_onnx_counts_them():
    rng = random.Random(0)
    answered = 0
    for _ in range(400):
        op, opset = rng.choice((("MaxPool", 12), ("MaxPool", 22), ("AveragePool", 11), ("AveragePool", 22)))
        attrs = {
            "kernel_shape": [rng.randint(1, 5)],
            "strides": [rng.randint(1, 4)],
            "pads": [rng.randint(0, 2), rng.randint(0, 2)],
            "ceil_mode": rng.randint(0, 1),
        }
        plain, reference = answers(op, [(1, 2, rng.randint(1, 12))], attrs, opset)
        answered += plain is not None
        assert plain is None or plain == reference, (op, opset, attrs)
    assert answered > 200


def chain(shape) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("MaxPool", ["c"], ["y"], kernel_shape=[2, 2]),
    ]
    w = numpy_helper.from_array(np.zeros((4, 3, 3, 3), np.float32), "w")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, s) for name, s in (("x", shape), ("y", None)))
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y], [w]), opset_imports=[helper.make_opsetid("", 18)])


@pytest.mark.parametrize("shape", [[1, 3, 8, 8], ["n", 3, "h", "w"], ["unk__0", 3, None, 8]])
def test_models_get_the_types_and_symbols_that_onnx_gives(shape, monkeypatch):
    model = chain(shape)
    plain = {v.name: v.type for n in load(model).graph.nodes for v in n.outputs}
    monkeypatch.setattr("sardonyx.ir.infer_model.type_plainly", lambda graph: False)
    assert plain == {v.name: v.type for n in load(model).graph.nodes for v in n.outputs}


def test_what_is_plain_never_asks_onnx(monkeypatch):
    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", lambda *a, **k: pytest.fail("onnx was asked"))
    assert load(chain([1, 3, 8, 8])).graph.outputs[0].shape == (1, 4, 7, 7)
