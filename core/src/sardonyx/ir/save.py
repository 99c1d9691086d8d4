"""From the IR back to onnx protos and files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput
from sardonyx.ir.attributes import GRAPH, GRAPHS, attribute_to_proto
from sardonyx.ir.graph import Graph, Model, Node, Value
from sardonyx.ir.names import fresh_name
from sardonyx.ir.proto import tensor_to_proto, type_to_proto
from sardonyx.ir.replacing import new_file, refusing
from sardonyx.ir.save_external import DataFile, place_pair
from sardonyx.ir.schema import KNOWN, in_force, schema
from sardonyx.ir.tensor import Tensor

__all__ = ["Names", "graph_to_proto", "node_to_proto", "save", "saving", "to_proto"]

EXTERNAL_LIMIT = 1 << 30
CONSTANT_OF_SHAPE = 9  # the version of ONNX that has it

WriteTensor = Callable[[Tensor, str], Any]


class Names:
    """Unique names for values: inner graphs may not reuse a name that is visible outside. With `fills`, constants of equal
    elements are written as nodes."""

    def __init__(self, *, fills: bool = False) -> None:
        self.fills = fills
        self.of: dict[Value, str] = {}
        self.taken: set[str] = {""}

    def get(self, value: Value | None) -> str:
        """The name of a value, "" for an absent one."""
        if value is None:
            return ""
        name = self.of.get(value)
        if name is None:
            name = self.of[value] = self.fresh(value.name or "value")
        return name

    def fresh(self, name: str) -> str:
        """`name`, or that with a number if it is taken."""
        return fresh_name(name, self.taken)


def node_to_proto(
    node: Node, names: Names, visible: frozenset[Value] = frozenset(), write: WriteTensor = tensor_to_proto, typed: bool = False
) -> Any:
    """A NodeProto with the names of `names`. Bodies do not repeat constants that are `visible` from outside."""
    import onnx

    p: Any = onnx.NodeProto(op_type=node.op, domain=node.domain or None, name=node.name)
    p.input.extend(names.get(v) for v in node.inputs)
    p.output.extend(names.get(v) for v in node.outputs)
    known = schema(node.domain, node.op, node.since)
    for key, value in node.attrs.items():
        if isinstance(value, Graph):
            p.attribute.add(name=key, type=GRAPH).g.CopyFrom(graph_to_proto(value, names, visible, write, typed))
        elif isinstance(value, list) and value and isinstance(value[0], Graph):
            p.attribute.add(name=key, type=GRAPHS).graphs.extend(graph_to_proto(g, names, visible, write, typed) for g in value)
        elif value is not None:
            p.attribute.append(attribute_to_proto(key, value, known))
    return p


def graph_to_proto(
    graph: Graph,
    names: Names,
    visible: frozenset[Value] = frozenset(),
    write: WriteTensor = tensor_to_proto,
    typed: bool = False,
    overridable: dict[str, Tensor] | None = None,
) -> Any:
    """A GraphProto; `typed` writes the types of inner values too. Constants are written where they are first needed, unless
    they are `visible` from an enclosing graph."""
    import onnx

    g: Any = onnx.GraphProto(name=graph.name or "graph")
    for v in graph.inputs:
        g.input.add(name=names.get(v)).type.CopyFrom(type_to_proto(v.type))
        if overridable and v.name in overridable:
            g.initializer.append(write(overridable[v.name], names.get(v)))
    constants = {v: None for v in _constants(graph) if v not in visible}
    given = [v for node in graph.nodes for v in node.outputs if v is not None]
    for v in (*graph.outputs, *given):
        names.get(v)
    for v in constants:
        assert v.const is not None
        if v.const.fill is None or not names.fills or not v.const.dtype.isbuiltin:
            g.initializer.append(write(v.const, names.get(v)))
        else:
            _add_fill(g, v.const, names.get(v), names)
    visible = visible | constants.keys()
    for node in graph.nodes:
        g.node.append(node_to_proto(node, names, visible, write, typed))
    _outputs(g, graph, names, {*given, *constants, *(graph.inputs if overridable is not None else ())})
    if typed:
        outputs = set(graph.outputs)
        for v in given:
            if v.type is not None and v not in outputs:
                g.value_info.add(name=names.get(v)).type.CopyFrom(type_to_proto(v.type))
    return g


def _add_fill(g: Any, tensor: Tensor, name: str, names: Names) -> None:
    """The node that makes a tensor of equal elements, which it was folded from."""
    shape = names.fresh(f"{name}/shape")
    assert tensor.fill is not None
    g.initializer.append(tensor_to_proto(Tensor.of(np.array(tensor.shape, np.int64)), shape))
    node = g.node.add(op_type="ConstantOfShape", name=name, input=[shape], output=[name])
    node.attribute.append(attribute_to_proto("value", tensor.fill.reshape(1), None))


def _constants(graph: Graph) -> Iterator[Value]:
    """Constants that belong to this graph: it reads them itself, or more than one of its bodies does."""
    own = dict.fromkeys(graph.constants())
    yield from own
    seen: set[Value] = set()
    for node in graph.nodes:
        for body in node.bodies:
            for v in body.captures():
                if v.const is not None and v not in own:
                    if v in seen:
                        own[v] = None
                        yield v
                    seen.add(v)


def _outputs(g: Any, graph: Graph, names: Names, own: set[Value]) -> None:
    """An output has to be this graph's own, and once only: an Identity makes others so."""
    for v in graph.outputs:
        name = names.get(v)
        if v not in own:
            name = names.fresh(name)
            g.node.add(op_type="Identity", name=name, input=[names.get(v)], output=[name])
        own.discard(v)
        g.output.add(name=name).type.CopyFrom(type_to_proto(v.type))


def to_proto(model: Model, *, opset: int | None = None) -> Any:
    """A ModelProto of the model.

    `opset` is the version of ONNX's operator set to write: nodes are brought to it by undoing changes of form and by
    function bodies; InvalidModel names the first node for which there is no way. By default it is the newest that a node
    needs, or the loaded model's, if the model has nodes without newer form.
    """
    return _to_proto(model, opset, tensor_to_proto)


def _to_proto(model: Model, opset: int | None, write: WriteTensor) -> Any:
    import onnx

    graph, versions = _at_versions(model, opset)
    p: Any = onnx.ModelProto(
        producer_name=model.producer_name,
        producer_version=model.producer_version,
        domain=model.domain,
        model_version=model.version,
        doc_string=model.doc,
    )
    for domain, version in versions.items():
        p.opset_import.add(domain=domain, version=version)
    p.ir_version = max(4, onnx.helper.find_min_ir_version_for(p.opset_import, ignore_unknown=True))
    for key, value in model.metadata.items():
        p.metadata_props.add(key=key, value=value)
    names = Names(fills=versions.get("", 1) >= CONSTANT_OF_SHAPE)
    p.graph.CopyFrom(graph_to_proto(graph, names, write=write, typed=True, overridable=model.overridable))
    p.graph.doc_string = model.graph_doc
    return p


def _at_versions(model: Model, opset: int | None) -> tuple[Graph, dict[str, int]]:
    """The graph, lowered if need be, and the operator set versions that its nodes are of."""
    from sardonyx.ir.extract import clone_graph
    from sardonyx.ir.lower import lower

    graph, versions = model.graph, {}
    needs = _needs(graph)
    needs.setdefault("", 1)
    if opset is not None and not 1 <= opset <= KNOWN[""]:
        raise InvalidInput(f"opset {opset} is not one from 1 to {KNOWN['']}")
    for domain, need in needs.items():
        asked = opset if domain == "" else None
        known = model.opsets.get(domain, 1)
        version = asked if asked is not None else max(need, known)
        if domain in KNOWN and not _all_in_force(graph, domain, version):
            version = asked if asked is not None else known
            if graph is model.graph:
                graph = clone_graph(graph)
            lower(graph, domain, version)
        versions[domain] = version
    for domain in _needs(graph):
        versions.setdefault(domain, max(_needs(graph)[domain], model.opsets.get(domain, 1)))
    return graph, versions


def _needs(graph: Graph) -> dict[str, int]:
    needs: dict[str, int] = {}
    for node in graph.walk_nodes():
        needs[node.domain] = max(needs.get(node.domain, 1), node.since)
    return needs


def _all_in_force(graph: Graph, domain: str, version: int) -> bool:
    nodes = {(n.op, n.since) for n in graph.walk_nodes() if n.domain == domain and schema(domain, n.op, n.since) is not None}
    return all(in_force(domain, op, version) == since for op, since in nodes)


def save(model: Model, path: str | os.PathLike[str], *, opset: int | None = None, external: bool | None = None) -> list[str]:
    """Write the model to `path`; returns the paths written. Weights go to a file beside it, PATH.DIGEST.data, where they exceed
    1 GiB in all, or by `external`.

    Files appear whole or not at all, and at any moment the model at `path` has its own data beside it; the data file of a
    model that is replaced is removed then. See `to_proto` for `opset`. Raises UnwritableFile where the file cannot be written,
    InvalidInput where it is too large without external data, InvalidModel where `opset` lacks what a node does.
    """
    with saving(model, path, opset=opset, external=external) as place:
        return place()


@contextlib.contextmanager
def saving(
    model: Model, path: str | os.PathLike[str], *, opset: int | None = None, external: bool | None = None
) -> Iterator[Callable[[], list[str]]]:
    """As `save`, but for the files' places: what it gives is a function that puts the complete files there."""
    path = os.fspath(path)
    if external is None:
        external = _weight_bytes(model.graph) > EXTERNAL_LIMIT
    with refusing(path), contextlib.ExitStack() as stack:
        new = stack.enter_context(new_file(os.path.abspath(path) + ".data")) if external else None
        write = DataFile(new.file) if new is not None else tensor_to_proto
        p = _to_proto(model, opset, write)
        location = write.refer(p, os.path.basename(path)) if isinstance(write, DataFile) else ""
        whole = stack.enter_context(new_file(os.path.realpath(path)))
        whole.file.write(_serialized(p, path))
        yield lambda: place_pair(path, whole, new if location else None, location)


def _serialized(p: Any, path: str) -> bytes:
    try:
        data: bytes = p.SerializeToString()
    except Exception as e:
        raise InvalidInput(f"{path}: the model cannot be written as one file (2 GiB at most); use external=True: {e}") from e
    return data


def _weight_bytes(graph: Graph) -> int:
    tensors = {id(v.const): v.const.nbytes for v in _all_constants(graph.walk_graphs()) if v.const is not None and v.const.fill is None}
    return sum(tensors.values())


def _all_constants(graphs: Iterable[Graph]) -> Iterator[Value]:
    for graph in graphs:
        yield from graph.constants()
