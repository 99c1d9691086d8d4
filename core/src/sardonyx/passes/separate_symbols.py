"""Forget that dims of different inputs are equal because they have one name."""

from __future__ import annotations

from sardonyx.ir.graph import Graph
from sardonyx.ir.infer import infer_graph
from sardonyx.ir.types import Dim, TensorType

__all__ = ["separate_symbols"]


def separate_symbols(graph: Graph) -> int:
    """Give every dim of the inputs that shares its symbol with an earlier one a symbol of its own, and infer all types again.

    Passes take one symbol for one size. A file may use a name for what is not equal at run time; feeds that show it need a
    graph that was optimized after this. Returns how many dims were renamed.
    """
    seen: set[str] = set()
    count = 0
    for v in graph.inputs:
        if v.shape is None:
            continue
        dims: list[Dim] = []
        for axis, dim in enumerate(v.shape):
            if isinstance(dim, str) and dim in seen:
                dim = f"{v.name}.{axis}"
                count += 1
            if isinstance(dim, str):
                seen.add(dim)
            dims.append(dim)
        v.type = TensorType(v.dtype, tuple(dims))
    if count:
        for level in graph.walk_graphs():
            for node in level.nodes:
                for out in node.outputs:
                    if out is not None and out.shape is not None:
                        out.type = TensorType(out.dtype, tuple(d if isinstance(d, int) else None for d in out.shape))
        infer_graph(graph)
    return count
