"""float16 and bfloat16 are for storage: what the engine computes in float32 alone takes its half operands widened.

Where sessions optimize, a result goes on between such operators as it is, unrounded; it is rounded where something else, or
the caller, takes it.
"""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.names import fresh_name
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import TensorType
from sardonyx_ep_native.claims import DTYPES, HALF

__all__ = ["widen_half_precision"]

F32 = np.dtype("f4")
TO = {F32: 1, DTYPES[2]: 10, DTYPES[3]: 16}  # of ONNX's TensorProto

# What the engine has in float32 only.
COMPUTES = frozenset(
    {
        "Conv",
        "ConvTranspose",
        "MaxPool",
        "AveragePool",
        "GlobalAveragePool",
        "GlobalMaxPool",
        "MatMul",
        "Gemm",
        "Attention",
        "RotaryEmbedding",
        "Einsum",
        "GRU",
        "LSTM",
        "RNN",
        "MatMulNBits",
    }
)
# What goes on in float32 with a widened operand: elementwise operators, rows, and movements.
# fmt: off
FOLLOWS = frozenset({
    "Abs", "Add", "BatchNormalization", "Ceil", "Celu", "Clip", "Concat", "Cos", "CumSum", "DepthToSpace", "Div", "Dropout", "Elu",
    "Equal", "Erf", "Exp", "Expand", "Flatten", "Floor", "Gather", "GatherElements", "GatherND", "Gelu", "Greater", "GreaterOrEqual",
    "GroupNormalization", "HardSigmoid", "HardSwish", "Identity", "InstanceNormalization", "IsNaN", "LRN", "LayerNormalization",
    "LeakyRelu", "Less", "LessOrEqual", "Log", "LogSoftmax", "LpNormalization", "Max", "Mean", "Min", "Mish", "Mul", "Neg", "PRelu",
    "Pad", "Pow", "RMSNormalization", "Reciprocal", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Relu", "Reshape", "Resize", "Selu", "Shrink", "Sigmoid", "Sign", "Sin",
    "Slice", "Softmax", "Softplus", "Softsign", "SpaceToDepth", "Split", "Sqrt", "Squeeze", "Sub", "Sum", "SwiGLU", "Swish", "Tan",
    "Tanh", "ThresholdedRelu", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where",
})
# fmt: on


def widen_half_precision(graph: Graph, rounding: bool) -> None:
    """Rewrite the graph in place, so that the operators of COMPUTES see float32; `rounding`: each result is rounded at once."""
    if any(v is not None and v.dtype in HALF for n in graph.nodes if n.op in COMPUTES for v in n.inputs):
        _Widening(graph, rounding).run()


class _Widening:
    def __init__(self, graph: Graph, rounding: bool):
        self.graph, self.rounding, self.nodes = graph, rounding, list[Node]()
        self.wide: dict[Value, Value] = {}
        self.rounded: set[Value] = set()
        self.names = {n.name for n in graph.nodes}

    def run(self) -> None:
        for node in self.graph.nodes:
            results = self._widen(node) if self._goes_wide(node) else self._keep(node)
            self.nodes.append(node)
            if self.rounding:
                for v in results:
                    self._round(v)
                    del self.wide[v]
        for v in self.graph.outputs:
            self._round(v)
        for node in self.nodes:
            node.graph = self.graph
        self.graph.nodes = self.nodes

    def _goes_wide(self, node: Node) -> bool:
        if node.domain != "" and node.key != ("com.microsoft", "MatMulNBits"):
            return False
        half = [v for v in node.inputs if v is not None and v.dtype in HALF]
        return bool(half) and (node.op in COMPUTES or (node.op in FOLLOWS and any(v in self.wide and v.const is None for v in half)))

    def _widen(self, node: Node) -> list[Value]:
        """Make a node take and give float32; returns the half results that it gave."""
        node.set_inputs([self._wide(v) if v is not None and v.dtype in HALF else v for v in node.inputs])
        outputs, results = list(node.outputs), []
        for i, v in enumerate(outputs):
            if v is not None and v.dtype in HALF:
                v.producer = None
                made = Value(f"{v.name}/float32", TensorType(F32, v.shape))
                made.producer = node
                outputs[i] = self.wide[v] = made
                results.append(v)
        node.outputs = tuple(outputs)
        return results

    def _wide(self, v: Value) -> Value:
        if v not in self.wide:
            self.wide[v] = Value(f"{v.name}/float32", TensorType(F32, v.shape), None if v.const is None else _widened(v.const))
            if v.const is None:
                self._cast(v, self.wide[v])
        return self.wide[v]

    def _keep(self, node: Node) -> list[Value]:
        """Round what a node that stays as it is takes, its bodies included; none of its results are widened."""
        for v in (*node.inputs, *(v for body in node.bodies for v in body.captures())):
            if v is not None:
                self._round(v)
        return []

    def _round(self, v: Value) -> None:
        if v in self.wide and v.const is None and v.producer is None and v not in self.graph.inputs and v not in self.rounded:
            self.rounded.add(v)
            self._cast(self.wide[v], v)

    def _cast(self, source: Value, target: Value) -> None:
        name = fresh_name(f"{target.name}/Cast", self.names)
        assert target.dtype is not None
        origins = source.producer.origins if source.producer is not None else ()
        self.nodes.append(Node("Cast", [source], [target], {"to": TO[target.dtype]}, since=6, name=name, origins=origins))


def _widened(tensor: Tensor) -> Tensor:
    known = tensor.known_identity
    return Tensor(F32, tensor.shape, read=lambda: tensor.numpy().astype(F32), identity=f"{known} as float32" if known else None)
