"""What the engine takes of operators that rename memory or speak of shapes: any dtype it holds."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx_ep_native.claims import add


@add("Identity")
@add("Shape")
@add("Size")
@add("Reshape", since=5)
@add("Flatten")
@add("Squeeze", since=13)
@add("Unsqueeze", since=13)
def any_dtype(node: Node) -> str | None:
    """Every dtype the engine holds."""
    return None
