"""The provider: claims by the engine's table, rules inside its subgraphs, and the hand-over of a flat description."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import weakref
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

import sardonyx_ep_native
from sardonyx.ep import Claim, CompileContext, Executable, Provider, Refusal, RunContext, TensorInfo
from sardonyx.ep.shapes import available_memory
from sardonyx.errors import InvalidInput, NodeError, RunCancelled, SardonyxError
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.types import TensorType
from sardonyx_ep_native import _native
from sardonyx_ep_native.bodies import fuse
from sardonyx_ep_native.claims import DTYPES, refusal
from sardonyx_ep_native.describe import describe, held

__all__ = ["NativeProvider"]

_native.set_dtypes(DTYPES)
_native.set_free_memory(available_memory)
for _module in pkgutil.iter_modules(sardonyx_ep_native.__path__):
    if _module.name.startswith("claim_"):
        importlib.import_module(f"sardonyx_ep_native.{_module.name}")


class NativeProvider(Provider):
    """Subgraphs as native programs."""

    name = "native"

    def __init__(self, options: dict[str, Any] | None = None):
        super().__init__(options)
        isa = self.options.get("isa")
        if isa and isa != _native.isa():
            if _alive:
                raise InvalidInput(
                    f"option 'isa': sessions of this process run {_native.isa()} kernels; {isa!r} needs a process without them"
                )
            _native.set_isa(isa)

    def claim(self, graph: Graph) -> dict[Node, Claim | Refusal]:
        """Nodes that the engine has an operator for."""
        return {n: Claim() if (reason := refusal(n)) is None else Refusal(reason) for n in graph.nodes}

    def compile(self, graph: Graph, context: CompileContext) -> Executable:
        """Fuse, choose layouts, and build the program."""
        fuse(graph, context)
        return NativeExecutable(graph, context)


def _info(value: Value | None, shape: tuple[int, ...] | None) -> TensorInfo | None:
    return None if value is None or value.dtype is None or shape is None else TensorInfo(value.dtype, shape)


# Plans hold weights in the form of the instruction set that they were made for.
_alive: weakref.WeakSet[NativeExecutable] = weakref.WeakSet()


class NativeExecutable(Executable):
    """A program of the engine."""

    def __init__(self, graph: Graph, context: CompileContext):
        _alive.add(self)
        self._nodes = list(graph.nodes)
        self._named: dict[str, Node] = {}
        description = describe(graph, context, self._named)
        self._constants = held(description)
        self._program = _native.Program(*description)
        self._run = self._program.run
        if all(isinstance(v.type, TensorType) and v.type.is_static for v in graph.inputs):
            self._warm([list(v.shape or ()) for v in graph.inputs])

    def _warm(self, shapes: list[list[Any]]) -> None:
        """Plan now for shapes that are known; what the shapes do not fit is said when the program runs."""
        with contextlib.suppress(_native.NodeFailure):
            self._program.warm(shapes)

    def run(self, inputs: list[Any], *, outputs: list[Any] | None = None, ctx: RunContext | None = None) -> list[Any]:
        """Run the program."""
        try:
            if ctx is None or (ctx.record is None and not ctx.flags):
                return self._run(inputs)
            if ctx.record is None:
                return self._program.run_until(inputs, ctx.flags)
            results, times = self._program.run_timed(inputs, ctx.flags)
        except _native.NodeFailure as e:
            raise self._explain(*e.args) from None
        except _native.RunStopped as e:
            raise RunCancelled(str(e)) from None
        for op, start, end, shapes in times:
            if op >= 0:
                node = self._nodes[op]
                ctx.record(node, start, end, [_info(v, shape) for v, shape in zip(node.outputs, shapes, strict=True)])
        return results

    def bind_feeds(self, feeds: list[tuple[str, np.dtype, tuple[int | None, ...] | None]]) -> Callable[[Any], list[Any] | None] | None:
        """The program's own entry for feeds; a failure of a node there is explained by the long way."""
        if any(dims is not None and len(dims) > _native.max_rank for _, _, dims in feeds):
            return None
        self._program.bind(feeds)
        run_feeds, failure = self._program.run_feeds, _native.NodeFailure

        def entry(given: Any) -> list[Any] | None:
            try:
                return run_feeds(given)
            except failure:
                return None

        return entry

    def memory(self) -> dict[str, int | dict[Hashable, int]]:
        """Constants used where they lie in the file or held as arrays, packed weights, arenas and the number of plans."""
        return self._constants | self._program.memory()

    def trim(self) -> None:
        """Forget every plan but the latest, and arenas; packed weights of the latest plan stay."""
        self._program.trim()

    def _explain(self, name: str, reason: str, shapes: list[tuple[int, ...] | None]) -> SardonyxError:
        from sardonyx.ep import node_error  # with the interpreter, which only errors need

        node = self._named.get(name)
        inputs = zip(node.inputs, shapes, strict=False) if node is not None else ()
        return node_error(node, NodeError(reason), [_info(v, s) for v, s in inputs])
