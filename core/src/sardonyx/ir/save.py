"""From the IR back to onnx protos and files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput, InvalidModel
from sardonyx.ir.dtypes import PACKED_BITS, STRING, to_onnx
from sardonyx.ir.graph import Graph, Model, Node, Value
from sardonyx.ir.schema import STANDARD, schema
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import MapType, OptionalType, SequenceType, TensorType, ValueType

__all__ = ["attribute_to_proto", "node_to_proto", "save", "tensor_to_proto", "to_proto", "type_to_proto"]

EXTERNAL_LIMIT = 1 << 30
EXTERNAL_TENSOR = 1024


def type_to_proto(t: ValueType) -> Any:
    """A TypeProto."""
    import onnx

    p = onnx.TypeProto()
    if isinstance(t, TensorType):
        p.tensor_type.elem_type = to_onnx(t.dtype) if t.dtype is not None else 0
        if t.shape is not None:
            p.tensor_type.shape.SetInParent()
            for d in t.shape:
                dim = p.tensor_type.shape.dim.add()
                if isinstance(d, str):
                    dim.dim_param = d
                elif d is not None:
                    dim.dim_value = d
    elif isinstance(t, SequenceType):
        p.sequence_type.elem_type.CopyFrom(type_to_proto(t.elem))
    elif isinstance(t, OptionalType):
        p.optional_type.elem_type.CopyFrom(type_to_proto(t.elem))
    elif isinstance(t, MapType):
        p.map_type.key_type = to_onnx(t.key)
        p.map_type.value_type.CopyFrom(type_to_proto(t.value))
    return p


def tensor_to_proto(array: np.ndarray | Tensor, name: str = "") -> Any:
    """A TensorProto with raw data (strings: string_data); sub-byte types are packed."""
    import onnx
    from onnx import numpy_helper

    array = array.numpy() if isinstance(array, Tensor) else np.asarray(array)
    if array.dtype == STRING or array.dtype.kind in "US":
        t = onnx.TensorProto(name=name, data_type=onnx.TensorProto.STRING, dims=array.shape)
        t.string_data.extend(s if isinstance(s, bytes) else str(s).encode("utf-8", "surrogateescape") for s in array.reshape(-1))
        return t
    if array.dtype in PACKED_BITS:
        return numpy_helper.from_array(array, name)
    return onnx.TensorProto(name=name, data_type=to_onnx(array.dtype), dims=array.shape, raw_data=np.ascontiguousarray(array).tobytes())


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


def attribute_to_proto(name: str, value: Any, node: Node, names: Names) -> Any:
    """An AttributeProto of an IR attribute value."""
    import onnx
    from onnx import helper

    if isinstance(value, Graph):
        return helper.make_attribute(name, graph_to_proto(value, names, set()))
    if isinstance(value, np.ndarray):
        return helper.make_attribute(name, tensor_to_proto(value))
    if isinstance(value, (TensorType, SequenceType, OptionalType, MapType)):
        return helper.make_attribute(name, type_to_proto(value))
    if isinstance(value, (list, tuple)):
        if len(value) == 0:
            kinds = {list: "INTS"}
            known = schema(node.domain, node.op, node.since)
            default = known.attributes.get(name) if known else None
            kind = (
                "FLOATS"
                if default and isinstance(default[0], float)
                else "STRINGS"
                if default and isinstance(default[0], str)
                else kinds[list]
            )
            return onnx.AttributeProto(name=name, type=onnx.AttributeProto.AttributeType.Value(kind))
        if isinstance(value[0], np.ndarray):
            return helper.make_attribute(name, [tensor_to_proto(v) for v in value])
        return helper.make_attribute(name, list(value))
    if isinstance(value, str):
        return helper.make_attribute(name, value.encode("utf-8", "surrogateescape"))
    return helper.make_attribute(name, value)


def node_to_proto(node: Node, names: Names) -> Any:
    """A NodeProto with the names of `names`."""
    import onnx

    p = onnx.NodeProto(op_type=node.op, domain=node.domain, name=node.name)
    p.input.extend(names.get(v) for v in node.inputs)
    p.output.extend(names.get(v) for v in node.outputs)
    p.attribute.extend(attribute_to_proto(k, v, node, names) for k, v in node.attrs.items() if v is not None)
    return p


def graph_to_proto(graph: Graph, names: Names, outer: set[Value], overridable: dict[str, Tensor] | None = None) -> Any:
    """A GraphProto. Constants are written where they are first needed, unless an enclosing graph (`outer`) has them."""
    import onnx

    g = onnx.GraphProto(name=graph.name or "graph")
    for v in graph.inputs:
        g.input.add(name=names.get(v)).type.CopyFrom(type_to_proto(v.type))
        if overridable and v.name in overridable:
            g.initializer.append(tensor_to_proto(overridable[v.name], names.get(v)))
    constants = [v for v in graph.constants() if v not in outer]
    for node in graph.nodes:
        for body in node.bodies:
            constants += [v for v in body.captures() if v.const is not None and v not in outer]
    constants = list(dict.fromkeys(constants))
    visible = outer | set(constants)
    for v in constants:
        assert v.const is not None
        g.initializer.append(tensor_to_proto(v.const, names.get(v)))
    for node in graph.nodes:
        p = g.node.add()
        p.CopyFrom(_with_bodies(node, names, visible))
    for v in graph.outputs:
        g.output.add(name=names.get(v)).type.CopyFrom(type_to_proto(v.type))
    return g


def _with_bodies(node: Node, names: Names, visible: set[Value]) -> Any:
    from onnx import helper

    if not node.bodies:
        return node_to_proto(node, names)
    plain = {k: v for k, v in node.attrs.items() if not isinstance(v, Graph)}
    shell = Node.__new__(Node)
    shell.op, shell.domain, shell.name, shell.since = node.op, node.domain, node.name, node.since
    shell.inputs, shell.outputs, shell.attrs = node.inputs, node.outputs, plain
    p = node_to_proto(shell, names)
    for key, body in node.attrs.items():
        if isinstance(body, Graph):
            p.attribute.append(helper.make_attribute(key, graph_to_proto(body, names, visible)))
    return p


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
    p.graph.CopyFrom(graph_to_proto(model.graph, Names(), set(), model.overridable))
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
