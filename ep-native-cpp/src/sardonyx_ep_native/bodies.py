"""The bodies of If, Loop and Scan, as programs of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sardonyx.ep import CompileContext
from sardonyx.ir.extract import extract
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.types import TensorType
from sardonyx_ep_native.claims import DTYPES

__all__ = ["describe_bodies", "fuse"]

_NAMES = {"If": ("then_branch", "else_branch"), "Loop": ("body",), "Scan": ("body",)}

Describe = Callable[[Graph], tuple[Any, ...]]


def fuse(graph: Graph, context: CompileContext) -> None:
    """What the engine needs of a graph, and the provider's own rewrites where the session's level and the options allow them."""
    from sardonyx_ep_native.rules import prepare, widen_half_precision

    widen_half_precision(graph, rounding=context.level != "all")
    if context.level == "all" and context.options.get("fusion", True):
        prepare(graph, context)


def describe_bodies(node: Node, context: CompileContext, describe: Describe) -> tuple[list[Value], dict[str, Any], list[tuple[Any, ...]]]:
    """Values that the bodies capture, which become inputs of the op after its own; attributes that say how many inputs are
    its own and how many each body captures; and the bodies' descriptions.

    A body's program takes the body's inputs, then what it captures. For outputs that stack a value of each iteration the
    attributes also hold that value's declared type, for a node that makes no iteration.
    """
    captures: list[Value] = []
    counts, descriptions = [], []
    for name in _NAMES[node.op]:
        body = node.attrs[name]
        own = [v for v in body.captures() if v.const is None]
        captures += own
        counts.append(len(own))
        closed = extract(body.nodes, [*body.inputs, *own], body.outputs, body.name)
        fuse(closed, context)
        descriptions.append(describe(closed))
    attrs: dict[str, Any] = {"own_inputs": len(node.inputs), "captures": counts}
    if node.op != "If":
        stacked = _stacked(node)
        attrs["stacked"] = len(stacked)
        for k, v in enumerate(stacked):
            shape = v.shape if isinstance(v.type, TensorType) else None
            attrs[f"dims_{k}"] = [d if isinstance(d, int) else 0 for d in shape or ()]
            attrs[f"dtype_{k}"] = DTYPES.index(v.dtype) if v.dtype is not None else 0
    return captures, attrs, descriptions


def _stacked(node: Node) -> list[Value]:
    """The body's outputs of which every iteration gives one slice of an output."""
    body = node.attrs["body"]
    if node.op == "Loop":
        return list(body.outputs[1 + len(node.inputs[2:]) :])
    return list(body.outputs[len(node.inputs) - node.attrs["num_scan_inputs"] :])
