"""Walking the graphs of onnx protos."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["nested_graphs"]


def nested_graphs(nodes: Iterable[Any]) -> Iterator[Any]:
    """Every GraphProto among the attributes of these NodeProtos, and of the nodes in them."""
    stack = list(nodes)
    while stack:
        for attribute in stack.pop().attribute:
            for graph in (attribute.g,) if attribute.HasField("g") else attribute.graphs:
                yield graph
                stack += graph.node
