"""What the engine takes of Einsum."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx_ep_native.claims import FLOATS, add, dtypes


@add("Einsum", since=12)
def einsum(node: Node) -> str | None:
    """Any equation of up to 16 labels."""
    labels = {c for c in str(node.attrs.get("equation", "")) if c.isalpha()}
    if len(labels) > 8:
        return f"its equation has {len(labels)} letters"
    return dtypes(node, FLOATS, tuple(range(len(node.inputs))))
