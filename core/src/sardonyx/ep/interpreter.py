"""The interpreter of kernel tables: a subgraph becomes one generated Python function that calls its kernels in turn.

The generated text is straight-line code over local variables, so that between two kernels nothing happens but the call;
a value is dropped right after its last use. Line numbers lead from an exception back to the node. A second text, made
on demand, asks for cancellation before each node and records times.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import fields, is_dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np

from sardonyx.ep.held import held_by
from sardonyx.ep.kernels import Kernel, KernelSet, named_outputs
from sardonyx.ep.numpy_errors import in_onnx_terms
from sardonyx.ep.provider import CompileContext, Executable, RunContext
from sardonyx.ep.weights import Shared
from sardonyx.errors import CompileRefused, NodeError, RunCancelled, SardonyxError
from sardonyx.ir.dtypes import STRING
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.schema import schema

__all__ = ["KernelExecutable", "compile_kernels", "node_error"]


def compile_kernels(graph: Graph, kernels: KernelSet, context: CompileContext, *, xp: Any = np, upload: Any = None) -> KernelExecutable:
    """Compile a subgraph whose every node has a kernel. `upload` moves a constant to the provider's memory."""
    return KernelExecutable(graph, kernels, context, xp, upload)


class KernelExecutable(Executable):
    """A subgraph as a generated function over kernels."""

    def __init__(self, graph: Graph, kernels: KernelSet, context: CompileContext, xp: Any, upload: Any):
        self.nodes = list(graph.nodes)
        self._xp = xp
        self._upload = upload
        self._context = context
        self._names: dict[Value, str] = {}
        self._shared: list[Shared] = []
        self._globals: dict[str, Any] = {"xp": xp, "_first": _first, "_spread": _spread}
        for i, v in enumerate(graph.inputs):
            self._names[v] = f"i{i}"
        calls = [self._call(i, node, kernels) for i, node in enumerate(self.nodes)]
        outputs = [self._name(v) for v in graph.outputs]
        self._lines = self._layout(graph, calls)
        self._text = (len(graph.inputs), outputs)
        self._plain = self._generate(watched=False)
        self._watched: Callable[..., list[Any]] | None = None

    def _name(self, v: Value) -> str:
        name = self._names.get(v)
        if name is None:
            if v.const is not None:
                name = f"c{len(self._names)}"
                self._globals[name] = self._constant(v)
            else:
                name = f"t{len(self._names)}"
            self._names[v] = name
        return name

    def _constant(self, v: Value) -> Any:
        assert v.const is not None
        array = self._context.weights.array(v.const)
        return array if self._upload is None or array.dtype == STRING else self._upload(array)

    def _call(self, index: int, node: Node, kernels: KernelSet) -> tuple[str, str]:
        """The target and the call expression of one node."""
        kernel = kernels.find(node.domain, node.op, node.since)
        if kernel is None:
            raise CompileRefused({node.name: f"no kernel for {node.title}-{node.since}"})
        self._globals[f"k{index}"] = kernel.function
        args = ["xp"] + ["None" if v is None else self._name(v) for v in node.inputs]
        for i in kernel.host:
            v = node.input(i)
            if v is not None and v.const is not None and self._upload is not None:
                self._globals[f"h{index}_{i}"] = v.const.numpy()
                args[i + 1] = f"h{index}_{i}"
        for k, v in node.attrs.items():
            # Names from the model reach the text only if they are names of the kernel's own arguments.
            if k not in kernel.attributes:
                raise CompileRefused({node.name: f"its kernel does not take attribute {k!r}"})
            args.append(f"{k}={self._literal(f'a{index}_{k}', v)}")
        args += self._filled(index, node, kernel)
        call = f"k{index}({', '.join(args)})"
        outs = node.outputs[: named_outputs(node)]
        known = schema(node.domain, node.op, node.since)
        many = known.max_output > 1 if known is not None else None
        names = ["_" if v is None else self._name(v) for v in outs]
        if many is False:
            return names[0] if names else "_", call
        if len(names) == 1:
            return names[0], f"{call}[0]" if many else f"_first({call})"
        return ", ".join(names) or "_", f"_spread({call}, {len(names)})"

    def _literal(self, name: str, value: Any) -> str:
        if isinstance(value, (bool, int, str)) or (isinstance(value, float) and value == value and abs(value) != float("inf")):
            return repr(value)
        self._globals[name] = value
        return name

    def _filled(self, index: int, node: Node, kernel: Kernel) -> list[str]:
        args = []
        if "n_outputs" in kernel.filled:
            args.append(f"n_outputs={named_outputs(node)}")
        if "rng" in kernel.filled:
            self._globals[f"r{index}"] = np.random.default_rng(self._context.seed)
            args.append(f"rng=r{index}")
        if "prepared" in kernel.filled:
            assert kernel.prepare is not None
            inputs = [self._globals[self._name(v)] if v is not None and v.const is not None else None for v in node.inputs]
            prepare, attrs = kernel.prepare, node.attrs
            recipe = f"{prepare.__module__}.{prepare.__qualname__} {node.title} {node.since} {_text(attrs)}"
            try:
                shared = self._context.weights.share(
                    [v.const if v is not None else None for v in node.inputs], recipe, lambda: prepare(self._xp, inputs, attrs)
                )
            except Exception as e:
                raise node_error(node, e, [], compiling=True) from e
            self._shared.append(shared)
            self._globals[f"p{index}"] = shared.value
            args.append(f"prepared=p{index}")
        return args

    def _layout(self, graph: Graph, calls: list[tuple[str, str]]) -> list[tuple[str, str, list[str]]]:
        """(target, call, names to drop afterwards) per node."""
        last: dict[Value, int] = {}
        for i, node in enumerate(self.nodes):
            for v in (*node.inputs, *node.outputs):
                if v is not None and v.const is None:
                    last[v] = i
        for v in graph.outputs:
            last.pop(v, None)
        drops: list[list[str]] = [[] for _ in self.nodes]
        for v, i in last.items():
            if i < len(self.nodes) - 1:
                drops[i].append(self._names[v])
        return [(target, call, drop) for (target, call), drop in zip(calls, drops, strict=True)]

    def _generate(self, *, watched: bool) -> Callable[..., list[Any]]:
        """The function's text: one line per node, so that line n + 3 is node n."""
        count, outputs = self._text
        unpack = f"{', '.join(f'i{i}' for i in range(count))}, = inputs" if count else "pass"
        lines = [f"def run(inputs{', ctx, clock' if watched else ''}):", f" {unpack}"]
        for i, (target, call, drop) in enumerate(self._lines):
            line = f" {target} = {call}"
            if watched:
                result = f"({target},)" if target != "_" else "()"
                line = f" s = _start(ctx, clock); {line.strip()}; _end(ctx, {i}, s, clock, {result})"
            if drop:
                line += f"; {' = '.join(drop)} = None"
            lines.append(line)
        lines.append(f" return [{', '.join(outputs)}]")
        scope = dict(self._globals)
        if watched:
            scope |= {"_start": _start, "_end": self._end}
        exec(compile("\n".join(lines), "<sardonyx program>", "exec"), scope)
        return scope["run"]

    def run(self, inputs: list[Any], *, outputs: list[Any] | None = None, ctx: RunContext | None = None) -> list[Any]:
        """Run the kernels in order."""
        try:
            if ctx is None:
                return self._plain(inputs)
            if self._watched is None:
                self._watched = self._generate(watched=True)
            return self._watched(inputs, ctx, perf_counter_ns)
        except RunCancelled:
            raise
        except (Exception, RecursionError) as e:
            raise self._explain(e) from e

    def memory(self) -> dict[str, dict[Hashable, int]]:
        """`mapped`, `weights` and `packed`."""
        constants = [v for name, v in self._globals.items() if name[0] == "c" and name[1:].isdigit() and hasattr(v, "nbytes")]
        prepared = held_by((array for shared in self._shared for array in _arrays(shared.value)), "packed")["packed"]
        held = held_by(constants)
        return {**held, "packed": {part: n for part, n in prepared.items() if part not in held["weights"]}}

    def _end(self, ctx: RunContext, index: int, start: int, clock: Callable[[], int], outputs: tuple[Any, ...]) -> None:
        if ctx.record is not None:
            ctx.record(self.nodes[index], start, clock(), outputs)

    def _explain(self, error: Exception) -> SardonyxError:
        tb = error.__traceback__
        while tb is not None and tb.tb_frame.f_code.co_filename != "<sardonyx program>":
            tb = tb.tb_next
        if tb is None:
            return node_error(None, error, [])
        index = tb.tb_lineno - 3
        if not 0 <= index < len(self.nodes):
            return node_error(None, error, [])
        node, scope = self.nodes[index], tb.tb_frame.f_locals
        values = [None if v is None else scope.get(self._names[v], self._globals.get(self._names[v])) for v in node.inputs]
        return node_error(node, error, values)


def node_error(node: Node | None, error: BaseException, values: list[Any], *, compiling: bool = False) -> SardonyxError:
    """A NodeError that names the node, its inputs with their shapes and producers, and the reason."""
    if isinstance(error, NodeError) and error.node:
        return error
    reason = str(error.args[0] if isinstance(error, KeyError) and error.args else error).strip() or type(error).__name__
    if isinstance(error, MemoryError):
        reason = f"out of memory: {reason}"
    elif not isinstance(error, SardonyxError):
        reason = in_onnx_terms(reason)
    if node is None:
        return NodeError(f"the run failed: {reason}")
    where = f"node {node.name!r} ({node.title}-{node.since})"
    if node.origins and node.origins != (node.name,):
        where += f" made from {', '.join(repr(o) for o in node.origins[:4])}"
    verb = "cannot be prepared" if compiling else "failed"
    lines = [f"{where} {verb}: {reason}"]
    for i, (v, x) in enumerate(zip(node.inputs, values, strict=False)):
        if v is not None:
            source = "a constant" if v.const is not None else f"from {v.producer.name!r}" if v.producer is not None else "an input"
            lines.append(f"  input {i} {v.name!r}: {_describe(x)}, {source}")
    return NodeError("\n".join(lines), node=node.name, op=node.op, origins=node.origins)


def _describe(x: Any) -> str:
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return f"{x.dtype}{list(x.shape)}"
    if isinstance(x, list):
        return f"a sequence of {len(x)}"
    return "absent" if x is None else type(x).__name__


def _text(attrs: dict[str, Any]) -> str:
    """Attributes as text that is equal for equal ones only."""
    arrays = (np.ndarray, np.generic)
    return repr(sorted((k, (str(a.dtype), a.shape, a.tolist()) if isinstance(a, arrays) else a) for k, a in attrs.items()))


def _arrays(value: Any) -> Iterator[Any]:
    """The arrays in what `prepare` returned: in lists, dicts and attributes of objects."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _arrays(v)
    elif isinstance(value, dict):
        yield from _arrays(list(value.values()))
    elif is_dataclass(value):
        yield from _arrays([getattr(value, f.name) for f in fields(value)])


def _start(ctx: RunContext, clock: Callable[[], int]) -> int:
    if ctx.cancelled is not None and ctx.cancelled():
        raise RunCancelled("the run was cancelled")
    return clock()


def _first(result: Any) -> Any:
    return result[0] if type(result) is tuple else result


def _spread(result: Any, count: int) -> tuple[Any, ...]:
    if type(result) is not tuple:
        result = (result,)
    if len(result) < count:
        raise NodeError(f"with these attributes and inputs the operator gives {len(result)} outputs, but the node names {count}")
    return result[:count]
