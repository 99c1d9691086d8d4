"""One case: a model, its inputs and the outputs it should give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import onnx

from sardonyx.ir.walk_proto import nested_graphs

__all__ = ["Case", "determined", "operators"]

DataSet = tuple[list[Any], list[Any]]


@dataclass
class Case:
    """`name` and `kind` as onnx has them; `model()` and `data()` are made when asked for. `data()` lists (inputs, expected
    outputs) in the order of the graph's inputs and outputs: arrays, lists (sequences) or None (an empty optional)."""

    name: str
    kind: str
    rtol: float
    atol: float
    model: Callable[[], onnx.ModelProto]
    data: Callable[[], list[DataSet]]
    operators: list[tuple[str, str, int]] = field(default_factory=list)

    def feeds(self, inputs: list[Any]) -> dict[str, Any]:
        """The inputs by name."""
        return dict(zip(input_names(self.model()), inputs, strict=False))


def input_names(model: onnx.ModelProto) -> list[str]:
    """Names of the inputs that have no initializer."""
    given = {t.name for t in model.graph.initializer}
    return [v.name for v in model.graph.input if v.name not in given]


def operators(model: onnx.ModelProto) -> list[tuple[str, str, int]]:
    """(domain, operator, since_version) of every node, bodies included, each once."""
    versions = {o.domain: o.version for o in model.opset_import}
    graphs = (model.graph, *nested_graphs(model.graph.node))
    return list(dict.fromkeys(_operator(node, versions) for graph in graphs for node in graph.node))


def _operator(node: onnx.NodeProto, versions: dict[str, int]) -> tuple[str, str, int]:
    domain = "" if node.domain == "ai.onnx" else node.domain
    version = versions.get(node.domain, versions.get("ai.onnx" if domain == "" else domain, 1))
    try:
        return domain, node.op_type, onnx.defs.get_schema(node.op_type, version, domain).since_version
    except onnx.defs.SchemaError:
        return domain, node.op_type, version


def determined(model: onnx.ModelProto) -> bool:
    """Whether the model has no operator that draws random numbers."""
    for domain, op, since in operators(model):
        try:
            schema = onnx.defs.get_schema(op, since, domain)
        except onnx.defs.SchemaError:
            continue
        if getattr(schema, "non_deterministic", False) or op in RANDOM:
            return False
    return True


RANDOM = frozenset({"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"})
