"""Types and shapes of values, node by node (see infer_model for the whole of a file at once)."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from sardonyx.ir.custom import infer_custom
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.infer_contrib import CONTRIB
from sardonyx.ir.infer_own import OWN
from sardonyx.ir.infer_plain import plain_types
from sardonyx.ir.proto import tensor_to_proto, type_from_proto, type_to_proto
from sardonyx.ir.schema import schema
from sardonyx.ir.types import OptionalType, SequenceType, TensorType, ValueType

__all__ = ["infer_graph", "infer_missing", "infer_node"]

SMALL = 1024
INT64, BOOL = np.dtype(np.int64), np.dtype(np.bool_)


def infer_missing(graph: Graph, news: set[Value] | None = None) -> None:
    """Fill in the types of node outputs that are unknown.

    With `news`, values whose types a previous inference of the whole graph had not seen, a node whose element types are
    known is tried again only if it reads one of them, or what was inferred from them, or if ONNX does not define its operator.
    """
    for node in graph.nodes:
        for body in node.bodies:
            _enter(node, body)
            infer_missing(body, news)
        if all(v is None or _known(v.type) for v in node.outputs):
            continue
        if news is not None and not _promising(node, news):
            continue
        for v, t in zip(node.outputs, infer_node(node), strict=False):
            if v is None or t is None or _known(v.type):
                continue
            merged = _merge(v.type, t)
            if merged != v.type:
                v.type = merged
                if news is not None:
                    news.add(v)


def _promising(node: Node, news: set[Value]) -> bool:
    if any(v is not None and (v.type is None or (isinstance(v.type, TensorType) and v.type.dtype is None)) for v in node.outputs):
        return True
    if schema(node.domain, node.op, node.since) is None:
        return True
    return any(v in news for v in node.inputs) or any(v in news for body in node.bodies for v in body.outputs)


def infer_graph(graph: Graph) -> None:
    """Infer every node's outputs again, from the types of the graph's inputs."""
    for node in graph.nodes:
        for body in node.bodies:
            _enter(node, body)
            infer_graph(body)
        for v, t in zip(node.outputs, infer_node(node), strict=False):
            if v is not None and t is not None:
                v.type = _merge(v.type, t)


def _known(t: ValueType) -> bool:
    if isinstance(t, TensorType):
        return t.dtype is not None and t.shape is not None
    return t is not None


def _merge(old: ValueType, new: ValueType) -> ValueType:
    """`new`, with what only `old` knows."""
    if isinstance(old, TensorType) and isinstance(new, TensorType):
        return TensorType(new.dtype if new.dtype is not None else old.dtype, new.shape if new.shape is not None else old.shape)
    return new


def _enter(node: Node, body: Graph) -> None:
    """Types of a body's inputs, where they are unknown: a Loop's or Scan's state keeps its type."""
    if all(v.type is not None for v in body.inputs):
        return
    given: list[ValueType] = []
    if node.key == ("", "Loop"):
        given = [TensorType(INT64, ()), TensorType(BOOL, ()), *(_shapeless(v) for v in node.inputs[2:])]
    elif node.key == ("", "Scan") and node.since >= 9:
        states = len(node.inputs) - node.attrs["num_scan_inputs"]
        given = [_shapeless(v) for v in node.inputs]
        for i, v in enumerate(node.inputs[states:], states):
            if v is not None and v.rank:
                given[i] = TensorType(v.dtype, (None,) * (v.rank - 1))
    for inner, t in zip(body.inputs, given, strict=False):
        if inner.type is None:
            inner.type = t


def _shapeless(v: Value | None) -> ValueType:
    if v is None:
        return None
    return TensorType(v.type.dtype) if isinstance(v.type, TensorType) else v.type


def infer_node(node: Node) -> list[ValueType]:
    """The types of a node's outputs from those of its inputs; None where nothing can be said."""
    unknown: list[ValueType] = [None] * len(node.outputs)
    special = CONTRIB.get(node.key)
    if special is not None:
        with contextlib.suppress(Exception):
            return list(special(node)) + unknown
        return unknown
    own = OWN.get(node.key)
    if own is not None and (found := own(node)):
        return found + unknown
    if node.domain == "" and node.op in CONTROL:
        return CONTROL[node.op](node)
    plain = plain_types(node)
    if plain is not None and len(plain) >= len(node.outputs):
        return plain
    known = schema(node.domain, node.op, node.since)
    if known is None:
        custom = infer_custom(node)
        return unknown if custom is None else custom[: len(unknown)] + unknown[len(custom) :]
    return _infer_standard(node, known)


def _infer_if(node: Node) -> list[ValueType]:
    branches = [b.outputs for b in node.bodies]
    return [_join(*(v.type for v in pair)) for pair in zip(*branches, strict=False)]


def _infer_loop(node: Node) -> list[ValueType]:
    body = node.bodies[0]
    states = len(body.inputs) - 2
    out: list[ValueType] = [_shapeless(v) for v in body.outputs[1 : 1 + states]]
    for v in body.outputs[1 + states :]:
        shape = None if v.shape is None else (None, *v.shape)
        out.append(TensorType(v.dtype, shape))
    return out


def _infer_scan(node: Node) -> list[ValueType]:
    if node.since < 9:
        return [TensorType(v.dtype) for v in node.bodies[0].outputs]
    outputs = node.bodies[0].outputs
    states = len(node.inputs) - node.attrs["num_scan_inputs"]
    out: list[ValueType] = [TensorType(v.dtype, v.shape) for v in outputs[:states]]
    axes = node.attrs.get("scan_output_axes") or [0] * len(outputs)
    for v, axis in zip(outputs[states:], axes, strict=False):
        shape = v.shape
        if shape is not None:
            at = axis % (len(shape) + 1)
            shape = (*shape[:at], None, *shape[at:])
        out.append(TensorType(v.dtype, shape))
    return out


CONTROL = {"If": _infer_if, "Loop": _infer_loop, "Scan": _infer_scan}


def _join(a: ValueType, b: ValueType) -> ValueType:
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        shape = None
        if a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape):
            shape = tuple(x if x == y else None for x, y in zip(a.shape, b.shape, strict=True))
        return TensorType(a.dtype if a.dtype == b.dtype else None, shape)
    if isinstance(a, OptionalType) and isinstance(b, SequenceType | TensorType):
        return a
    known = a if a is not None else b
    # Of a branch whose type nobody knows, the shape is not known either.
    return TensorType(known.dtype) if isinstance(known, TensorType) and (a is None or b is None) else known


def _infer_standard(node: Node, known: Any) -> list[ValueType]:
    import onnx

    from sardonyx.ir.save import Names, node_to_proto

    names = Names()
    p = node_to_proto(node, names)
    types, data = {}, {}
    for v in node.inputs:
        if v is None:
            continue
        if v.type is None or (isinstance(v.type, TensorType) and v.type.dtype is None):
            return _by_type_variables(node, known)
        types[names.get(v)] = type_to_proto(v.type)
        if v.const is not None and v.const.nbytes <= SMALL:
            data[names.get(v)] = tensor_to_proto(v.const, names.get(v))
    try:
        s = onnx.defs.get_schema(node.op, node.since, node.domain)
        opset = [onnx.helper.make_opsetid(node.domain, node.since)]
        got = onnx.shape_inference.infer_node_outputs(s, p, types, data, opset_imports=opset)
    except Exception:
        return _by_type_variables(node, known)
    out = [type_from_proto(got[names.get(v)]) if v is not None and names.get(v) in got else None for v in node.outputs]
    return [t if t is not None else by for t, by in zip(out, _by_type_variables(node, known), strict=True)]


def _by_type_variables(node: Node, known: Any) -> list[ValueType]:
    """Dtypes alone: an output whose type variable an input has too has that input's dtype."""
    bound: dict[str, Any] = {}
    for i, v in enumerate(node.inputs):
        formal = known.input(i)
        if v is not None and formal is not None and v.dtype is not None:
            bound.setdefault(formal.type, v.dtype)
    out: list[ValueType] = []
    for i in range(len(node.outputs)):
        formal = known.output(i)
        dtype = bound.get(formal.type) if formal is not None else None
        if dtype is None and formal is not None and len(known.types.get(formal.type, ())) == 1:
            dtype = next(iter(known.types[formal.type]))
        out.append(TensorType(dtype) if dtype is not None else None)
    return out
