"""Output types of the common ONNX operators in their common forms, as onnx's own inference gives them, but without it.

onnx registers all its operators before it infers anything, and takes every node by way of protobuf; most nodes need neither.
One small function per operator, `(node) -> [type, ...] | None`: None leaves the node to onnx, as whatever is unusual,
malformed or not fully known does. All inputs are tensors of known type and rank (see `plain_types`). A dim of a result is None
where onnx leaves it open.
"""

from __future__ import annotations

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.infer_plain import elementwise, movement, products, reductions, window
from sardonyx.ir.infer_plain.table import Plain, Unusual
from sardonyx.ir.types import Dim, TensorType, ValueType

__all__ = ["plain_types", "type_plainly"]

PLAIN: Plain = {**elementwise.types, **movement.types, **products.types, **reductions.types, **window.types}


def plain_types(node: Node) -> list[ValueType] | None:
    """The types of a node's outputs, or None where onnx has to be asked."""
    found = PLAIN.get(node.op) if node.domain == "" else None
    if found is None or node.since < found[0]:
        return None
    for v in node.inputs:
        if v is not None and (v.dtype is None or v.shape is None):
            return None
    try:
        return found[1](node)
    except (Unusual, IndexError, TypeError, ValueError, KeyError, AttributeError):
        return None


def type_plainly(graph: Graph) -> bool:
    """Give all outputs of a graph's nodes their types if that takes no onnx, else leave them without; whether it did. Dims
    that stay open get symbols, named as onnx names them."""
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
        types = plain_types(node)
        if types is None or len(types) < len(node.outputs):
            for value in made:
                value.type = None
            return False
        for v, t in zip(node.outputs, types, strict=False):
            if v is not None:
                if isinstance(t, TensorType) and t.shape is not None and None in t.shape:
                    t = TensorType(t.dtype, tuple([named(d) for d in t.shape]))
                v.type = t
                made.append(v)
    return True
