"""What an execution provider is: its description, its claims, its compile step, its memory."""

from __future__ import annotations

import logging
import math
import operator
import os
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sardonyx.ep.kernels import KernelSet
from sardonyx.ep.weights import WeightStore
from sardonyx.errors import InternalError, InvalidInput
from sardonyx.ir.graph import Graph, Node

__all__ = [
    "API_VERSION",
    "Allocator",
    "Claim",
    "CompileContext",
    "Device",
    "Executable",
    "Option",
    "Provider",
    "ProviderInfo",
    "Refusal",
    "RunContext",
    "TensorInfo",
    "Unavailable",
]

API_VERSION = 1


@dataclass(frozen=True, slots=True)
class Device:
    """A device that a probe found. `kind` is cpu, gpu, npu; `memory` is in bytes, None if unknown."""

    kind: str
    name: str
    memory: int | None = None
    id: int = 0


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A probe's answer when the provider cannot be used here, with the reason and what to do. `mistake`: a wrong setting of the
    user's is the reason, so sessions that would have taken the provider unasked warn of it."""

    reason: str
    mistake: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """One provider option: its type, default and meaning. Values may arrive as text and are converted. Numbers are `least` or
    more and `most` or less; whole ones fit 64 bits."""

    type: type
    default: Any
    help: str = ""
    choices: tuple[Any, ...] = ()
    least: float | None = None
    most: float | None = None

    def convert(self, name: str, value: Any) -> Any:
        """`value` as this option's type, or InvalidInput naming what is valid."""
        try:
            if self.type is bool:
                value = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}[str(value).lower()]
            elif self.type is int and not isinstance(value, str):
                value = operator.index(value)
            elif self.type is str and not isinstance(value, (str, int, float, os.PathLike)):
                raise TypeError(value)
            value = self.type(value)
            if self.type is int and abs(value) >= 1 << 63:
                raise ValueError(value)
        except (KeyError, ValueError, TypeError, OverflowError):
            raise InvalidInput(f"option {name!r}: {value!r} is not a valid {self.type.__name__}") from None
        if self.least is not None and not value >= self.least:
            raise InvalidInput(f"option {name!r}: {value!r} is less than {self.least:g}")
        if self.most is not None and not value <= self.most:
            raise InvalidInput(f"option {name!r}: {value!r} is more than {self.most:g}")
        if self.choices and value not in self.choices:
            raise InvalidInput(f"option {name!r}: {value!r} is not one of {', '.join(map(str, self.choices))}")
        return value


@dataclass(frozen=True, slots=True)
class Claim:
    """A provider takes a node. It needs inputs `host_inputs` as host arrays and `const_inputs` as constants; it gives
    outputs `host_outputs` as host arrays. (All indices; they matter to providers with a memory space of their own.)"""

    host_inputs: tuple[int, ...] = ()
    const_inputs: tuple[int, ...] = ()
    host_outputs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A provider does not take a node, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor's numpy dtype and shape."""

    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(slots=True)
class RunContext:
    """What accompanies one run: `cancelled()` says whether to stop, `record(node, start_ns, end_ns, outputs)` profiles; an output
    that stays inside the provider is told as a TensorInfo, or as None.

    `flags` say the same as `cancelled()` to code that runs without Python: the run is to stop once the byte of one is not 0.
    """

    cancelled: Callable[[], bool] | None = None
    record: Callable[..., None] | None = None
    stream: Any = None
    flags: tuple[bytearray, ...] = ()


@dataclass(slots=True)
class CompileContext:
    """What a compile step may use: the provider's checked options, the number of threads, the process-wide weight store,
    a folder for caches (None: none), whether rules may fire, and whether runs must be reproducible bit for bit."""

    options: dict[str, Any] = field(default_factory=dict)
    threads: int = 1
    weights: WeightStore = field(default_factory=WeightStore)
    cache: str | None = None
    level: str = "all"
    deterministic: bool = False
    seed: int | None = None
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("sardonyx"))


class Executable:
    """A compiled subgraph. `run` is re-entrant: several threads may call it at once."""

    def run(self, inputs: list[Any], *, outputs: list[Any] | None = None, ctx: RunContext | None = None) -> list[Any]:
        """Values of the subgraph's outputs for those of its inputs, both in the subgraph's order. `outputs` holds the
        caller's buffers, or None where a fresh value is wanted; a provider may ignore it (core then copies)."""
        raise NotImplementedError

    def bind_feeds(self, feeds: list[tuple[str, np.dtype, tuple[int | None, ...] | None]]) -> Callable[[Any], list[Any] | None] | None:
        """An entry that takes the caller's dict of feeds itself, for an executable that is the whole plan, or None.

        `feeds` are name, dtype and declared dims (None: free) of the inputs in order. The entry checks the dict and returns
        the outputs, fresh arrays of the caller's own, or None where anything is not exactly as declared: core then takes
        the long way, which converts or says what is wrong. An executable that checks faster than core overrides this.
        """
        return None

    def memory(self) -> Mapping[str, int | Mapping[Hashable, int]]:
        """What the executable holds, in bytes by kind: `mapped` (weights used where they lie in the model's file), `weights`
        (copies of them, and folded ones), `packed` (weights in a form of the provider's), `arenas` (working memory kept
        between runs), or others; `plans` is a count. What several executables may hold is told part by part, `{key: bytes}`,
        each part under the same key by all of them (`held_by`), and so counts once."""
        return {}

    def trim(self) -> None:
        """Give back what is only kept to make runs faster, such as arenas and plans. Runs may be under way."""


class Allocator:
    """The memory space of a device provider. Host arrays go in by from_host and come back by to_host; a device array is
    whatever the provider makes of it. The source of a copy stays alive until synchronize() returns."""

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """An uninitialised device array."""
        raise NotImplementedError

    def free(self, array: Any) -> None:
        """Give a device array back. The default leaves it to Python's reference counting."""

    def from_host(self, array: np.ndarray) -> Any:
        """A device copy of a host array."""
        raise NotImplementedError

    def to_host(self, array: Any) -> np.ndarray:
        """A host copy of a device array."""
        raise NotImplementedError

    def device_copy(self, source: Any, target: Any) -> None:
        """Copy between two device arrays of one shape and dtype."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Wait for all copies and kernels under way."""

    def stats(self) -> dict[str, int]:
        """Bytes in use and reserved, by name."""
        return {}


class Provider:
    """An execution provider, made once per session with its options.

    A kernel provider sets `kernels` and is done: `claim` reads them off the table and `compile` interprets them. A
    provider that compiles overrides both. `memory` names its memory space ("host", or its own with an `allocator`). One that
    is for few operators only is `partial`: what its claims leave out goes on without a reason.
    """

    name: str = ""
    memory: str = "host"
    partial: bool = False
    kernels: KernelSet | None = None
    rules: tuple[Any, ...] = ()
    allocator: Allocator | None = None

    def __init__(self, options: dict[str, Any] | None = None):
        self.options = options or {}

    def claim(self, graph: Graph) -> dict[Node, Claim | Refusal]:
        """For every node of the graph (not of its bodies): a claim, or a refusal with its reason."""
        from sardonyx.ep.claims import claim_kernels

        if self.kernels is None:
            raise InternalError(f"provider {self.name!r} has no kernels and does not override claim()")
        return claim_kernels(graph, self.kernels)

    def compile(self, graph: Graph, context: CompileContext) -> Executable:
        """An Executable for a subgraph of claimed nodes. The graph is the provider's own copy: it may change it.

        May raise CompileRefused({node: reason}).
        """
        from sardonyx.ep.interpreter import compile_kernels
        from sardonyx.passes.rules import apply_rules

        if self.kernels is None:
            raise InternalError(f"provider {self.name!r} has no kernels and does not override compile()")
        if self.rules and context.level == "all":
            apply_rules(graph, self.rules)
        return compile_kernels(graph, self.kernels, context)


def _always() -> list[Device]:
    return [Device("cpu", "host")]


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """What a plug-in's `sardonyx_provider` hook returns.

    `create(options)` makes a Provider; `probe()` returns the devices, or Unavailable, without side effects; `options`
    is the schema of its options; `aliases` are other names users know it by (onnxruntime's); among providers nobody
    asked for by name, the one of higher `priority` is offered a node first; `memory` is its memory space. `variants` are
    settings of the options whose effect on speed is of interest, by what they are called: `sardonyx bench --ablation`.
    """

    name: str
    create: Callable[[dict[str, Any]], Provider]
    aliases: tuple[str, ...] = ()
    priority: int = 0
    api_version: int = API_VERSION
    probe: Callable[[], list[Device] | Unavailable] = _always
    options: dict[str, Option] = field(default_factory=dict)
    memory: str = "host"
    description: str = ""
    variants: dict[str, dict[str, Any]] = field(default_factory=dict)

    def check_options(self, given: dict[str, Any]) -> dict[str, Any]:
        """All options with their values; InvalidInput names the valid ones for an unknown key or bad value."""
        unknown = [k for k in given if k not in self.options]
        if unknown:
            valid = ", ".join(self.options) or "none"
            raise InvalidInput(f"provider {self.name!r} has no option {unknown[0]!r}; its options are: {valid}")
        return {k: o.convert(k, given[k]) if k in given else o.default for k, o in self.options.items()}
