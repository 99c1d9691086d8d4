"""Types and shapes of every value: onnx.shape_inference on the model without its weights, then node by node."""

from __future__ import annotations

import contextlib
from typing import Any

from sardonyx.errors import InvalidModel
from sardonyx.ir.graph import Graph, Model, Node
from sardonyx.ir.infer_contrib import CONTRIB
from sardonyx.ir.proto import type_from_proto
from sardonyx.ir.schema import schema
from sardonyx.ir.types import OptionalType, SequenceType, TensorType, ValueType, type_string

__all__ = ["infer_graph", "infer_missing", "infer_model", "infer_node"]

SMALL = 1024


def infer_model(proto: Any, model: Model, strict: bool) -> Any:
    """The proto with inferred types in value_info. What the file declares fills gaps; where it contradicts, it is
    overruled and noted in model.warnings, or InvalidModel is raised if `strict`."""
    import onnx

    declared = {v.name: v for v in proto.graph.value_info}
    outputs = {o.name: type_from_proto(o.type) for o in proto.graph.output}
    work = onnx.ModelProto()
    work.CopyFrom(proto)
    work.graph.ClearField("value_info")
    for vi in work.graph.input:
        for d in vi.type.tensor_type.shape.dim if vi.type.HasField("tensor_type") else ():
            if d.HasField("dim_value") and d.dim_value < 0:
                d.ClearField("dim_value")
    for o in work.graph.output:
        if o.type.HasField("tensor_type"):
            o.type.tensor_type.ClearField("shape")
    try:
        work = onnx.shape_inference.infer_shapes(work, data_prop=True)
    except Exception as e:
        model.warnings.append(f"shape inference failed: {e}")
    known = {v.name: type_from_proto(v.type) for v in work.graph.value_info} | {o.name: type_from_proto(o.type) for o in work.graph.output}
    for name, vi in declared.items():
        if name not in known:
            work.graph.value_info.append(vi)
        else:
            _compare(name, type_from_proto(vi.type), known[name], model, strict)
    for o in work.graph.output:
        said = outputs.get(o.name)
        inferred = type_from_proto(o.type)
        if isinstance(inferred, TensorType) and inferred.shape is None and isinstance(said, TensorType) and said.shape is not None:
            o.type.CopyFrom(next(p.type for p in proto.graph.output if p.name == o.name))
        else:
            _compare(o.name, said, inferred, model, strict)
    return work


def _compare(name: str, said: ValueType, inferred: ValueType, model: Model, strict: bool) -> None:
    if not isinstance(said, TensorType) or not isinstance(inferred, TensorType):
        return
    wrong = said.dtype is not None and inferred.dtype is not None and said.dtype != inferred.dtype
    if said.shape is not None and inferred.shape is not None:
        pairs = zip(said.shape, inferred.shape, strict=False)
        wrong |= len(said.shape) != len(inferred.shape) or any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)
    if wrong:
        text = f"{name!r} is declared {type_string(said)}{_dims(said)}, but its operators give {type_string(inferred)}{_dims(inferred)}"
        if strict:
            raise InvalidModel(text)
        model.warnings.append(text)


def _dims(t: TensorType) -> str:
    return "" if t.shape is None else "[" + ", ".join(str(d) if d is not None else "?" for d in t.shape) + "]"


def infer_missing(graph: Graph) -> None:
    """Fill in the types of node outputs that whole-model inference left unknown (contrib operators and what follows)."""
    _walk(graph, only_missing=True)


def infer_graph(graph: Graph) -> None:
    """Infer every node's outputs again, from the types of the graph's inputs."""
    _walk(graph, only_missing=False)


def _walk(graph: Graph, only_missing: bool) -> None:
    for node in graph.nodes:
        for body in node.bodies:
            _enter(node, body)
            _walk(body, only_missing)
        if only_missing and all(v is None or _known(v.type) for v in node.outputs):
            continue
        for v, t in zip(node.outputs, infer_node(node), strict=False):
            if v is not None and t is not None and not (only_missing and _known(v.type)):
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
    if node.op == "Loop":
        for inner, outer in zip(body.inputs[2:], node.inputs[2:], strict=False):
            if inner.type is None and outer is not None:
                t = outer.type
                inner.type = TensorType(t.dtype) if isinstance(t, TensorType) else t


def infer_node(node: Node) -> list[ValueType]:
    """The types of a node's outputs from those of its inputs; None where nothing can be said."""
    unknown: list[ValueType] = [None] * len(node.outputs)
    special = CONTRIB.get(node.key)
    if special is not None:
        with contextlib.suppress(Exception):
            return list(special(node)) + unknown
        return unknown
    if node.bodies:
        return _infer_control(node)
    known = schema(node.domain, node.op, node.since)
    if known is None:
        return unknown
    return _infer_standard(node, known)


def _infer_control(node: Node) -> list[ValueType]:
    if node.op == "If":
        branches = [b.outputs for b in node.bodies]
        return [_join(*(v.type for v in pair)) for pair in zip(*branches, strict=False)]
    if node.op == "Loop":
        body = node.bodies[0]
        states = len(body.inputs) - 2
        out: list[ValueType] = []
        for i, v in enumerate(body.outputs[1:]):
            t = v.type
            if i < states:
                out.append(TensorType(t.dtype) if isinstance(t, TensorType) else t)
            elif isinstance(t, TensorType):
                out.append(TensorType(t.dtype, None if t.shape is None else (None, *t.shape)))
            else:
                out.append(None)
        return out
    return [TensorType(v.dtype) for v in node.bodies[0].outputs]


def _join(a: ValueType, b: ValueType) -> ValueType:
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        shape = None
        if a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape):
            shape = tuple(x if x == y else None for x, y in zip(a.shape, b.shape, strict=True))
        return TensorType(a.dtype if a.dtype == b.dtype else None, shape)
    if isinstance(a, OptionalType) and isinstance(b, SequenceType | TensorType):
        return a
    return a if a is not None else b


def _infer_standard(node: Node, known: Any) -> list[ValueType]:
    import onnx

    from sardonyx.ir.save import Names, node_to_proto, tensor_to_proto, type_to_proto

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
