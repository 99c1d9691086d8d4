"""From a GraphProto to a Graph: names to values, attributes to Python, functions inlined."""

from __future__ import annotations

from typing import Any

from sardonyx.errors import InvalidModel
from sardonyx.ir.graph import Graph, Model, Node, Value
from sardonyx.ir.proto import Files, dense, tensor_from_proto, type_from_proto
from sardonyx.ir.schema import since_version
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import TensorType, ValueType

__all__ = ["Builder", "Scope"]

MAX_DEPTH = 64


class Scope:
    """Names visible at one level: its own, then the enclosing ones."""

    def __init__(self, parent: Scope | None = None):
        self.parent = parent
        self.values: dict[str, Value] = {}
        self.pending: set[str] = set()

    def find(self, name: str) -> Value | None:
        """The value of a name; one that a later node of this level gives is made on the way."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            if name in scope.pending:
                return scope.values.setdefault(name, Value(name))
            scope = scope.parent
        return None


class Builder:
    """Builds the IR of one model. `tensors` are the large weights that the parsed proto holds only stubs of."""

    def __init__(self, proto: Any, model: Model, tensors: dict[str, Tensor], files: Files):
        self.proto, self.model, self.tensors, self.files = proto, model, tensors, files
        self.functions = {(_domain(f.domain), f.name, getattr(f, "overload", "")): f for f in proto.functions}
        self.names: dict[str, int] = {}
        self.stack: list[Any] = []

    def model_graph(self) -> Graph:
        """The main graph; inputs with an initializer become overridable (IR version >= 4) or constants."""
        return self.graph(self.proto.graph, None, self.model.opsets, {}, "", self.tensors)

    def graph(
        self, g: Any, outer: Scope | None, opsets: dict[str, int], refs: dict[str, Any], prefix: str, tensors: dict[str, Tensor]
    ) -> Graph:
        """One GraphProto, the model's own or a body (`outer` is then what it sees of the enclosing graphs)."""
        if len(self.stack) > MAX_DEPTH:
            raise InvalidModel(f"graphs or functions are nested more than {MAX_DEPTH} deep")
        self.stack.append(None)
        scope, where = Scope(outer), f"graph {g.name!r}"
        out = Graph(g.name)
        types = {v.name: type_from_proto(v.type) for v in g.value_info}
        constants = self._constants(g, tensors, where)
        for vi in g.input:
            if vi.name in scope.values:
                raise InvalidModel(f"{where}: two inputs are called {vi.name!r}")
            if not vi.name:
                raise InvalidModel(f"{where}: an input has no name")
            default = constants.pop(vi.name, None)
            if default is not None and outer is not None:
                raise InvalidModel(f"{where}: {vi.name!r} is both an input and an initializer of the body of a control-flow node")
            if default is not None and self.model.ir_version < 4:
                scope.values[vi.name] = Value(vi.name, TensorType(default.dtype, default.shape), default)
                continue
            value = scope.values[vi.name] = Value(vi.name, type_from_proto(vi.type))
            out.inputs.append(value)
            if default is not None:
                self.model.overridable[vi.name] = default
        for name, tensor in constants.items():
            scope.values[name] = Value(name, TensorType(tensor.dtype, tensor.shape), tensor)
        self._declare_outputs(g.node, scope, where)
        self._nodes(g.node, out, scope, opsets, refs, prefix, types)
        for vi in g.output:
            value_or_none = scope.find(vi.name)
            if value_or_none is None:
                raise InvalidModel(f"{where}: output {vi.name!r} is given by no node, input or initializer")
            if value_or_none.type is None or (value_or_none.producer is not None and value_or_none.producer.graph is out):
                value_or_none.type = _better(value_or_none.type, type_from_proto(vi.type))
            out.outputs.append(value_or_none)
        if not _ordered(out) and not out.sort():
            raise InvalidModel(f"{where}: its nodes form a cycle")
        self.stack.pop()
        return out

    def _constants(self, g: Any, tensors: dict[str, Tensor], where: str) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for t in g.initializer:
            if t.name in found:
                raise InvalidModel(f"{where}: two initializers are called {t.name!r}")
            found[t.name] = tensors[t.name] if t.name in tensors else tensor_from_proto(t, self.files)
        for s in g.sparse_initializer:
            found[s.values.name] = dense(s, self.files)
        return found

    def _declare_outputs(self, nodes: Any, scope: Scope, where: str) -> None:
        for n in nodes:
            for name in n.output:
                if name and (name in scope.pending or name in scope.values):
                    raise InvalidModel(f"{where}: {name!r} is given twice, the second time by node {n.name or n.op_type!r} ({n.op_type})")
                if name:
                    scope.pending.add(name)

    def _nodes(
        self, nodes: Any, out: Graph, scope: Scope, opsets: dict[str, int], refs: dict[str, Any], prefix: str, types: dict[str, ValueType]
    ) -> None:
        for n in nodes:
            domain = _domain(n.domain)
            function = self.functions.get((domain, n.op_type, getattr(n, "overload", "")))
            name = self._unique(prefix + (n.name or n.op_type))
            inputs = [self._value(i, scope, n) for i in n.input]
            outputs = [scope.find(o) if o else None for o in n.output]
            for v in outputs:
                if v is not None and v.type is None:
                    v.type = types.get(v.name)
            attrs = self._attributes(n, scope, opsets, refs, name + "/")
            if function is not None:
                self._inline(function, out, inputs, outputs, attrs, name)
            elif domain == "" and n.op_type == "Constant":
                self._constant(n, attrs, outputs)
            else:
                since = self._since(domain, n.op_type, opsets)
                out.append(Node(n.op_type, inputs, outputs, attrs, domain=domain, since=since, name=name, origins=(name,)))

    def _value(self, name: str, scope: Scope, n: Any) -> Value | None:
        if not name:
            return None
        value = scope.find(name)
        if value is None:
            raise InvalidModel(f"node {n.name or n.op_type!r} ({n.op_type}) reads {name!r}, which no node, input or initializer gives")
        return value

    def _unique(self, name: str) -> str:
        count = self.names.get(name)
        if count is None:
            self.names[name] = 0
            return name
        while True:
            count += 1
            candidate = f"{name}_{count}"
            if candidate not in self.names:
                self.names[name] = count
                self.names[candidate] = 0
                return candidate

    @staticmethod
    def _since(domain: str, op: str, opsets: dict[str, int]) -> int:
        version = opsets.get(domain, 1)
        return since_version(domain, op, version) or 1

    def _constant(self, n: Any, attrs: dict[str, Any], outputs: list[Value | None]) -> None:
        from sardonyx.ep.shape_kernels import shape_kernels

        if len(attrs) != 1 or len(outputs) != 1 or outputs[0] is None:
            raise InvalidModel(
                f"node {n.name!r} (Constant): it must have one output and exactly one value attribute, it has {sorted(attrs)}"
            )
        kernel = shape_kernels.versions("", "Constant")[-1]
        value = outputs[0]
        try:
            value.const = Tensor.of(kernel.function(None, **attrs))
        except TypeError as e:
            raise InvalidModel(f"node {n.name!r} (Constant): {e}") from e
        value.type = TensorType(value.const.dtype, value.const.shape)

    def _attributes(self, n: Any, scope: Scope, opsets: dict[str, int], refs: dict[str, Any], prefix: str) -> dict[str, Any]:
        attrs: dict[str, Any] = {}
        for a in n.attribute:
            if a.ref_attr_name:
                if a.ref_attr_name in refs:
                    attrs[a.name] = refs[a.ref_attr_name]
                continue
            attrs[a.name] = self._attribute(a, n, scope, opsets, refs, prefix)
        return attrs

    def _attribute(self, a: Any, n: Any, scope: Scope, opsets: dict[str, int], refs: dict[str, Any], prefix: str) -> Any:
        kind = a.AttributeType.Name(a.type) if a.type in a.AttributeType.values() else str(a.type)
        if kind == "FLOAT":
            return a.f
        if kind == "INT":
            return a.i
        if kind == "STRING":
            return a.s.decode("utf-8", "surrogateescape")
        if kind == "TENSOR":
            return tensor_from_proto(a.t, self.files).numpy()
        if kind == "GRAPH":
            return self.graph(a.g, scope, opsets, refs, prefix, {})
        if kind == "FLOATS":
            return list(a.floats)
        if kind == "INTS":
            return list(a.ints)
        if kind == "STRINGS":
            return [s.decode("utf-8", "surrogateescape") for s in a.strings]
        if kind == "TENSORS":
            return [tensor_from_proto(t, self.files).numpy() for t in a.tensors]
        if kind == "GRAPHS":
            return [self.graph(g, scope, opsets, refs, prefix, {}) for g in a.graphs]
        if kind == "SPARSE_TENSOR":
            return dense(a.sparse_tensor, self.files).numpy()
        if kind == "TYPE_PROTO":
            return type_from_proto(a.tp)
        return self._untyped(a, n)

    def _untyped(self, a: Any, n: Any) -> Any:
        """Files of IR version 1 may leave out an attribute's type: the filled field decides."""
        filled = [f.name for f, _ in a.ListFields() if f.name not in ("name", "type", "doc_string")]
        if len(filled) != 1 or filled[0] not in ("f", "i", "s", "t", "floats", "ints", "strings"):
            raise InvalidModel(f"node {n.name or n.op_type!r} ({n.op_type}): attribute {a.name!r} has no valid type")
        value = getattr(a, filled[0])
        if filled[0] == "s":
            return value.decode("utf-8", "surrogateescape")
        if filled[0] == "t":
            return tensor_from_proto(value, self.files).numpy()
        if filled[0] == "strings":
            return [s.decode("utf-8", "surrogateescape") for s in value]
        return list(value) if filled[0] in ("floats", "ints") else value

    def _inline(
        self, f: Any, out: Graph, inputs: list[Value | None], outputs: list[Value | None], attrs: dict[str, Any], name: str
    ) -> None:
        """The body of a model-local function in place of its call."""
        key = (f.domain, f.name, getattr(f, "overload", ""))
        if key in self.stack or len(self.stack) > MAX_DEPTH:
            raise InvalidModel(f"function {f.domain}::{f.name} calls itself")
        if len(inputs) > len(f.input) or len(outputs) > len(f.output):
            raise InvalidModel(
                f"node {name!r}: function {f.domain}::{f.name} takes {len(f.input)} inputs and gives {len(f.output)} outputs"
            )
        self.stack.append(key)
        opsets = {_domain(o.domain): o.version for o in f.opset_import} or self.model.opsets
        refs = dict(attrs)
        scope = Scope()
        for a in f.attribute_proto:
            if a.name not in refs:
                refs[a.name] = self._attribute(a, f, scope, opsets, {}, name + "/")
        absent = Value("")
        for i, formal in enumerate(f.input):
            actual = inputs[i] if i < len(inputs) else None
            scope.values[formal] = absent if actual is None else actual
        given = {formal: actual for formal, actual in zip(f.output, outputs, strict=False) if actual is not None}
        self._declare_outputs(f.node, scope, f"function {f.domain}::{f.name}")
        first = len(out.nodes)
        for formal, actual in given.items():
            if formal in scope.pending:
                scope.values[formal] = actual
        types = {v.name: type_from_proto(v.type) for v in getattr(f, "value_info", ())}
        self._nodes(f.node, out, scope, opsets, refs, name + "/", types)
        _drop_absent(out.nodes[first:], absent)
        for formal, actual in given.items():
            source = scope.values.get(formal)
            if source is None:
                raise InvalidModel(f"function {f.domain}::{f.name}: output {formal!r} is given by no node or input")
            if source is not actual:
                out.append(Node("Identity", [source], [actual], since=1, name=self._unique(name), origins=(name,)))
        self.stack.pop()


def _drop_absent(nodes: list[Node], absent: Value) -> None:
    for node in nodes:
        if absent in node.inputs:
            node.set_inputs(None if v is absent else v for v in node.inputs)
        for body in node.bodies:
            _drop_absent(body.nodes, absent)


def _ordered(graph: Graph) -> bool:
    """Whether no node reads a value before the node that gives it."""
    done: set[Node] = set()
    for node in graph.nodes:
        values = [v for v in node.inputs if v is not None]
        for body in node.bodies:
            values += body.captures()
        for v in values:
            if v.producer is not None and v.producer not in done and v.producer.graph is graph:
                return False
        done.add(node)
    return True


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _better(a: ValueType, b: ValueType) -> ValueType:
    if a is None or (isinstance(a, TensorType) and a.dtype is None):
        return b
    if isinstance(a, TensorType) and isinstance(b, TensorType) and a.shape is None and a.dtype == b.dtype:
        return b
    return a
