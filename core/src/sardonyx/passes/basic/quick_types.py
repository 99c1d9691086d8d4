"""Shapes of plain operators from those of their inputs, without asking onnx; symbols stay what they are."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx.ir.types import TensorType
from sardonyx.passes.dims import broadcast_dims, matmul_dims

__all__ = ["quick_type"]

FUNCTIONS = {"Neg", "Abs", "Sqrt", "Exp", "Log", "Reciprocal", "Erf", "Floor", "Ceil", "Round", "Not", "IsNaN", "Cast", "Identity", "Clip"}
ACTIVATIONS = {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "HardSwish", "Gelu", "Swish", "Mish", "Softplus", "Elu"}
NORMS = {
    "BatchNormalization",
    "InstanceNormalization",
    "GroupNormalization",
    "LayerNormalization",
    "RMSNormalization",
    "Softmax",
    "LogSoftmax",
}
SAME = FUNCTIONS | ACTIVATIONS | NORMS
ARITHMETIC = {"Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Sum", "Mean", "Where", "PRelu", "SwiGLU"}
COMPARISONS = {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Xor"}
BROADCASTING = ARITHMETIC | COMPARISONS


def quick_type(node: Node) -> TensorType | None:
    """The type of the only output of an elementwise operator, a norm, MatMul or Transpose, if its shape is fully known."""
    out, x = node.outputs[0], node.inputs[0] if node.inputs else None
    if out is None or out.dtype is None or len(node.outputs) != 1 or x is None:
        return None
    shape = None
    if node.op in SAME:
        shape = x.shape
    elif node.op in BROADCASTING and None not in node.inputs:
        shape = broadcast_dims(*(v.shape for v in node.inputs if v is not None))
    elif node.op == "MatMul" and node.inputs[1] is not None:
        shape = matmul_dims(x.shape, node.inputs[1].shape)
    elif node.op == "Transpose" and x.shape is not None and "perm" in node.attrs:
        perm = node.attrs["perm"]
        shape = tuple([x.shape[p] for p in perm]) if sorted(perm) == list(range(len(x.shape))) else None
    return TensorType(out.dtype, shape) if shape is not None and None not in shape else None
