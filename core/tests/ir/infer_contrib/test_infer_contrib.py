"""Inferred types of contrib operators against what onnxruntime gives for the same inputs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from sardonyx.ir.dtypes import to_onnx
from sardonyx.ir.infer_contrib import CONTRIB
from sardonyx.ir.load import load

rng = np.random.default_rng(0)


def f(*shape):
    return rng.uniform(0.1, 1, shape).astype(np.float32)


def u8(*shape):
    return rng.integers(0, 200, shape).astype(np.uint8)


def i8(*shape):
    return rng.integers(-100, 100, shape).astype(np.int8)


def ints(*values):
    return np.array(values, np.int32)


ONE, ZERO, ZERO8 = np.array(1, np.float32), np.array(0, np.uint8), np.array(0, np.int8)
X = f(2, 3, 8)
IMAGE, QIMAGE = f(1, 4, 9, 9), u8(1, 4, 9, 9)


class Const:
    """An input given as an initializer."""

    def __init__(self, value):
        self.value = np.asarray(value)


# operator, inputs, attributes, number of outputs
CASES = [
    ("Gelu", [X], {}, 1),
    ("QuickGelu", [X], {}, 1),
    ("FastGelu", [X, f(8)], {}, 1),
    ("BiasGelu", [X, f(8)], {}, 1),
    ("Inverse", [f(2, 3, 3) + 3 * np.eye(3, dtype=np.float32)], {}, 1),
    ("Trilu", [X], {}, 1),
    ("SkipLayerNormalization", [X, X, f(8), f(8)], {}, 4),
    ("SkipSimplifiedLayerNormalization", [X, X, f(8)], {}, 4),
    ("EmbedLayerNormalization", [ints([0, 1, 2]), ints([0, 0, 1]), f(5, 8), f(4, 8), f(2, 8), f(8), f(8), ints([1, 1, 0])], {}, 3),
    ("EmbedLayerNormalization", [ints([0, 1, 2]), None, f(5, 8), f(4, 8), None, f(8), f(8)], {}, 2),
    ("FusedMatMul", [f(2, 3, 4), f(2, 5, 4)], {"transB": 1, "alpha": 0.5}, 1),
    ("FusedMatMul", [f(2, 4, 3), f(4, 5)], {"transA": 1}, 1),
    ("FusedMatMul", [f(3, 2, 4), f(2, 4, 5)], {"transBatchA": 1}, 1),
    ("TransposeMatMul", [f(2, 4, 3), f(2, 4, 5)], {"transA": 1}, 1),
    ("FusedGemm", [f(4, 3), f(5, 4), f(5)], {"transA": 1, "transB": 1, "activation": "Relu"}, 1),
    ("DynamicQuantizeMatMul", [X, u8(8, 5), ONE, ZERO], {}, 1),
    ("MatMulIntegerToFloat", [u8(2, 3, 8), u8(8, 5), ONE, ONE], {}, 1),
    ("MatMulInteger16", [np.ones((3, 4), np.int16), np.ones((4, 2), np.int16)], {}, 1),
    ("MatMulNBits", [f(2, 3, 32), Const(u8(6, 2, 8)), Const(f(12))], {"K": 32, "N": 6, "block_size": 16, "bits": 4}, 1),
    ("CDist", [f(3, 4), f(5, 4)], {"metric": "euclidean"}, 1),
    ("RotaryEmbedding", [f(1, 3, 8), np.array([[0, 1, 2]]), f(4, 2), f(4, 2)], {"num_heads": 2}, 1),
    ("Attention", [X, f(8, 24), f(24)], {"num_heads": 2}, 2),
    ("Attention", [X, f(8, 24), f(24), None, f(2, 2, 2, 5, 4)], {"num_heads": 2}, 2),
    ("Attention", [X, f(8, 20), f(20)], {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 4]}, 1),
    ("QAttention", [u8(2, 3, 8), i8(8, 24), f(24), ONE, ONE, None, ZERO, ZERO8], {"num_heads": 2}, 2),
    ("MultiHeadAttention", [X, f(2, 5, 8), f(2, 5, 12)], {"num_heads": 2}, 3),
    ("MultiHeadAttention", [X, X, X, None, None, None, f(2, 2, 5, 4), f(2, 2, 5, 4)], {"num_heads": 2}, 3),
    ("MultiHeadAttention", [X, f(2, 2, 5, 4), f(2, 2, 5, 4)], {"num_heads": 2}, 1),
    ("MultiHeadAttention", [X, X, X], {"num_heads": 2}, 4),
    (
        "GroupQueryAttention",
        [f(1, 3, 32), f(1, 3, 16), f(1, 3, 16), None, None, ints(2), Const(ints(3))],
        {"num_heads": 4, "kv_num_heads": 2},
        3,
    ),
    ("GroupQueryAttention", [f(1, 3, 64), None, None, None, None, ints(2), Const(ints(3))], {"num_heads": 4, "kv_num_heads": 2}, 3),
    (
        "GroupQueryAttention",
        [f(1, 1, 32), f(1, 1, 16), f(1, 1, 16), f(1, 2, 4, 8), f(1, 2, 4, 8), ints(4), Const(ints(5))],
        {"num_heads": 4, "kv_num_heads": 2},
        3,
    ),
    ("QuantizeLinear", [X, ONE, ZERO8], {}, 1),
    ("DequantizeLinear", [u8(2, 3), ONE, ZERO], {}, 1),
    ("QLinearSigmoid", [u8(2, 3), Const(ONE), Const(ZERO), Const(ONE), Const(ZERO)], {}, 1),
    ("QLinearLeakyRelu", [i8(2, 3), Const(ONE), Const(ZERO8), Const(ONE), Const(ZERO8)], {}, 1),
    ("QLinearSoftmax", [u8(2, 3), Const(ONE), Const(ZERO), Const(ONE), Const(ZERO)], {"opset": 13, "axis": -1}, 1),
    ("QLinearAdd", [u8(2, 1, 3), ONE, ZERO, u8(4, 1), ONE, ZERO, ONE, ZERO], {}, 1),
    ("QLinearMul", [i8(2, 3), ONE, ZERO8, i8(3), ONE, ZERO8, ONE, ZERO8], {}, 1),
    ("QLinearConcat", [Const(ONE), Const(ZERO), u8(2, 3), Const(ONE), Const(ZERO), u8(2, 2), Const(ONE), Const(ZERO)], {"axis": 1}, 1),
    (
        "QLinearWhere",
        [np.array([[True], [False]]), u8(3), *[Const(v) for v in (ONE, ZERO)], u8(2, 3), *[Const(v) for v in (ONE, ZERO, ONE, ZERO)]],
        {},
        1,
    ),
    ("QGemm", [u8(2, 3), ONE, ZERO, i8(3, 4), ONE, ZERO8, ints(1, 2, 3, 4), ONE, ZERO], {}, 1),
    ("QGemm", [u8(2, 3), ONE, ZERO, i8(4, 3), ONE, ZERO8], {"transB": 1}, 1),
    (
        "DynamicQuantizeLSTM",
        [
            f(5, 2, 3),
            Const(i8(1, 3, 16)),
            Const(i8(1, 4, 16)),
            None,
            None,
            None,
            None,
            None,
            *[Const(v) for v in (f(1), i8(1), f(1), i8(1))],
        ],
        {"hidden_size": 4},
        3,
    ),
    ("GatherBlockQuantized", [Const(u8(4, 8)), np.array([[1, 3]]), Const(f(4, 1))], {"block_size": 16, "quantize_axis": 1}, 1),
    ("FusedConv", [IMAGE, f(6, 2, 3, 3), f(6)], {"group": 2, "activation": "Relu", "pads": [1, 1, 1, 1], "strides": [2, 2]}, 1),
    ("QLinearConv", [QIMAGE, ONE, ZERO, u8(6, 4, 3, 3), ONE, ZERO, ONE, ZERO], {"dilations": [2, 2]}, 1),
    ("QLinearConv", [u8(1, 9, 9, 4), *map(Const, (ONE, ZERO, u8(6, 4, 3, 3), ONE, ZERO, ONE, ZERO))], {"channels_last": 1}, 1),
    ("NhwcMaxPool", [u8(1, 9, 8, 4)], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, 1),
    ("QLinearAveragePool", [QIMAGE, ONE, ZERO, ONE, ZERO], {"kernel_shape": [3, 2]}, 1),
    ("QLinearAveragePool", [u8(1, 9, 8, 4), ONE, ZERO, ONE, ZERO], {"kernel_shape": [3, 2], "channels_last": 1}, 1),
    ("QLinearGlobalAveragePool", [QIMAGE, ONE, ZERO, ONE, ZERO], {}, 1),
    ("QLinearGlobalAveragePool", [QIMAGE, ONE, ZERO, ONE, ZERO], {"channels_last": 1}, 1),
    ("GridSample", [IMAGE, f(1, 3, 5, 2)], {}, 1),
    ("CropAndResize", [IMAGE, f(3, 4), ints(0, 0, 0), Const(ints(5, 6))], {}, 1),
    ("Unique", [np.float32([2, 1, 2])], {}, 3),
    ("Pad", [X, Const(np.array([0, 1, 2, 0, 1, -1]))], {}, 1),
    ("ExpandDims", [X, Const(np.int32(-2))], {}, 1),
    ("Range", [Const(np.int64(2)), Const(np.int64(9)), Const(np.int64(3))], {}, 1),
    ("Range", [Const(np.float32(2)), Const(np.float32(0.5)), Const(np.float32(-0.25))], {}, 1),
    ("GatherND", [X, np.array([[0, 1], [1, 2]])], {}, 1),
]
# Dims that depend on values.
DYNAMIC = {"Unique"}
# Outputs that onnxruntime's CPU kernels leave out.
UNFILLED = {"SkipLayerNormalization": (1, 2), "SkipSimplifiedLayerNormalization": (1, 2)}


def contrib_model(op, inputs, attrs, outputs):
    names = ["" if v is None else f"i{i}" for i, v in enumerate(inputs)]
    named = [(n, v) for n, v in zip(names, inputs, strict=True) if v is not None]
    skipped = UNFILLED.get(op, ())
    outs = ["" if o in skipped else f"o{o}" for o in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op, names, outs, domain="com.microsoft", **attrs)],
        "g",
        [helper.make_tensor_value_info(n, to_onnx(v.dtype), v.shape) for n, v in named if not isinstance(v, Const)],
        [onnx.ValueInfoProto(name=o) for o in outs if o],
        [numpy_helper.from_array(v.value, n) for n, v in named if isinstance(v, Const)],
    )
    if op == "MultiHeadAttention" and outputs == 4:  # onnxruntime wants this type said
        graph.output[3].type.tensor_type.elem_type = 1
    feeds = {n: v for n, v in named if not isinstance(v, Const)}
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), feeds


@pytest.mark.parametrize(("op", "inputs", "attrs", "outputs"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_types_are_those_of_onnxruntime(op, inputs, attrs, outputs):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    model, feeds = contrib_model(op, inputs, attrs, outputs)
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for value, got in zip(load(model).graph.outputs, session.run(None, feeds), strict=True):
        assert value.dtype == got.dtype
        assert value.rank == got.ndim
        for known, true in zip(value.shape, got.shape, strict=True):
            assert known == true or (known is None and op in DYNAMIC)


def test_private_operators_of_onnx_domain():
    """onnxruntime writes a few of its own operators into ONNX's domain."""
    import onnxruntime as ort

    node = helper.make_node("SimplifiedLayerNormalization", ["x", "s"], ["y", "r"], axis=-1)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", 1, [2, 3, 8]), helper.make_tensor_value_info("s", 1, [8])],
        [onnx.ValueInfoProto(name="y"), onnx.ValueInfoProto(name="r")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    got = session.run(None, {"x": X, "s": f(8)})
    assert [(v.dtype, v.shape) for v in load(model).graph.outputs] == [(g.dtype, g.shape) for g in got]


def test_symbolic_dims_pass_through():
    model, _ = contrib_model("MatMulNBits", [f(2, 3, 32), Const(u8(6, 2, 8)), Const(f(12))], {"K": 32, "N": 6, "block_size": 16}, 1)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    assert load(model).graph.outputs[0].shape == ("batch", 3, 6)


@pytest.mark.parametrize("key", sorted(CONTRIB), ids="::".join)
def test_unknown_inputs_are_no_error(key):
    """Every function gives what it can, or raises what infer_node takes for an unknown type; shapes are never made up."""
    from sardonyx.ir.graph import Node, Value
    from sardonyx.ir.infer import infer_node

    node = Node(key[1], [Value(f"i{i}") for i in range(9)], [Value("o")], domain=key[0])
    for t in infer_node(node):
        assert t is None or t.shape is None or not any(isinstance(d, int) and d > 2 for d in t.shape)
