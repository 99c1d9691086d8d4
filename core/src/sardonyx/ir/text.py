"""Models and graphs as compact text, for people: names, types, nodes with their attributes, bodies indented.

graph mnist (x: float[N, 1, 28, 28]) -> (y: float[N, 10])
  %w = float[10, 784] 0.01 -0.3 0.12 ...
  [fc] y: float[N, 10] = Gemm-13(x_flat, %w, %b) {transB: 1}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sardonyx.ir.dtypes import dtype_name
from sardonyx.ir.graph import Graph, Model, Node, Value
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import OptionalType, SequenceType, TensorType, ValueType, type_string

__all__ = ["dump", "type_text"]

SHOWN = 8
LONGEST = 60


def dump(what: Model | Graph) -> str:
    """The text of a model or graph; constants are cut to their first values, and are listed where a graph first uses them."""
    if isinstance(what, Model):
        versions = ", ".join(f"{d or 'ai.onnx'} {v}" for d, v in what.opsets.items())
        head = [f"model {what.producer_name or '?'} {what.producer_version}".rstrip() + f", IR {what.ir_version}, {versions}"]
        head += [f"warning: {w}" for w in (*what.cautions, *what.warnings)]
        return "\n".join([*head, *_graph(what.graph, set())]) + "\n"
    return "\n".join(_graph(what, set())) + "\n"


def _graph(graph: Graph, seen: set[Value]) -> Iterator[str]:
    inputs = ", ".join(_typed(v) for v in graph.inputs)
    yield f"graph {graph.name or '?'} ({inputs}) -> ({', '.join(_typed(v) for v in graph.outputs)})"
    for v in graph.constants():
        if v not in seen:
            seen.add(v)
            assert v.const is not None
            yield f"  %{v.name} = {_tensor(v.const)}"
    for node in graph.nodes:
        yield "  " + _node(node)
        for key, body in node.attrs.items():
            if isinstance(body, Graph):
                first, *rest = _graph(body, seen)
                yield f"    {key}: {first}"
                yield from ("    " + line for line in rest)


def _node(node: Node) -> str:
    outputs = ", ".join("_" if v is None else _typed(v) for v in node.outputs)
    inputs = ", ".join("_" if v is None else _reference(v) for v in node.inputs)
    attrs = ", ".join(f"{k}: {_attribute(v)}" for k, v in node.attrs.items() if v is not None and not isinstance(v, Graph))
    return f"[{node.name}] {outputs} = {node.title}-{node.since}({inputs})" + (f" {{{attrs}}}" if attrs else "")


def _reference(v: Value) -> str:
    return v.name if v.const is None else f"%{v.name}"


def _typed(v: Value) -> str:
    return f"{_reference(v)}: {type_text(v.type)}"


def type_text(t: ValueType) -> str:
    """`float[N, 3]` for a tensor's type; ONNX's spelling for others."""
    if t is None:
        return "?"
    if isinstance(t, SequenceType):
        return f"seq({type_text(t.elem)})"
    if isinstance(t, OptionalType):
        return f"optional({type_text(t.elem)})"
    if isinstance(t, TensorType):
        return f"{dtype_name(t.dtype)}{_dims(t.shape)}"
    return type_string(t)


def _dims(shape: Any) -> str:
    return "[...]" if shape is None else "[" + ", ".join("?" if d is None else str(d) for d in shape) + "]"


def _tensor(t: Tensor) -> str:
    head = f"{dtype_name(t.dtype)}{_dims(t.shape)}"
    if t.size == 0:
        return head
    values = t.numpy().reshape(-1)[:SHOWN]
    text = " ".join(_scalar(v) for v in values)
    return f"{head} {text[:LONGEST]}" + (" ..." if t.size > SHOWN or len(text) > LONGEST else "")


def _scalar(v: Any) -> str:
    if isinstance(v, str | bytes):
        return repr(v)
    return f"{float(v):.6g}" if np.asarray(v).dtype.kind not in "biuc" else str(v)


def _attribute(v: Any) -> str:
    if isinstance(v, np.ndarray):
        return _tensor(Tensor.of(v))
    if isinstance(v, list | tuple):
        shown = ", ".join(_attribute(e) for e in v[:SHOWN])
        return f"[{shown}{', ...' if len(v) > SHOWN else ''}]"
    if isinstance(v, float):
        return f"{v:.6g}"
    if isinstance(v, str):
        return repr(v if len(v) <= LONGEST else v[:LONGEST] + "...")
    return type_text(v) if isinstance(v, TensorType | SequenceType | OptionalType) else str(v)
