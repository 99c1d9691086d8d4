"""Control flow whose bodies the engine takes whole."""

from __future__ import annotations

from sardonyx.ir.graph import Graph, Node
from sardonyx_ep_native import _native
from sardonyx_ep_native.claims import DTYPES, add, refusal

_OPERATORS = frozenset(_native.operators())


@add("If")
@add("Loop")
@add("Scan", since=9)
def control(node: Node) -> str | None:
    """Bodies of nodes that the engine has operators for."""
    if node.op not in _OPERATORS:
        return "this build of the engine lacks it"
    for body in node.bodies:
        reason = _body(body)
        if reason is not None:
            return reason
    return None


def _body(body: Graph) -> str | None:
    for v in (*body.inputs, *body.outputs, *body.captures()):
        if v.dtype is None or v.dtype not in DTYPES:
            return f"its body has a value {v.name!r} that the engine does not hold"
        if v.shape is not None and len(v.shape) > _native.max_rank:
            return f"its body has a value {v.name!r} of {len(v.shape)} dimensions; the engine takes up to {_native.max_rank}"
    for node in body.nodes:
        reason = refusal(node)
        if reason is not None:
            return f"its body has {node.name!r} ({node.title}-{node.since}): {reason}"
    return None
