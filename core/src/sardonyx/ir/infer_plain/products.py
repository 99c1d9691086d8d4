"""Matrix products."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx.ir.infer_plain.table import Plain, broadcast, out, register, shape
from sardonyx.ir.types import ValueType

__all__ = ["types"]

types: Plain = {}


@register(types, "MatMul")
def matmul(node: Node) -> list[ValueType] | None:
    """Matrices, or stacks of them that broadcast."""
    a, b = shape(node, 0, rank=2), shape(node, 1, rank=2)
    if isinstance(a[-1], int) and isinstance(b[-2], int) and a[-1] != b[-2]:
        return None
    return out(node, (*broadcast([a[:-2], b[:-2]]), a[-2], b[-1]))


@register(types, "Gemm", since=7)
def gemm(node: Node) -> list[ValueType] | None:
    """Two matrices, transposed or not."""
    a, b = shape(node, 0), shape(node, 1)
    if len(a) != 2 or len(b) != 2:
        return None
    return out(node, (a[1 if node.attrs.get("transA") else 0], b[0 if node.attrs.get("transB") else 1]))
