"""Matrix products."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx.ir.infer_contrib.table import Contrib, broadcast, dims, dtype, register, same, tensor
from sardonyx.ir.types import Shape, ValueType

__all__ = ["types"]

types: Contrib = {}


def matmul_shape(a: Shape, b: Shape) -> Shape:
    """The shape of numpy's matmul."""
    if a is None or b is None:
        return None
    if len(a) == 1 and len(b) == 1:
        return ()
    if len(a) == 1:
        return (*b[:-2], b[-1])
    if len(b) == 1:
        return a[:-1]
    batch = broadcast(a[:-2], b[:-2])
    return None if batch is None else (*batch, a[-2], b[-1])


@register(types, "FusedMatMul", "TransposeMatMul")
def fused_matmul(node: Node) -> list[ValueType]:
    """MatMul after transposing: `trans` swaps the last two dims, `transBatch` moves the first one before the last."""
    operands = []
    for index, name in ((0, "A"), (1, "B")):
        shape = dims(node, index)
        if shape is not None and len(shape) > 1:
            if node.attrs.get(f"transBatch{name}", 0):
                shape = (*shape[1:-1], shape[0], shape[-1])
            if node.attrs.get(f"trans{name}", 0):
                shape = (*shape[:-2], shape[-1], shape[-2])
        operands.append(shape)
    return [tensor(dtype(node, 0), matmul_shape(*operands))]


@register(types, "FusedGemm")
def fused_gemm(node: Node) -> list[ValueType]:
    """[rows of A, columns of B]."""
    return [tensor(dtype(node, 0), gemm_shape(node, 0, 1))]


def gemm_shape(node: Node, a: int, b: int) -> Shape:
    """[rows of A, columns of B], each perhaps transposed."""
    left, right = dims(node, a), dims(node, b)
    rows = None if left is None else left[1 if node.attrs.get("transA", 0) else 0]
    return rows, None if right is None else right[0 if node.attrs.get("transB", 0) else 1]


@register(types, "GemmFastGelu", "DynamicQuantizeMatMul")
def matmul(node: Node) -> list[ValueType]:
    """MatMul in the type of A."""
    return [tensor(dtype(node, 0), matmul_shape(dims(node, 0), dims(node, 1)))]


@register(types, "MatMulIntegerToFloat")
def matmul_integer_to_float(node: Node) -> list[ValueType]:
    """MatMul in the type of the scales."""
    return [tensor(dtype(node, 2), matmul_shape(dims(node, 0), dims(node, 1)))]


@register(types, "MatMulInteger16")
def matmul_integer_16(node: Node) -> list[ValueType]:
    """MatMul in int32."""
    return [tensor(np.dtype(np.int32), matmul_shape(dims(node, 0), dims(node, 1)))]


@register(types, "MatMulNBits", "MatMulBnb4")
def matmul_n_bits(node: Node) -> list[ValueType]:
    """The last dim becomes N."""
    a = dims(node, 0)
    return [tensor(dtype(node, 0), None if a is None else (*a[:-1], node.attrs["N"]))]


@register(types, "CDist")
def c_dist(node: Node) -> list[ValueType]:
    """A distance for each pair of rows."""
    a, b = dims(node, 0), dims(node, 1)
    return [tensor(dtype(node, 0), (None if a is None else a[0], None if b is None else b[0]))]


@register(types, "MoE", "QMoE")
def mixture_of_experts(node: Node) -> list[ValueType]:
    """The type of the first input."""
    return [same(node)]
