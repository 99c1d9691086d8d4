"""The flat description of a subgraph that the engine's Program takes."""

from __future__ import annotations

import mmap
from collections.abc import Hashable
from typing import Any

import numpy as np

from sardonyx.ep import CompileContext, held_by
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx_ep_native.bodies import describe_bodies
from sardonyx_ep_native.claims import DTYPES, NARROW
from sardonyx_ep_native.plugin import SUBNORMALS

__all__ = ["BLOCKED", "describe", "held"]

# Names (of values of the subgraph) that lie in the channel-blocked layout; set by the layout rule.
BLOCKED = "sx_blocked"
SHARED = 1 << 14
_PACKING = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm", "FusedMatMul"})
_OPTIONS = ("winograd", "strassen", "plan_cache", "spin")


def describe(graph: Graph, context: CompileContext, named: dict[str, Node]) -> tuple[Any, ...]:
    """Arguments of the engine's Program: values, ops, input ids, output ids, options, threads. All nodes, those of bodies too,
    are added to `named` by their names."""
    named.update((n.name, n) for n in graph.nodes if n.name not in named)
    ids: dict[Value, int] = {}
    values: list[tuple[Any, ...]] = []
    index = {d: i for i, d in enumerate(DTYPES)}
    blocked = {v for n in graph.nodes for v, flag in zip(n.outputs, n.attrs.get(BLOCKED, ()), strict=False) if flag and v is not None}

    def value(v: Value | None) -> int:
        if v is None:
            return -1
        if v not in ids:
            ids[v] = len(values)
            array, identity, mapped = (None, "", False) if v.const is None else _constant(v)
            dtype = v.const.dtype if v.const is not None else v.dtype
            assert dtype is not None
            values.append((v.name, index[NARROW.get(dtype, dtype)], int(v in blocked), array, identity, mapped))
        return ids[v]

    inputs = [value(v) for v in graph.inputs]
    ops = []
    for n in graph.nodes:
        attrs = {k: _attribute(a) for k, a in n.attrs.items() if k != BLOCKED and a is not None and not isinstance(a, Graph)}
        captured, more, bodies = describe_bodies(n, context, lambda body: describe(body, context, named)) if n.bodies else ([], {}, [])
        ins, outs = [value(v) for v in (*n.inputs, *captured)], [value(v) for v in n.outputs]
        ops.append((_operator(n.domain, n.op), n.name, ins, outs, attrs | more, bodies))
    outputs = [value(v) for v in graph.outputs]
    options = {k: int(context.options[k]) for k in _OPTIONS if k in context.options}
    options["subnormals"] = SUBNORMALS.index(context.options.get("subnormals", "auto"))
    options["bf16"] = int(context.options.get("precision") == "bf16")
    threads = int(context.options.get("threads") or 0) or context.threads
    return values, ops, inputs, outputs, options, threads


def _operator(domain: str, op: str) -> str:
    """The engine's name: ONNX's own as it is, those of other domains with the domain in front."""
    return op if domain in ("", "sx") else f"{domain}.{op}"


def _attribute(a: Any) -> Any:
    if isinstance(a, (np.ndarray, np.generic)):
        return a.reshape(-1).tolist()
    return list(a) if isinstance(a, tuple) else a


def _constant(v: Value) -> tuple[Any, str, bool]:
    """A constant's bytes (a view of the model where possible, which need not be aligned), what identifies them across
    sessions, and whether they are a mapped file's. Large weights that are computed, and only packed, are given as the
    function that computes them and their shape."""
    tensor = v.const
    assert tensor is not None
    if tensor.is_computed and tensor.nbytes >= SHARED and all(n.op in _PACKING and i == 1 for n, i in v.uses):
        return (lambda: np.ascontiguousarray(tensor.fresh()), tensor.shape), tensor.known_identity, False
    array = tensor.numpy()
    if array.dtype in NARROW:
        return array.astype(NARROW[array.dtype]), "", False
    if not array.flags.c_contiguous:
        return np.ascontiguousarray(array), "", False
    return (
        array,
        tensor.known_identity if tensor.nbytes >= SHARED else "",
        tensor.region is not None and isinstance(tensor.region[0], mmap.mmap),
    )


def held(description: tuple[Any, ...]) -> dict[str, dict[Hashable, int]]:
    """The constants in a description that are arrays: `mapped` ones and `weights`."""
    return held_by(array for _, _, _, array, _, _ in description[0] if isinstance(array, np.ndarray))
