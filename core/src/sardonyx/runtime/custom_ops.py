"""The custom operators that a session knows, and the provider that runs them on the host."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from sardonyx.ep.custom_ops import CustomOp, registered
from sardonyx.ep.kernels import Kernel, KernelSet
from sardonyx.ep.provider import Claim, CompileContext, Executable, Provider, Refusal
from sardonyx.errors import InvalidInput, InvalidType, NotSupported
from sardonyx.ir.graph import Graph, Node
from sardonyx.ir.schema import schema
from sardonyx.ir.types import ValueType
from sardonyx.runtime import arguments, discovery

__all__ = ["CUSTOM", "CustomOps", "CustomProvider", "custom_ops_of"]

CUSTOM = "custom"


def custom_ops_of(source: Any) -> list[CustomOp]:
    """The custom operators in a CustomOp, a list of them, a module, or a module's name. Raises InvalidInput where there are
    none, NotSupported for a compiled library."""
    if isinstance(source, CustomOp):
        return [source]
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        if name.endswith((".so", ".dll", ".dylib")):
            raise NotSupported(
                f"{name} is a library of onnxruntime's, which has another interface: "
                "register Python functions, made with @sardonyx.custom_op, by register_custom_ops"
            )
        try:
            source = importlib.import_module(name)
        except Exception as e:
            raise InvalidInput(f"custom operators of {name!r}: the module cannot be imported: {type(e).__name__}: {e}") from e
    if isinstance(source, ModuleType):
        found = [v for v in vars(source).values() if isinstance(v, CustomOp)]
    elif isinstance(source, (list, tuple)) and all(isinstance(op, CustomOp) for op in source):
        found = list(source)
    else:
        form = "what @sardonyx.custom_op makes, a list of such, a module, or the name of a module"
        raise InvalidType(f"the source of custom operators is {form}, not {type(source).__name__} {arguments.shown(source)}")
    if not found:
        raise InvalidInput(f"{source!r} has no custom operators: decorate functions with @sardonyx.custom_op(domain, name, dtypes=[...])")
    return found


class CustomOps:
    """What a session knows: its own operators, those registered with the process, then those of installed packages."""

    def __init__(self, own: Iterable[CustomOp]):
        self._own: dict[tuple[str, str], dict[int, CustomOp]] = {}
        for op in own:
            self._own.setdefault((op.domain, op.name), {})[op.since] = op
        self._found: dict[tuple[str, str], dict[int, CustomOp]] = {}

    def versions(self, domain: str, op: str) -> dict[int, CustomOp]:
        """The functions for one operator, by `since`. Packages are loaded only for what nobody else has."""
        key = (domain, op)
        if key not in self._found:
            self._found[key] = self._own.get(key) or registered(*key) or _of_packages().get(key, {})
        return self._found[key]

    def find(self, node: Node) -> CustomOp | None:
        """The function for a node: the newest whose `since` is not past the version that the model imports."""
        versions = self.versions(node.domain, node.op)
        return versions.get(max((s for s in versions if s <= node.since), default=0))

    def infer(self, node: Node) -> list[ValueType] | None:
        """The output types of a node, or None."""
        op = self.find(node)
        return None if op is None else op.types(node)

    def nodes(self, graph: Graph) -> Iterator[Node]:
        """The nodes of a graph, bodies included, of operators that have a function in some version."""
        return (n for n in graph.walk_nodes() if schema(n.domain, n.op, n.since) is None and self.versions(n.domain, n.op))


def _of_packages() -> dict[tuple[str, str], dict[int, CustomOp]]:
    discovery.providers()
    found: dict[tuple[str, str], dict[int, CustomOp]] = {}
    for given in discovery.plugin_manager().hook.sardonyx_custom_ops():
        for op in custom_ops_of(given):
            found.setdefault((op.domain, op.name), {}).setdefault(op.since, op)
    return found


class CustomProvider(Provider):
    """Runs custom operators with host arrays. It is offered nodes first, and speaks of nodes with a registered operator only."""

    name = CUSTOM
    partial = True

    def __init__(self, ops: CustomOps):
        super().__init__()
        self.ops = ops

    def claim(self, graph: Graph) -> dict[Node, Claim | Refusal]:
        """The nodes of registered operators, or why the function does not fit."""
        mine = set(self.ops.nodes(graph))
        return {n: self._answer(n) for n in graph.nodes if n in mine}

    def _answer(self, node: Node) -> Claim | Refusal:
        op = self.ops.find(node)
        if op is None:
            have = ", ".join(str(s) for s in sorted(self.ops.versions(node.domain, node.op)))
            return Refusal(f"registered from version {have} of {node.domain!r} on, the model imports version {node.since}")
        reason = op.refusal(node)
        return Claim() if reason is None else Refusal(reason)

    def compile(self, graph: Graph, context: CompileContext) -> Executable:
        """The functions in order."""
        from sardonyx.ep.interpreter import compile_kernels

        used = {op: None for n in graph.nodes if (op := self.ops.find(n)) is not None}
        kernels = [Kernel(op=o.name, domain=o.domain, since=o.since, function=o.run, attributes=frozenset(o.attributes)) for o in used]
        return compile_kernels(graph, KernelSet().include(kernels), context)
