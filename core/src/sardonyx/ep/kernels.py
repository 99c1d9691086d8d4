"""Kernel tables: one operator, one function, one registration line.

A kernel is a plain function whose signature is the operator's schema:

    ops = KernelSet()

    @ops.add("Gelu", since=20)
    def gelu(xp, x, *, approximate="none"): ...

- `xp` is the array module (numpy, cupy).
- Tensors are positional, in ONNX order; an absent optional input is None. A variadic input is `*xs`.
- Attributes are keyword-only, with ONNX's names and defaults: str, int, float, ndarray, list, or (TypeProto) a type string.
  An attribute without a default in the schema defaults to None if optional and has no default if required.
- An operator whose schema has several outputs returns a tuple, also when only the first is wanted; all others return the
  value itself. A sequence is a list, a map a dict, an empty optional None, strings an object array.
- The keywords `n_outputs` (how many outputs the node names, trailing absent ones not counted), `rng` (a
  numpy.random.Generator) and `prepared` (what `prepare` returned) are filled in where the function names them.
- A kernel never writes into its inputs. It may return a view of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sardonyx.ir.graph import Node

__all__ = ["FILLED", "Kernel", "KernelSet", "named_outputs"]

FILLED = frozenset({"n_outputs", "rng", "prepared"})


@dataclass(frozen=True, slots=True)
class Kernel:
    """One registration: the operator, the opset range [since, until), the function, and what it needs.

    `types` restricts type variables to dtypes, e.g. {"T": (np.dtype("f4"),)}; a variable not named takes whatever the
    schema allows. `host` are indices of inputs that must be host arrays, `const` of inputs that must be known at compile
    time, `host_outputs` of outputs that are host arrays. `prepare(xp, inputs, attrs)` runs once at compile time; inputs
    is a list with an array where the input is constant and None elsewhere; what it returns arrives as `prepared`.
    `refuse(node)` may return a reason (str) for not taking a node, or None.
    """

    op: str
    domain: str
    since: int
    function: Callable[..., Any]
    until: int | None = None
    types: dict[str, tuple[np.dtype, ...]] | None = None
    host: tuple[int, ...] = ()
    const: tuple[int, ...] = ()
    host_outputs: tuple[int, ...] = ()
    prepare: Callable[..., Any] | None = None
    refuse: Callable[..., str | None] | None = None
    filled: frozenset[str] = field(default=frozenset())
    attributes: frozenset[str] = field(default=frozenset())


def _keyword_only(function: Callable[..., Any]) -> set[str]:
    """The names of keyword-only parameters: off the code object, which is much cheaper than inspect.signature."""
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__wrapped__"):
        return {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}
    return set(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])


def named_outputs(node: Node) -> int:
    """How many outputs a node names, trailing absent ones not counted."""
    return max((i for i, v in enumerate(node.outputs, 1) if v is not None), default=0)


class KernelSet:
    """The kernels of one family module, or of a provider (`include` joins families).

    `domain` is the default domain of the operators added.
    """

    def __init__(self, domain: str = ""):
        self.domain = domain
        self._kernels: dict[tuple[str, str], list[Kernel]] = {}

    def add(
        self,
        op: str,
        since: int = 1,
        *,
        until: int | None = None,
        domain: str | None = None,
        types: Mapping[str, Iterable[Any]] | None = None,
        host: tuple[int, ...] = (),
        const: tuple[int, ...] = (),
        host_outputs: tuple[int, ...] = (),
        prepare: Callable[..., Any] | None = None,
        refuse: Callable[..., str | None] | None = None,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register the decorated function for `op` from opset `since` up to the next registration (or `until`)."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            names = _keyword_only(function)
            kernel = Kernel(
                op=op,
                domain=self.domain if domain is None else domain,
                since=since,
                until=until,
                function=function,
                types={k: tuple(np.dtype(t) for t in v) for k, v in types.items()} if types else None,
                host=host,
                const=const,
                host_outputs=host_outputs,
                prepare=prepare,
                refuse=refuse,
                filled=frozenset(names & FILLED),
                attributes=frozenset(names - FILLED),
            )
            self._insert(kernel)
            return function

        return register

    def _insert(self, kernel: Kernel) -> None:
        versions = self._kernels.setdefault((kernel.domain, kernel.op), [])
        if any(k.since == kernel.since for k in versions):
            raise ValueError(f"{kernel.domain or 'ai.onnx'}::{kernel.op}-{kernel.since} is registered twice")
        versions.append(kernel)
        versions.sort(key=lambda k: k.since)

    def include(self, *others: Iterable[Kernel]) -> KernelSet:
        """Take over all kernels of other sets, or lists of kernels; returns self."""
        for other in others:
            for kernel in other:
                self._insert(kernel)
        return self

    def __iter__(self) -> Iterator[Kernel]:
        for versions in self._kernels.values():
            yield from versions

    def find(self, domain: str, op: str, since: int) -> Kernel | None:
        """The kernel for the operator's version `since` (the since_version of its schema), or None."""
        best = None
        for kernel in self._kernels.get((domain, op), ()):
            if kernel.since <= since and (kernel.until is None or since < kernel.until):
                best = kernel
        return best

    def versions(self, domain: str, op: str) -> list[Kernel]:
        """All registrations of one operator, oldest first."""
        return list(self._kernels.get((domain, op), ()))
