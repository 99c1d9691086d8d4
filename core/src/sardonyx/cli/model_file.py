"""A model file as protobuf without its large weights, for commands that show what the file says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sardonyx.errors import InvalidModel
from sardonyx.ir.walk_proto import nested_graphs
from sardonyx.tools.original import skeleton

__all__ = ["ModelFile", "read_model_file"]


@dataclass
class ModelFile:
    """`proto` is the ModelProto; large initializers are stubs with name, type and dims."""

    path: str
    proto: Any

    def graphs(self) -> Iterator[Any]:
        """The graph and every graph in a node's attributes, those of functions included."""
        yield self.proto.graph
        yield from nested_graphs(n for holder in (self.proto.graph, *self.proto.functions) for n in holder.node)

    def nodes(self) -> Iterator[Any]:
        """Every node of graphs and functions."""
        for function in self.proto.functions:
            yield from function.node
        for graph in self.graphs():
            yield from graph.node

    def initializers(self) -> Iterator[Any]:
        """Every initializer, and the tensors of Constant nodes."""
        for graph in self.graphs():
            yield from graph.initializer
            for sparse in graph.sparse_initializer:
                yield sparse.values
        for node in self.nodes():
            if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
                yield from (a.t for a in node.attribute if a.HasField("t"))

    def external_sizes(self) -> dict[str, int | None]:
        """The files of external data with their sizes in bytes; None for one that is missing."""
        folder = os.path.dirname(os.path.abspath(self.path))
        sizes: dict[str, int | None] = {}
        for t in self.initializers():
            location = next((e.value for e in t.external_data if e.key == "location"), None)
            if location is not None and location not in sizes:
                try:
                    sizes[location] = os.stat(os.path.join(folder, location)).st_size
                except OSError:
                    sizes[location] = None
        return sizes


def read_model_file(path: str) -> ModelFile:
    """Read a model file. Raises InvalidInput where there is none, InvalidModel where it is not ONNX."""
    proto = skeleton(path)
    if not proto.HasField("graph"):
        raise InvalidModel(f"{path} is not an ONNX model: it has no graph")
    return ModelFile(path, proto)
