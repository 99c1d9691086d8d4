"""Let nodes that compute the same thing be one node."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.schema import KNOWN
from sardonyx.passes.rules import sharper

__all__ = ["merge_equal_nodes"]

RANDOM = frozenset({"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout"})
PURE = frozenset((*KNOWN, "com.microsoft"))
SMALL = 64


def merge_equal_nodes(graph: Graph) -> int:
    """Merge nodes of equal operator, inputs and attributes within each graph; small equal constants count as one input.

    Returns the number of nodes merged away. Nodes with bodies, those that draw random numbers, and those of operators that
    nothing is known about are left alone.
    """
    constants: dict[Hashable, Value] = {}
    canon: dict[Value, Value] = {}
    results = {v for level in graph.walk_graphs() for v in level.outputs}
    return sum(_merge(level, constants, canon, results) for level in list(graph.walk_graphs()))


def _merge(graph: Graph, constants: dict[Hashable, Value], canon: dict[Value, Value], results: set[Value]) -> int:
    seen: dict[Hashable, list[Node]] = {}
    gone: list[Node] = []
    for node in graph.nodes:
        doubled = False
        for v in node.inputs:
            if v is not None and v.const is not None:
                if v not in canon:
                    canon[v] = _canonical(v, constants)
                doubled |= canon[v] is not v
        if doubled:
            node.set_inputs(None if v is None else canon.get(v, v) for v in node.inputs)
        if node.op in RANDOM or node.domain not in PURE or node.bodies:
            continue
        key = (node.op, node.domain, node.since, node.inputs)
        rivals = seen.get(key)
        if rivals is None:
            seen[key] = [node]
            continue
        first = next((r for r in rivals if _same(r, node)), None)
        if first is None:
            rivals.append(node)
        elif not any(v in results for v in node.outputs):
            _replace(node, first)
            gone.append(node)
    if gone:
        graph.remove(gone)
    return len(gone)


def _same(a: Node, b: Node) -> bool:
    """Whether two nodes of one operator with the same inputs give the same outputs."""
    return [v is None for v in a.outputs] == [v is None for v in b.outputs] and _freeze(a.attrs) == _freeze(b.attrs)


def _canonical(value: Value, constants: dict[Hashable, Value]) -> Value:
    tensor = value.const
    assert tensor is not None
    if tensor.nbytes > SMALL:
        return value
    return constants.setdefault(_freeze(tensor.numpy()), value)


def _replace(node: Node, first: Node) -> None:
    for old, new in zip(node.outputs, first.outputs, strict=True):
        if old is None or new is None:
            continue
        new.type = sharper(new.type, old.type)
        for user in {n: None for n, _ in old.uses}:
            user.set_inputs(new if v is old else v for v in user.inputs)
    first.origins = tuple(dict.fromkeys(first.origins + node.origins))


def _freeze(value: Any) -> Hashable:
    """A hashable stand-in that is equal for equal attributes: type, shape and bits count."""
    if isinstance(value, np.ndarray):
        content = tuple(value.reshape(-1).tolist()) if value.dtype.hasobject else value.tobytes()
        return ("array", value.dtype, value.shape, content)
    if isinstance(value, dict):
        return tuple([(k, _freeze(value[k])) for k in sorted(value)]) if value else ()
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, tuple([_freeze(v) for v in value]))
    if isinstance(value, float):
        return ("float", value.hex())
    return value
