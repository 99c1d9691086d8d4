"""A provider with a memory space of its own: its arrays are wrappers that only its allocator opens, and copies are counted."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from sardonyx.ep import (
    Allocator,
    Claim,
    CompileContext,
    Device,
    Executable,
    KernelSet,
    Provider,
    ProviderInfo,
    Refusal,
    RunContext,
    compile_kernels,
    hook,
)
from sardonyx.ep.shape_kernels import shape_kernels
from sardonyx.ir.graph import Graph, Node
from sardonyx.runtime import discovery

ops = KernelSet()


@ops.add("Relu", since=6)
def relu(xp, x):
    """max(x, 0)."""
    return xp.maximum(x, 0)


@ops.add("MatMul", since=1)
def matmul(xp, a, b):
    """a @ b."""
    return xp.matmul(a, b)


@ops.add("Reshape", since=5, host=(1,))
def reshape(xp, data, shape, *, allowzero=0):
    """The shape is needed on the host."""
    assert isinstance(shape, np.ndarray)
    return data.reshape([n if n else data.shape[i] for i, n in enumerate(shape)])


@ops.add("ReduceMax", since=18, host_outputs=(0,), const=(1,))
def reduce_max(xp, data, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """Its result is made on the host."""
    return np.max(data, tuple(axes) if axes is not None else None, keepdims=bool(keepdims))


KERNELS = KernelSet().include(ops)
for _kernel in shape_kernels:
    if _kernel.op in ("Add", "Mul", "Sub", "Neg", "Abs", "Transpose", "Concat", "Identity", "Split", "Slice"):
        KERNELS._insert(_kernel)


class DeviceArray:
    """An array in the fake device's memory. numpy cannot look into it."""

    def __init__(self, array: np.ndarray):
        self._array = array
        self.shape, self.dtype = array.shape, array.dtype

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("a device array was used as if it were on the host")


class CountingAllocator(Allocator):
    """Counts copies in each direction."""

    def __init__(self) -> None:
        self.uploads = self.downloads = self.synchronized = 0

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
        """An empty array."""
        return DeviceArray(np.empty(shape, dtype))

    def from_host(self, array: np.ndarray) -> DeviceArray:
        """Copy to the device."""
        assert isinstance(array, np.ndarray)
        assert array.flags.c_contiguous
        self.uploads += 1
        return DeviceArray(array.copy())

    def to_host(self, array: DeviceArray) -> np.ndarray:
        """Copy from the device."""
        assert isinstance(array, DeviceArray)
        self.downloads += 1
        return array._array.copy()

    def device_copy(self, source: DeviceArray, target: DeviceArray) -> None:
        """Copy within the device."""
        target._array[...] = source._array

    def synchronize(self) -> None:
        """Nothing is under way."""
        self.synchronized += 1

    def counts(self) -> tuple[int, int]:
        """(uploads, downloads) since the last call."""
        found = self.uploads, self.downloads
        self.uploads = self.downloads = 0
        return found


class DeviceExecutable(Executable):
    """Kernels over what is inside the wrappers."""

    def __init__(self, graph: Graph, context: CompileContext, claims: dict[Node, Claim]):
        self._program = compile_kernels(graph, KERNELS, context)
        on_host = {v for n, c in claims.items() for i in c.host_outputs if (v := n.outputs[i]) is not None}
        wanted = [{i in claims[n].host_inputs for n, i in v.uses if n in claims} for v in graph.inputs]
        self._host_inputs = [uses == {True} for uses in wanted]
        self._host_outputs = [v in on_host for v in graph.outputs]

    def run(self, inputs: list[Any], *, outputs: list[Any] | None = None, ctx: RunContext | None = None) -> list[Any]:
        """Unwrap, run, wrap."""
        opened = []
        for x, host in zip(inputs, self._host_inputs, strict=True):
            assert isinstance(x, np.ndarray if host else DeviceArray), f"an input is a {type(x).__name__}"
            opened.append(x if host else x._array)
        results = self._program.run(opened, ctx=ctx)
        return [y if host else DeviceArray(y) for y, host in zip(results, self._host_outputs, strict=True)]


class DeviceProvider(Provider):
    """The provider `fake`."""

    name = "fake"
    memory = "fake"
    kernels = KERNELS
    allocator: CountingAllocator

    def __init__(self, options: dict[str, Any], allocator: CountingAllocator):
        super().__init__(options)
        self.allocator = allocator

    def compile(self, graph: Graph, context: CompileContext) -> Executable:
        """An executable over wrapped arrays."""
        claims = {n: c for n, c in self.claim(graph).items() if not isinstance(c, Refusal)}
        return DeviceExecutable(graph, context, claims)


@pytest.fixture
def allocator() -> Iterator[CountingAllocator]:
    """The fake device's allocator; the provider is registered as `fake` meanwhile."""
    counter = CountingAllocator()

    @hook
    def sardonyx_provider() -> ProviderInfo:
        return ProviderInfo(
            name="fake",
            create=lambda options: DeviceProvider(options, counter),
            probe=lambda: [Device("npu", "fake", 2**30)],
            memory="fake",
            priority=50,
            description="a device for tests",
        )

    module = ModuleType("fake_device")
    vars(module)["sardonyx_provider"] = sardonyx_provider
    discovery.register("fake", module)
    yield counter
    discovery.unregister("fake")
