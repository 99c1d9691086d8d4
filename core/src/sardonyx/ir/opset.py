"""Which version of ONNX's operator set a model is best written for."""

from __future__ import annotations

from sardonyx.errors import InvalidModel
from sardonyx.ir.extract import clone_graph
from sardonyx.ir.graph import Model
from sardonyx.ir.lower import lower
from sardonyx.ir.schema import KNOWN, in_force

__all__ = ["fitting_opset"]

# What other runtimes' current releases load throughout; of newer versions they have only some operators.
WIDELY_KNOWN = 24


def fitting_opset(model: Model) -> int:
    """The oldest version from the loaded model's own upwards that has the operators of the graph, so that as many runtimes as
    possible load what is written. Operators newer than what is widely known do not count: writing takes them apart into their
    function bodies. Where a node has no form at that version, the next one that has all forms; the model's own if none has."""
    own = min(max(model.opsets.get("", 1), 1), KNOWN[""])
    used = {n.op for n in model.graph.walk_nodes() if n.domain == ""}
    first = {op: next((v for v in range(own, KNOWN[""] + 1) if in_force("", op, v) is not None), own) for op in used}
    least = max((v for v in first.values() if v <= WIDELY_KNOWN), default=own)
    for version in range(max(own, least), KNOWN[""] + 1):
        try:
            lower(clone_graph(model.graph), "", version)
        except InvalidModel:
            continue
        return version
    return own
