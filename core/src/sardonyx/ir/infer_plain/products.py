"""Matrix products."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx.ir.infer_plain.table import ANY, NONE, Plain, broadcast, register, shape
from sardonyx.ir.types import Shape

__all__ = ["types"]

types: Plain = {}


@register(types, "MatMul", without_rank=ANY)
def matmul(node: Node) -> list[Shape] | None:
    """Matrices, or stacks of them that broadcast."""
    a, b = shape(node, 0, rank=2), shape(node, 1, rank=2)
    if isinstance(a[-1], int) and isinstance(b[-2], int) and a[-1] != b[-2]:
        return None
    return [(*broadcast([a[:-2], b[:-2]]), a[-2], b[-1])]


@register(types, "Gemm", since=7, without_rank=NONE)
def gemm(node: Node) -> list[Shape] | None:
    """Two matrices, transposed or not."""
    a, b = shape(node, 0), shape(node, 1)
    if len(a) != 2 or len(b) != 2:
        return None
    return [(a[1 if node.attrs.get("transA") else 0], b[0 if node.attrs.get("transB") else 1])]
