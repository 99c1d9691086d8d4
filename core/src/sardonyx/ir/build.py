"""From a GraphProto to a Graph: names to values, attributes to Python, functions inlined."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sardonyx.errors import InvalidModel
from sardonyx.ir.attributes import GRAPH, TENSOR, attribute_from_proto
from sardonyx.ir.dtypes import STRING
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.proto import Files, dense, tensor_from_proto, text, type_from_proto
from sardonyx.ir.schema import KNOWN, newest, since_version
from sardonyx.ir.scope import Context, Path, Scope, domain_of, function_key
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import TensorType

__all__ = ["GRADIENT", "Builder"]

GRADIENT = ("ai.onnx.preview.training", "Gradient")

MAX_DEPTH = 64
MAX_NODES = 1 << 18

# Operators that onnxruntime wrote into ONNX's domain before they were part of it, and the version that made them so.
EARLY = {("", "LayerNormalization"): 17}

# Domains whose unknown operators have no versions.
INTERNAL = frozenset((*KNOWN, "com.microsoft"))

# Constant's attributes, and the element types of what they hold (None: the tensor's own).
CONSTANT_TYPES: dict[str, Any] = {
    "value": None,
    "sparse_value": None,
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_string": STRING,
    "value_strings": STRING,
}


class Builder:
    """Builds the IR of one model, or of one function body.

    `tensors` are the large weights that the parsed proto holds only stubs of. After `model_graph`, `overridable` holds the
    default values of those inputs that have one, `levels` the names of each graph of the file, by its path, and
    `has_gradients` says whether nodes remain for `ir.gradient` to expand. Outputs of nodes have no types yet, unless they are
    outputs of bodies that say so. Nodes keep the names they have where those are unique, the main graph's first; others, and
    those of functions, are called after the node that they are in.
    """

    def __init__(
        self,
        functions: Iterable[Any],
        opsets: dict[str, int],
        ir_version: int,
        tensors: dict[str, Tensor] | None = None,
        files: Files | None = None,
    ):
        self.functions = {function_key(f): f for f in functions}
        self.opsets, self.ir_version, self.files = opsets, ir_version, files or Files(None)
        self.tensors = tensors or {}
        self.overridable: dict[str, Tensor] = {}
        self.names: dict[str, int] = {}
        self.reserved: set[str] = set()
        self.depth = 0
        self.levels: dict[Path, Scope] = {}
        self.has_gradients = False

    def model_graph(self, g: Any) -> Graph:
        """The main graph; inputs with an initializer become overridable (IR version >= 4) or constants."""
        if self.functions:
            self._check_size(g.node, {}, [])
        self.reserved = {n.name for n in g.node}
        return self.graph(g, None, Context(self.opsets, {}, "", ()))

    def graph(self, g: Any, outer: Scope | None, context: Context) -> Graph:
        """One GraphProto, the model's own or a body (`outer` is then what it sees of the enclosing graphs)."""
        self._enter()
        scope, where = Scope(outer), f"graph {g.name!r}"
        if context.path is not None:
            self.levels[context.path] = scope
        out = Graph(text(g.name))
        constants = self._constants(g, self.tensors if outer is None else {}, where)
        for vi in g.input:
            self._input(vi, out, scope, constants, where)
        for name, tensor in constants.items():
            scope.values[name] = Value(name, TensorType(tensor.dtype, tensor.shape), tensor)
        self._declare_outputs(g.node, scope, where)
        self._nodes(g.node, out, scope, context)
        for vi in g.output:
            value = scope.find(vi.name)
            if value is None:
                raise InvalidModel(f"{where}: output {vi.name!r} is given by no node, input or initializer")
            if value.type is None and outer is not None:
                value.type = type_from_proto(vi.type)
            out.outputs.append(value)
        if not _ordered(out) and (looped := out.sort()) is not None:
            raise InvalidModel(f"{where}: its nodes form a cycle: node {looped.name!r} ({looped.title}) needs what it gives itself")
        self.depth -= 1
        return out

    def _check_size(self, nodes: Any, sizes: dict[Any, int], calls: list[Any]) -> int:
        """How many nodes these are once functions are inlined; InvalidModel for too many, and for recursion."""
        total = 0
        for n in nodes:
            total += 1
            f = self.functions.get((domain_of(n.domain), n.op_type, n.overload))
            if f is not None:
                key = function_key(f)
                if key in calls or len(calls) > MAX_DEPTH:
                    raise InvalidModel(f"function {f.domain}::{f.name} calls itself, or is nested too deeply")
                if key not in sizes:
                    sizes[key] = self._check_size(f.node, sizes, [*calls, key])
                total += sizes[key]
            for a in n.attribute:
                if a.type == GRAPH:
                    total += self._check_size(a.g.node, sizes, calls)
            if total > MAX_NODES:
                raise InvalidModel(f"the model has more than {MAX_NODES} nodes once its functions are inlined")
        return total

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise InvalidModel(f"graphs or functions are nested more than {MAX_DEPTH} deep")

    def _constants(self, g: Any, tensors: dict[str, Tensor], where: str) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for t in g.initializer:
            if t.name in found:
                raise InvalidModel(f"{where}: two initializers are called {t.name!r}")
            found[text(t.name)] = tensors[t.name] if t.name in tensors else tensor_from_proto(t, self.files)
        for s in g.sparse_initializer:
            if s.values.name in found:
                raise InvalidModel(f"{where}: two initializers are called {s.values.name!r}")
            found[text(s.values.name)] = dense(s, self.files)
        return found

    def _input(self, vi: Any, out: Graph, scope: Scope, constants: dict[str, Tensor], where: str) -> None:
        if not text(vi.name):
            raise InvalidModel(f"{where}: an input has no name")
        if vi.name in scope.values:
            raise InvalidModel(f"{where}: two inputs are called {vi.name!r}")
        default = constants.pop(vi.name, None)
        if default is not None and scope.parent is not None:
            raise InvalidModel(f"{where}: {vi.name!r} is both an input and an initializer of the body of a control-flow node")
        if default is not None and self.ir_version < 4:
            scope.values[vi.name] = Value(vi.name, TensorType(default.dtype, default.shape), default)
            return
        value = scope.values[vi.name] = Value(vi.name, type_from_proto(vi.type))
        out.inputs.append(value)
        if default is not None:
            self.overridable[vi.name] = default

    def _declare_outputs(self, nodes: Any, scope: Scope, where: str) -> None:
        pending, values = scope.pending, scope.values
        for n in nodes:
            for name in n.output:
                if name and (name in pending or name in values):
                    raise InvalidModel(f"{where}: {name!r} is given twice, the second time by node {n.name or n.op_type!r} ({n.op_type})")
                if name:
                    pending.add(text(name))

    def _nodes(self, nodes: Any, out: Graph, scope: Scope, context: Context) -> None:
        values = scope.values
        for index, n in enumerate(nodes):
            op, domain, name = text(n.op_type), domain_of(n.domain), text(n.name)
            if not name or context.path is None or (context.path and (name in self.names or name in self.reserved)):
                name = context.prefix + (name or op)
            name = self._unique(name)
            if op == "Constant" and not domain and not self.functions and self._tensor_constant(n, scope):
                continue
            inputs = [(values.get(i) or self._value(i, scope, n)) if i else None for i in n.input]
            outputs = [scope.find(o) if o else None for o in n.output]
            attrs = self._attributes(n, scope, context, name, index) if n.attribute else {}
            function = self.functions.get((domain, op, n.overload)) if self.functions else None
            if function is not None:
                self._call(function, out, inputs, outputs, attrs, name)
            elif n.overload:
                raise InvalidModel(
                    f"node {name!r} calls overload {n.overload!r} of {domain or 'ai.onnx'}::{op}, which is no function of the model; "
                    "only functions have overloads, operators and custom operators have versions"
                )
            elif op == "Constant" and not domain:
                self._constant(n, attrs, outputs)
            else:
                if (domain, op) == GRADIENT:
                    inputs += self._named_tensors(attrs, scope, name, inputs)
                since = self._since(n, domain, op, context.opsets)
                out.append(Node(op, inputs, outputs, attrs, domain=domain, since=since, name=name, origins=(name,)))

    def _value(self, name: str, scope: Scope, n: Any) -> Value:
        value = scope.find(name)
        if value is None:
            raise InvalidModel(f"node {n.name or n.op_type!r} ({n.op_type}) reads {name!r}, which no node, input or initializer gives")
        return value

    def _named_tensors(self, attrs: dict[str, Any], scope: Scope, name: str, inputs: list[Value | None]) -> list[Value]:
        """The tensors that the attributes of a Gradient name: xs, zs, y (see `ir.gradient`)."""
        xs, zs, y = attrs.get("xs"), attrs.get("zs") or [], attrs.get("y")
        if not (isinstance(xs, list) and isinstance(zs, list) and isinstance(y, str)):
            raise InvalidModel(f"node {name!r} (Gradient): xs and zs are lists of names of tensors, y is one")
        if len(inputs) != len(xs) + len(zs) or None in inputs:
            raise InvalidModel(f"node {name!r} (Gradient) takes an input for each of the {len(xs) + len(zs)} tensors in xs and zs")
        values = [scope.find(given) for given in (*xs, *zs, y)]
        for given, value in zip((*xs, *zs, y), values, strict=True):
            if value is None or not value.name:
                raise InvalidModel(f"node {name!r} (Gradient) names {given!r}, which no node, input or initializer gives")
        self.has_gradients = True
        return [v for v in values if v is not None]

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
    def _since(n: Any, domain: str, op: str, opsets: dict[str, int]) -> int:
        opset = opsets.get(domain, 1)
        since = since_version(domain, op, max(opset, EARLY.get((domain, op), 1)))
        if since is None:
            known = newest(domain, op)
            if known is not None:
                raise InvalidModel(
                    f"node {n.name or op!r}: the model imports version {opset} of the operators of {domain or 'ai.onnx'!r}, "
                    f"but {op} came later"
                )
        return since or (1 if domain in INTERNAL else max(opset, 1))

    def _tensor_constant(self, n: Any, scope: Scope) -> bool:
        """Whether a node is no more than a Constant of a tensor, of which its output was made."""
        attributes, outputs = n.attribute, n.output
        if len(attributes) != 1 or len(outputs) != 1 or n.input or n.overload:
            return False
        a = attributes[0]
        if a.type != TENSOR or a.name != "value" or a.ref_attr_name or (value := scope.find(outputs[0])) is None:
            return False
        value.const = tensor_from_proto(a.t, self.files)
        value.type = TensorType(value.const.dtype, value.const.shape)
        return True

    @staticmethod
    def _constant(n: Any, attrs: dict[str, Any], outputs: list[Value | None]) -> None:
        if len(attrs) != 1 or len(outputs) != 1 or outputs[0] is None:
            raise InvalidModel(
                f"node {n.name!r} (Constant): it must have one output and exactly one value attribute, it has {sorted(attrs)}"
            )
        ((name, given),) = attrs.items()
        if name not in CONSTANT_TYPES or (CONSTANT_TYPES[name] is None) is not isinstance(given, np.ndarray):
            raise InvalidModel(f"node {n.name!r} (Constant): attribute {name!r} is unknown, or not of its type")
        value = outputs[0]
        try:
            value.const = Tensor.of(np.asarray(given, CONSTANT_TYPES[name]))
        except (TypeError, ValueError, OverflowError) as e:
            raise InvalidModel(f"node {n.name!r} (Constant): {e}") from e
        value.type = TensorType(value.const.dtype, value.const.shape)

    def _attributes(self, n: Any, scope: Scope, context: Context, name: str, index: int) -> dict[str, Any]:
        attrs: dict[str, Any] = {}
        where = f"node {name!r} ({n.op_type})"
        for i, a in enumerate(n.attribute):
            key = text(a.name)
            if key in attrs:
                raise InvalidModel(f"{where}: attribute {key!r} is given twice")
            if a.ref_attr_name:
                if a.ref_attr_name in context.refs:
                    attrs[key] = context.refs[a.ref_attr_name]
            elif a.type == GRAPH:
                attrs[key] = self.graph(a.g, scope, context.within(name, index, i))
            else:
                attrs[key] = attribute_from_proto(a, where, self.files)
        return attrs

    def _call(self, f: Any, out: Graph, inputs: list[Value | None], outputs: list[Value | None], attrs: dict[str, Any], name: str) -> None:
        """The body of a model-local function in place of its call."""
        self._enter()
        defaults = {text(a.name): attribute_from_proto(a, f"function {f.domain}::{f.name}", self.files) for a in f.attribute_proto}
        self.inline(f, out, inputs, outputs, defaults | attrs, name)
        self.depth -= 1

    def inline(
        self,
        f: Any,
        out: Graph,
        inputs: list[Value | None],
        outputs: list[Value | None],
        attrs: dict[str, Any],
        name: str,
        outer: Scope | None = None,
    ) -> None:
        """Append the nodes of a FunctionProto to `out`, with actual inputs (None: absent), outputs (None: not wanted) and
        attributes in place of the formal ones. Every output gets a producer, or becomes a constant."""
        where = f"function {f.domain}::{f.name}"
        if len(inputs) > len(f.input) or len(outputs) > len(f.output):
            raise InvalidModel(f"node {name!r}: {where} takes {len(f.input)} inputs and gives {len(f.output)} outputs")
        scope = Scope(outer, f"{name}/")
        absent = Value("")
        for i, formal in enumerate(f.input):
            actual = inputs[i] if i < len(inputs) else None
            scope.values[formal] = absent if actual is None else actual
        self._declare_outputs(f.node, scope, where)
        wanted = [(formal, actual) for formal, actual in zip(f.output, outputs, strict=False) if actual is not None]
        for formal, actual in wanted:
            if formal in scope.pending:
                scope.values.setdefault(formal, actual)
        opsets = self.opsets | {domain_of(o.domain): o.version for o in f.opset_import}
        first = len(out.nodes)
        self._nodes(f.node, out, scope, Context(opsets, attrs, f"{name}/"))
        _drop_absent(out.nodes[first:], absent)
        for formal, actual in wanted:
            source = scope.find(formal)
            if source is None or source is absent:
                raise InvalidModel(f"node {name!r}: {where} gives no output {formal!r}")
            if source is not actual:
                out.append(
                    Node("Identity", [source], [actual], since=newest("", "Identity") or 1, name=self._unique(name), origins=(name,))
                )


def _drop_absent(nodes: list[Node], absent: Value) -> None:
    for node in nodes:
        if absent in node.inputs:
            node.set_inputs(None if v is absent else v for v in node.inputs)
        for body in node.bodies:
            _drop_absent(body.nodes, absent)


def _ordered(graph: Graph) -> bool:
    """Whether no node reads a value before the node that gives it."""
    done: set[Node | None] = {None}
    for node in graph.nodes:
        for v in node.inputs:
            if v is not None and v.producer not in done and v.producer.graph is graph:  # type: ignore[union-attr]
                return False
        for body in node.bodies:
            for v in body.captures():
                if v.producer not in done and v.producer.graph is graph:  # type: ignore[union-attr]
                    return False
        done.add(node)
    return True
