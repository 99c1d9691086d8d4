"""Sizes of dims read at the graph's inputs instead of somewhere on the way."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.names import fresh_name
from sardonyx.ir.schema import newest
from sardonyx.ir.types import Dim, TensorType
from sardonyx.passes.edit import constant

__all__ = ["Roots"]

INT64 = np.dtype(np.int64)


class Roots:
    """For each symbol of an input's dims one node that reads it, as a vector of one element or as a scalar.

    So shape arithmetic depends on the feeds alone: values on the way lose their last reader but one, and equal sizes read
    at different places become one value. `new` are the nodes made, to stand before all others.
    """

    def __init__(self, graph: Graph):
        self.sources: dict[str, tuple[Value, int]] = {}
        for v in graph.inputs:
            for axis, dim in enumerate(v.shape or ()):
                if isinstance(dim, str):
                    self.sources.setdefault(dim, (v, axis))
        self.names = {n.name for n in graph.walk_nodes()} if self.sources else set()
        self.made: dict[tuple[str, int], Value] = {}
        self.new: list[Node] = []

    def stand_in(self, node: Node, contents: list[Dim]) -> Value | None:
        """The value to use for the node's output, which holds `contents`; None if it is to stay."""
        out = node.outputs[0]
        if out is None or len(contents) != 1 or out.dtype != INT64 or out.rank is None:
            return None
        symbol = contents[0]
        if not isinstance(symbol, str) or symbol not in self.sources:
            return None
        made = self.made.get((symbol, out.rank))
        if made is None:
            if out.rank == 1 and node.op == "Shape" and node.inputs[0] is self.sources[symbol][0]:
                self.made[symbol, 1] = out
                return None
            made = self._make(symbol, out.rank)
        if made is out or made.producer is None:
            return None
        source = made.producer.inputs[0]
        for maker in (made.producer, source.producer if source is not None else None):
            if maker is not None:
                maker.origins = tuple(dict.fromkeys(maker.origins + node.origins))
        return made

    def _make(self, symbol: str, rank: int) -> Value:
        if rank == 1:
            source, axis = self.sources[symbol]
            node = self._node("Shape", [source], {"start": axis, "end": axis + 1}, symbol, rank)
        else:
            vector = self.made.get((symbol, 1))
            if vector is None or vector.producer not in self.new:
                vector = self._make(symbol, 1)
            node = self._node("Squeeze", [vector, constant(np.zeros(1, np.int64), "axes")], {}, symbol, rank)
        out = node.outputs[0]
        assert out is not None
        self.made[symbol, rank] = out
        return out

    def _node(self, op: str, inputs: list[Value | None], attrs: dict[str, int], symbol: str, rank: int) -> Node:
        name = fresh_name(f"{symbol}/{op}", self.names)
        out = Value(name, TensorType(INT64, (1,) * rank))
        node = Node(op, inputs, [out], attrs, since=newest("", op) or 1, name=name)
        self.new.append(node)
        return node
