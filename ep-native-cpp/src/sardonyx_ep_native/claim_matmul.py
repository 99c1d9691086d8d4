"""What the engine takes of matrix products."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx_ep_native.claims import FLOATS, add, dtypes, finite


@add("MatMul")
def matmul(node: Node) -> str | None:
    """Products of any batch shape."""
    return dtypes(node, FLOATS, (0, 1))


@add("Gemm", since=7)
def gemm(node: Node) -> str | None:
    """Matrices; C of any broadcastable shape. Finite factors: A is multiplied by alpha first, where 0 times infinity is NaN."""
    return dtypes(node, FLOATS, (0, 1, 2)) or finite(node, "alpha", "beta")
