"""From the IR back to onnx protos and files."""

from __future__ import annotations

import os
from typing import Any

from sardonyx.errors import InvalidInput, InvalidModel
from sardonyx.ir.attributes import GRAPH, attribute_to_proto
from sardonyx.ir.graph import Graph, Model, Node, Value
from sardonyx.ir.proto import tensor_to_proto, type_to_proto
from sardonyx.ir.schema import STANDARD, schema
from sardonyx.ir.tensor import Tensor

__all__ = ["Names", "graph_to_proto", "node_to_proto", "save", "to_proto"]

EXTERNAL_LIMIT = 1 << 30
EXTERNAL_TENSOR = 1024


class Names:
    """Unique names for values: inner graphs may not reuse a name that is visible outside."""

    def __init__(self) -> None:
        self.of: dict[Value, str] = {}
        self.taken: set[str] = {""}

    def get(self, value: Value | None) -> str:
        """The name of a value, "" for an absent one."""
        if value is None:
            return ""
        name = self.of.get(value)
        if name is None:
            base = name = value.name or "value"
            count = 0
            while name in self.taken:
                count += 1
                name = f"{base}_{count}"
            self.taken.add(name)
            self.of[value] = name
        return name


def node_to_proto(node: Node, names: Names, visible: frozenset[Value] = frozenset()) -> Any:
    """A NodeProto with the names of `names`. Bodies do not repeat constants that are `visible` from outside."""
    import onnx

    p = onnx.NodeProto(op_type=node.op, domain=node.domain, name=node.name)
    p.input.extend(names.get(v) for v in node.inputs)
    p.output.extend(names.get(v) for v in node.outputs)
    known = schema(node.domain, node.op, node.since)
    for key, value in node.attrs.items():
        if isinstance(value, Graph):
            p.attribute.append(onnx.AttributeProto(name=key, type=GRAPH, g=graph_to_proto(value, names, visible)))
        elif value is not None:
            p.attribute.append(attribute_to_proto(key, value, known))
    return p


def graph_to_proto(graph: Graph, names: Names, visible: frozenset[Value], overridable: dict[str, Tensor] | None = None) -> Any:
    """A GraphProto. Constants are written where they are first needed, unless they are `visible` from an enclosing graph."""
    import onnx

    g = onnx.GraphProto(name=graph.name or "graph")
    for v in graph.inputs:
        g.input.add(name=names.get(v)).type.CopyFrom(type_to_proto(v.type))
        if overridable and v.name in overridable:
            g.initializer.append(tensor_to_proto(overridable[v.name], names.get(v)))
    constants = [v for v in graph.constants() if v not in visible]
    for node in graph.nodes:
        for body in node.bodies:
            constants += [v for v in body.captures() if v.const is not None and v not in visible]
    constants = list(dict.fromkeys(constants))
    visible = visible | frozenset(constants)
    for v in constants:
        assert v.const is not None
        g.initializer.append(tensor_to_proto(v.const, names.get(v)))
    for node in graph.nodes:
        g.node.append(node_to_proto(node, names, visible))
    for v in graph.outputs:
        g.output.add(name=names.get(v)).type.CopyFrom(type_to_proto(v.type))
    return g


def to_proto(model: Model, *, opset: int | None = None) -> Any:
    """A ModelProto of the model. Every node must be valid at the opset written (`opset`, or the newest any node needs)."""
    import onnx
    from onnx import defs

    needs: dict[str, int] = {}
    for node in model.graph.walk_nodes():
        needs[node.domain] = max(needs.get(node.domain, 1), node.since)
    target = opset or max(needs.get("", 1), model.opsets.get("", 1))
    for node in model.graph.walk_nodes():
        if node.domain != "":
            continue
        try:
            in_force = defs.get_schema(node.op, target, "").since_version
        except Exception:
            in_force = node.since if schema("", node.op, node.since) is None else None
        if in_force != node.since:
            raise InvalidModel(
                f"cannot write opset {target}: node {node.name!r} is {node.op}-{node.since}, which opset {target} does not have"
            )
    p = onnx.ModelProto(
        ir_version=max(model.ir_version, 8),
        producer_name=model.producer_name,
        producer_version=model.producer_version,
        domain=model.domain,
        model_version=model.version,
        doc_string=model.doc,
    )
    domains = {"": target} | {
        d: (model.opsets.get(d, v) if d not in STANDARD else max(v, model.opsets.get(d, 1))) for d, v in needs.items() if d
    }
    for domain, version in domains.items():
        p.opset_import.add(domain=domain, version=version)
    for key, value in model.metadata.items():
        p.metadata_props.add(key=key, value=value)
    p.graph.CopyFrom(graph_to_proto(model.graph, Names(), frozenset(), model.overridable))
    return p


def save(model: Model, path: str | os.PathLike[str], *, opset: int | None = None, external: bool | None = None) -> None:
    """Write the model to `path`; weights go to `path`.data where they exceed 1 GiB in all, or by `external`."""
    import onnx

    p = to_proto(model, opset=opset)
    total = sum(len(t.raw_data) for t in p.graph.initializer)
    if external is None:
        external = total > EXTERNAL_LIMIT
    path = os.fspath(path)
    if external:
        _move_out(p, path + ".data")
    try:
        onnx.save(p, path)
    except OSError as e:
        raise InvalidInput(f"cannot write {path}: {e}") from e


def _move_out(p: Any, data_path: str) -> None:
    """Move large raw data to a file beside the model, aligned for mapping."""
    with open(data_path, "wb") as f:
        for t in p.graph.initializer:
            if len(t.raw_data) < EXTERNAL_TENSOR:
                continue
            f.write(b"\0" * (-f.tell() % 4096))
            entries = {"location": os.path.basename(data_path), "offset": str(f.tell()), "length": str(len(t.raw_data))}
            f.write(t.raw_data)
            t.ClearField("raw_data")
            t.data_location = t.EXTERNAL
            for key, value in entries.items():
                t.external_data.add(key=key, value=value)
