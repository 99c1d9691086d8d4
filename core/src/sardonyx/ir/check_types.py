"""Whether the element types of a node's inputs are ones that its operator takes, by ONNX's type constraints."""

from __future__ import annotations

import numpy as np

from sardonyx.errors import InvalidModel
from sardonyx.ir.dtypes import dtype_name
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.schema import newest, schema

__all__ = ["check_types"]

# Types of data that kernels treat alike count as one: what takes float32 and int32 may be given float16 and int8. Where only
# integers are taken, as for indices and shapes, the kind of integer matters.
_FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))
# Operators whose variadic inputs need not be of one type.
_MIXED = frozenset(("Loop", "Scan", "SequenceMap", "Gradient", "Adagrad", "Adam", "Momentum"))


def check_types(graph: Graph) -> None:
    """Check every node of the graph and its bodies, where types are known; InvalidModel names the node and the inputs.

    What a later version of the operator takes is taken, too.
    """
    passed = set()
    for node in graph.walk_nodes():
        case = (node.op, node.domain, node.since, *[v and v.dtype for v in node.inputs])
        if case in passed:
            continue
        what = _contradiction(node, node.since)
        if what is None:
            passed.add(case)
            continue
        later = newest(node.domain, node.op)
        if later is None or later == node.since or _contradiction(node, later):
            raise InvalidModel(f"node {node.name!r} ({node.title}-{node.since}): {what}")


def _contradiction(node: Node, since: int) -> str | None:
    known = schema(node.domain, node.op, since)
    if known is None:
        return None
    first: dict[str, tuple[int, Value]] = {}
    for i, value in enumerate(node.inputs):
        formal = known.input(i)
        if value is None or value.dtype is None or formal is None:
            continue
        allowed = known.types.get(formal.type)
        if allowed and value.dtype not in allowed and not _is_alike(value.dtype, allowed):
            takes = ", ".join(sorted(dtype_name(t) for t in allowed))
            return f"input {i} ({formal.name}), {value.name!r}, is {dtype_name(value.dtype)}, but the operator takes {takes}"
        if formal.variadic and node.op in _MIXED:
            continue
        at, other = first.setdefault(formal.type, (i, value))
        if other.dtype is not None and other.dtype != value.dtype:
            one, two = (f"input {n}, {v.name!r}, is {dtype_name(v.dtype)}" for n, v in ((at, other), (i, value)) if v.dtype is not None)
            return f"{one}, but {two}: the operator takes both of one type; put a Cast before it"
    return None


def _is_alike(dtype: np.dtype, allowed: frozenset[np.dtype]) -> bool:
    kinds = {_kind(t) for t in allowed}
    return _kind(dtype) in kinds and kinds != {"int"}


def _kind(dtype: np.dtype) -> str:
    if dtype.kind in "iu":
        return "int"
    if dtype.name.startswith("float6"):  # which onnx's schemas do not name yet
        return "float4_e2m1fn"
    return "float" if dtype.name in _FLOATS else dtype.name
