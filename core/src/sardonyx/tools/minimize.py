"""Cut a model down to the smallest part that still shows something."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sardonyx.errors import InvalidModel
from sardonyx.ir.extract import extract
from sardonyx.ir.graph import Model, Node, Value
from sardonyx.ir.replacing import make_way, new_file, refusing
from sardonyx.ir.save import saving
from sardonyx.ir.types import TensorType
from sardonyx.tools.difference import value_text
from sardonyx.tools.npz import write_npz
from sardonyx.tools.original import near_proto

__all__ = ["Piece", "minimize", "write_piece"]

PATIENCE = 100


@dataclass
class Piece:
    """Some nodes of a model's main graph, with the values (by name) that they read from outside."""

    model: Model
    nodes: list[Node]
    values: dict[str, Any]

    @cached_property
    def inputs(self) -> list[Value]:
        """What the nodes and their bodies read and none of them gives, constants aside."""
        given = {v for n in self.nodes for v in n.outputs}
        read: dict[Value, None] = {}
        for n in self.nodes:
            for v in (*(v for v in n.inputs if v is not None), *(v for body in n.bodies for v in body.captures())):
                if v.const is None and v not in given:
                    read[v] = None
        return list(read)

    @cached_property
    def outputs(self) -> list[Value]:
        """What the nodes give and others read, or nobody does."""
        inside = set(self.nodes)
        results = set(self.model.graph.outputs)
        found = []
        for v in (v for n in self.nodes for v in n.outputs if v is not None and v.name in self.values):
            readers = {n for n, _ in v.uses}
            captured = any(v in body.captures() for n in self.nodes for body in n.bodies)
            if v in results or readers - inside or (not readers and not captured):
                found.append(v)
        return found

    @property
    def feeds(self) -> dict[str, Any]:
        """Values for the inputs."""
        return {v.name: self.values[v.name] for v in self.inputs}

    def describe(self) -> dict[str, str]:
        """Each input's type, shape and who gives it in the whole model."""
        told = {}
        for v in self.inputs:
            made = f", from node {v.producer.name!r} ({v.producer.title})" if v.producer is not None else ""
            told[v.name] = f"{value_text(self.values[v.name])}{made}"
        return told

    def cut(self) -> Model:
        """The piece as a model; its inputs and outputs have the types and shapes of the values."""
        graph = extract(self.nodes, self.inputs, self.outputs, self.model.graph.name)
        for v in (*graph.inputs, *graph.outputs):
            value = self.values.get(v.name)
            if isinstance(value, np.ndarray) and v.const is None:
                dtype = v.dtype if v.dtype is not None else value.dtype
                v.type = TensorType(dtype, tuple(value.shape))
        return Model(graph=graph, opsets=dict(self.model.opsets), producer_name="sardonyx bisect")

    def proto(self) -> Any:
        """The piece as a ModelProto of the model's own opset, or of a newer one if it cannot be written in that."""
        return near_proto(self.cut())


def write_piece(piece: Piece, path: str) -> list[str]:
    """Write a piece and, beside it, its inputs; returns the paths. A new model never stands beside the inputs of an old one."""
    cut, inputs = piece.cut(), os.path.splitext(path)[0] + ".npz"
    try:
        return _write(cut, path, piece.feeds, inputs, piece.model.opsets.get("", 1))
    except InvalidModel:
        return _write(cut, path, piece.feeds, inputs, None)


def _write(cut: Model, path: str, feeds: dict[str, Any], inputs: str, opset: int | None) -> list[str]:
    with refusing(inputs), new_file(os.path.realpath(inputs)) as arrays:
        write_npz(arrays.file, {k: v for k, v in feeds.items() if isinstance(v, np.ndarray)})
        with saving(cut, path, opset=opset) as place:
            make_way(path, inputs)
            files = place()
        arrays.place(os.path.realpath(inputs))
    return [*files, inputs]


def minimize(model: Model, values: dict[str, Any], shows: Callable[[Piece], bool], start: Sequence[Node] = ()) -> Piece | None:
    """The smallest piece for which `shows` is true, or None where not even all nodes together show it.

    `start` are nodes that are likely to; else the shortest beginning of the model that shows it is found by halving, then the
    shortest end of that, then what else can be left out is, in at most PATIENCE tries.
    """
    piece = Piece(model, list(start), values)
    if not start or not shows(piece):
        nodes = list(model.graph.nodes)
        if not nodes or not shows(Piece(model, nodes, values)):
            return None
        nodes = _shortest(nodes, lambda part: shows(Piece(model, part, values)))
        nodes = _shortest(nodes[::-1], lambda part: shows(Piece(model, part[::-1], values)))[::-1]
        piece = Piece(model, nodes, values)
    return _thin(piece, shows)


def _shortest(nodes: list[Node], shows: Callable[[list[Node]], bool]) -> list[Node]:
    """The shortest beginning that shows it, where longer ones do too."""
    low, high = 0, len(nodes)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(nodes[:middle]) else (middle, high)
    return nodes[:high]


def _thin(piece: Piece, shows: Callable[[Piece], bool]) -> Piece:
    """Leave out chunks of nodes, ever smaller ones, while it still shows."""
    nodes = piece.nodes
    size = max(1, len(nodes) // 2)
    tries = 0
    while len(nodes) > 1 and tries < PATIENCE:
        for at in range(0, len(nodes), size):
            fewer = Piece(piece.model, nodes[:at] + nodes[at + size :], piece.values)
            tries += 1
            if fewer.nodes and shows(fewer):
                nodes = fewer.nodes
                break
        else:
            if size == 1:
                break
            size //= 2
            continue
        size = min(size, max(1, len(nodes) // 2))
    return Piece(piece.model, nodes, piece.values)
