"""Products with constants dequantized in blocks: they become MatMulNBits, and mean the same."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.ep import CompileContext
from sardonyx.ir.load import load
from sardonyx_ep_native.rules import prepare

KINDS = {
    "int2": (TensorProto.INT2, ml_dtypes.int2),
    "uint2": (TensorProto.UINT2, ml_dtypes.uint2),
    "int4": (TensorProto.INT4, ml_dtypes.int4),
    "uint4": (TensorProto.UINT4, ml_dtypes.uint4),
    "int8": (TensorProto.INT8, np.int8),
    "uint8": (TensorProto.UINT8, np.uint8),
}
K, N, BLOCK = 80, 21, 32


class Case:
    """x [3, K] times weights of one kind, [K, N] or [N, K] with a Transpose; `y` is the product, and `exact` in float64."""

    def __init__(self, kind: str, zero: bool, transpose: bool, *, block: int = BLOCK, axis: int | None = None, bias: bool = False):
        rng = np.random.default_rng(0)
        code, dtype = KINDS[kind]
        low, high = ml_dtypes.iinfo(dtype).min, ml_dtypes.iinfo(dtype).max
        along = (1 if transpose else 0) if axis is None else axis
        shape = (N, K) if transpose else (K, N)
        lines = tuple(-(-d // block) if i == along else d for i, d in enumerate(shape))
        q, z = rng.integers(low, high + 1, shape), rng.integers(low, high + 1, lines) if zero else np.zeros(lines, int)
        scale = rng.uniform(0.01, 0.1, lines).astype("f4")
        weights = [
            helper.make_tensor("q", code, shape, q.reshape(-1)),
            helper.make_tensor("scale", TensorProto.FLOAT, lines, scale.reshape(-1)),
            *([helper.make_tensor("zero", code, lines, z.reshape(-1))] if zero else []),
            *([helper.make_tensor("bias", TensorProto.FLOAT, [N], np.arange(N))] if bias else []),
        ]
        inputs = ["q", "scale", *(["zero"] if zero else [])]
        nodes = [helper.make_node("DequantizeLinear", inputs, ["w"], axis=along, block_size=block)]
        if transpose:
            nodes.append(helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]))
        nodes.append(helper.make_node("MatMul", ["x", "t" if transpose else "w"], ["p" if bias else "y"]))
        if bias:
            nodes.append(helper.make_node("Add", ["p", "bias"], ["y"]))
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, K])
        graph = helper.make_graph(nodes, "g", [x], [onnx.ValueInfoProto(name="y")], weights)
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13).SerializeToString()
        self.x = rng.standard_normal((3, K)).astype("f4")
        wide = [np.repeat(v, block, axis=along)[: shape[0], : shape[1]] for v in (scale.astype("f8"), z)]
        w = (q - wide[1]) * wide[0]
        self.exact = self.x @ (w.T if transpose else w) + (np.arange(N) if bias else 0)

    def check(self, node_ops: list[str]) -> None:
        """AssertionError if the provider's rules leave other operators than these, or the product is wrong."""
        graph = load(self.model).graph
        prepare(graph, CompileContext(options={}))
        assert [n.op for n in graph.nodes] == node_ops
        options = sardonyx.SessionOptions()
        options.strict = True
        (y,) = sardonyx.InferenceSession(self.model, options, providers=["native"]).run(None, {"x": self.x})
        np.testing.assert_allclose(y, self.exact, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
def test_kinds(kind: str, zero: bool, transpose: bool) -> None:
    Case(kind, zero, transpose).check(["MatMulNBits"])


def test_a_bias_joins() -> None:
    Case("int4", True, False, bias=True).check(["MatMulNBits"])


def test_short_blocks_stay() -> None:
    Case("int4", True, False, block=8).check(["DequantizeLinear", "MatMul"])


def test_blocks_along_columns_stay() -> None:
    Case("uint4", True, False, axis=1).check(["DequantizeLinear", "MatMul"])
