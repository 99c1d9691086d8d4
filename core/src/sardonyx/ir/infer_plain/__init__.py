"""Output types of the common ONNX operators in their common forms, as onnx's own inference gives them, but without it.

onnx registers all its operators before it infers anything, and takes every node by way of protobuf; most nodes need neither.
One small function per operator gives the shapes of a node's outputs, or None to leave the node to onnx, as whatever is unusual
or malformed is. All inputs are tensors of known dtype and rank then (see `plain_types`). A dim is None where onnx leaves it open.
"""

from __future__ import annotations

import contextlib

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.infer_contrib import CONTRIB
from sardonyx.ir.infer_own import OWN
from sardonyx.ir.infer_plain import elementwise, movement, products, reductions, window
from sardonyx.ir.infer_plain.table import ANY, ITSELF, Plain, Unusual
from sardonyx.ir.types import Dim, Shape, TensorType, ValueType

__all__ = ["plain_types", "type_plainly"]

PLAIN: Plain = {**elementwise.types, **movement.types, **products.types, **reductions.types, **window.types}


def plain_types(node: Node) -> list[ValueType] | None:
    """The types of a node's outputs, or None where onnx has to be asked."""
    rule = PLAIN.get(node.op) if node.domain == "" else None
    if rule is None or node.since < rule.since:
        return None
    unranked = []
    for i, v in enumerate(node.inputs):
        if v is not None:
            given = v.type
            if not isinstance(given, TensorType) or given.dtype is None:
                return None
            if given.shape is None:
                unranked.append(i)
    try:
        dtype = rule.dtype(node)
        shapes: list[Shape] | None = None
        if not unranked or rule.without_rank == ITSELF:
            shapes = rule.shapes(node)
        elif rule.without_rank == ANY or rule.without_rank in unranked:
            shapes = [None] * len(node.outputs)
    except (Unusual, IndexError, TypeError, ValueError, KeyError, AttributeError):
        return None
    return None if shapes is None else [TensorType(dtype, s) for s in shapes]


def _special_types(node: Node) -> list[ValueType]:
    """The types of an operator that onnx does not know, or is not shown; none if it is to be asked."""
    special = CONTRIB.get(node.key) or OWN.get(node.key)
    if special is not None:
        with contextlib.suppress(Exception):
            return special(node)
    return []


def type_plainly(graph: Graph) -> bool:
    """Give all outputs of a graph's nodes their types if that takes no onnx, else leave them without; whether it did. Dims
    that plain inference leaves open get symbols, named as onnx names them."""
    symbols = {d for v in graph.inputs for d in v.shape or () if isinstance(d, str)}
    made: list[Value] = []
    count = 0

    def named(dim: Dim) -> Dim:
        nonlocal count
        while dim is None:
            if (name := f"unk__{count}") not in symbols:
                dim = name
            count += 1
        return dim

    for node in graph.nodes:
        plain = plain_types(node)
        types = plain if plain is not None else _special_types(node)
        if len(types) < len(node.outputs):
            for value in made:
                value.type = None
            return False
        for v, t in zip(node.outputs, types, strict=False):
            if v is not None:
                if plain is not None and isinstance(t, TensorType) and t.shape is not None and None in t.shape:
                    t = TensorType(t.dtype, tuple([named(d) for d in t.shape]))
                v.type = t
                made.append(v)
    return True
