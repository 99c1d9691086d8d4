"""Providers that are broken each in one way, and running the suite on them inside this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

from sardonyx.ep import (
    Claim,
    CompileContext,
    Executable,
    KernelSet,
    Option,
    Provider,
    ProviderInfo,
    Refusal,
    RunContext,
    compile_kernels,
    hook,
)
from sardonyx.ep.shape_kernels import shape_kernels
from sardonyx.errors import CompileRefused
from sardonyx.ir.graph import Graph, Node
from sardonyx.runtime import discovery
from sardonyx_conformance.cases import backend

ops = KernelSet()


@ops.add("Relu", since=6)
def relu(xp, x):
    """max(x, 0)."""
    return xp.maximum(x, 0)


@ops.add("MatMul", since=1)
def matmul(xp, a, b):
    """a @ b."""
    return xp.matmul(a, b)


GOOD = KernelSet().include(shape_kernels, ops)


def with_relu(function: Callable[..., Any]) -> KernelSet:
    """The good kernels with another Relu."""
    changed = KernelSet()
    for kernel in GOOD:
        if kernel.op != "Relu":
            changed._insert(kernel)
    changed.add("Relu", since=6)(function)
    return changed


class Good(Provider):
    """Nothing wrong."""

    kernels = GOOD


class WrongResults(Good):
    """A leak in Relu."""

    kernels = with_relu(lambda xp, x: xp.maximum(x, x * x.dtype.type(0.01)))


class WritesInputs(Good):
    """Relu in place, where it can."""

    kernels = with_relu(lambda xp, x: xp.maximum(x, 0, out=x))


class Noisy(Good):
    """A little noise, within every tolerance."""

    kernels = with_relu(lambda xp, x: xp.maximum(x, 0) * (1 + xp.random.random(x.shape) * 1e-6).astype(x.dtype))


class Wrapped(Executable):
    """A good program, to be spoilt."""

    def __init__(self, graph: Graph, context: CompileContext):
        self.program = compile_kernels(graph, GOOD, context)

    def run(self, inputs: list[Any], *, outputs: list[Any] | None = None, ctx: RunContext | None = None) -> list[Any]:
        """As the program does."""
        return self.program.run(inputs, ctx=ctx)


class Compiles(Good):
    """Makes its `executable`."""

    executable: type[Wrapped] = Wrapped

    def compile(self, graph: Graph, context: CompileContext) -> Executable:
        """One of those."""
        return self.executable(graph, context)


class RawExceptions(Compiles):
    """Whatever numpy raises comes through."""

    class executable(Wrapped):
        """Without the interpreter's care."""

        def run(self, inputs: list[Any], *, outputs: list[Any] | None = None, ctx: RunContext | None = None) -> list[Any]:
            """Throw away what the error was."""
            try:
                return super().run(inputs)
            except Exception:
                raise IndexError("list index out of range") from None


class OneBuffer(Compiles):
    """Gives the same arrays again and again."""

    class executable(Wrapped):
        """With a result kept between runs."""

        kept: list[Any] | None = None

        def run(self, inputs: list[Any], *, outputs: list[Any] | None = None, ctx: RunContext | None = None) -> list[Any]:
            """Overwrite the last run's results."""
            results = super().run(inputs)
            if self.kept is None or any(np.shape(k) != np.shape(r) for k, r in zip(self.kept, results, strict=True)):
                self.kept = [np.array(r) for r in results]
            for k, r in zip(self.kept, results, strict=True):
                k[...] = r
            return list(self.kept)


class NotReentrant(Compiles):
    """Keeps its inputs in the executable."""

    class executable(Wrapped):
        """With a pause in which another thread comes."""

        def run(self, inputs: list[Any], *, outputs: list[Any] | None = None, ctx: RunContext | None = None) -> list[Any]:
            """Remember, wait, compute."""
            self.inputs = list(inputs)
            time.sleep(0.0002)
            return super().run(self.inputs)


class Leaks(Compiles):
    """Remembers every result."""

    class executable(Wrapped):
        """Forever."""

        def run(self, inputs: list[Any], *, outputs: list[Any] | None = None, ctx: RunContext | None = None) -> list[Any]:
            """Keep a copy."""
            results = super().run(inputs)
            memory.append([np.array(r) + 0 for r in results])
            return results


memory: list[Any] = []


class ClaimsAndRefuses(Good):
    """Claims Neg, but does not compile it."""

    def compile(self, graph: Graph, context: CompileContext) -> Executable:
        """Refuse."""
        refused = {n.name: "changed my mind" for n in graph.nodes if n.op == "Neg"}
        if refused:
            raise CompileRefused(refused)
        return super().compile(graph, context)


class NoReasons(Good):
    """Refuses in silence."""

    def claim(self, graph: Graph) -> dict[Node, Claim | Refusal]:
        """Without a word."""
        return {n: a if isinstance(a, Claim) else Refusal("") for n, a in super().claim(graph).items()}


class ChangesGraph(Good):
    """Renames nodes while it claims."""

    def claim(self, graph: Graph) -> dict[Node, Claim | Refusal]:
        """Ask, and scribble."""
        for n in graph.nodes:
            n.name += "'"
        return super().claim(graph)


class BadOptions(Good):
    """Its option's default is not of its type, and has no help."""

    described: ClassVar = {"speed": Option(int, "fast")}


@pytest.fixture
def few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnx's cases cut down to those of a few operators."""
    few = [c for c in backend.load_cases() if c.name in ("test_relu", "test_add", "test_add_bcast", "test_neg", "test_softmax_example")]
    monkeypatch.setattr(backend, "load_cases", lambda: few)


@pytest.fixture
def suite(few_cases: None, run_suite: Callable[..., Any]) -> Iterator[Any]:
    """A function that runs the suite on one of the classes above, with few of onnx's cases; see `run_suite`."""

    def run(name: str, *arguments: str) -> Any:
        provider = globals()[name]

        @hook
        def sardonyx_provider() -> ProviderInfo:
            options = getattr(provider, "described", {})
            return ProviderInfo(name="broken", create=provider, options=options, description="for the suite's own tests")

        module = ModuleType("broken_ep")
        vars(module)["sardonyx_provider"] = sardonyx_provider
        discovery.unregister("broken")
        discovery.register("broken", module)
        return run_suite("--ep", "broken", *arguments)

    yield run
    discovery.unregister("broken")
    memory.clear()
