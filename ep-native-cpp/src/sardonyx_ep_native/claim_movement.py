"""What the engine's movement operators take: any dtype it holds, mostly."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx_ep_native.claims import add


@add("Transpose")
@add("Slice", since=10)
@add("Split", since=18)
@add("Concat", since=4)
@add("Expand", since=8)
@add("Tile", since=6)
@add("DepthToSpace")
@add("SpaceToDepth")
def any_dtype(node: Node) -> str | None:
    """Elements are moved by their size."""
    return None
