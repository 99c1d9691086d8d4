"""Replace If nodes by the branch that some feeds take, so that what is inside can be looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sardonyx.ir.graph import Model, Node
from sardonyx.ir.load import load
from sardonyx.passes.basic.inline_if import inline_if
from sardonyx.passes.edit import constant
from sardonyx.runtime.session import InferenceSession
from sardonyx.tools.original import near_proto

__all__ = ["take_branches"]


def take_branches(make: Callable[[Any], InferenceSession], model: Any, feeds: Mapping[str, Any]) -> Any:
    """The model as a ModelProto without the If nodes of its main graph, those within taken branches included; each became the branch
    that the feeds take, in sessions made by `make`. The model itself where it has none. If nodes in bodies of loops stay."""
    loaded = load(model)
    current: Any = model
    while nodes := [n for n in loaded.graph.nodes if n.op == "If" and not n.domain and n.inputs[0] is not None]:
        _settle(loaded, nodes, make(current), feeds)
        inline_if(loaded.graph)
        current = near_proto(loaded)
        loaded = load(current)
    return current


def _settle(loaded: Model, nodes: list[Node], session: InferenceSession, feeds: Mapping[str, Any]) -> None:
    """Make the conditions constant."""
    conditions = {n: n.inputs[0] for n in nodes}
    names = list(dict.fromkeys(v.name for v in conditions.values() if v is not None and v.const is None))
    values = dict(zip(names, session.run(names, feeds), strict=True)) if names else {}
    for node, v in conditions.items():
        if v is not None and v.const is None:
            node.set_inputs((constant(np.asarray(values[v.name], np.bool_), f"{node.name}/condition"), *node.inputs[1:]))
