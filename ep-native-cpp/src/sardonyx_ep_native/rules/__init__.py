"""The provider's own rewrites: fusions without an ONNX operator, and the blocked layout of convolution nets."""

from __future__ import annotations

from sardonyx.ep import CompileContext
from sardonyx.ir.graph import Graph

__all__ = ["prepare"]


def prepare(graph: Graph, context: CompileContext) -> None:
    """Rewrite the subgraph in place into what the engine runs fastest."""
