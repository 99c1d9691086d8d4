import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from sardonyx.ep import CompileContext, Executable, KernelSet, Provider, ProviderInfo, compile_kernels, hook
from sardonyx.runtime import discovery

FLOAT = onnx.TensorProto.FLOAT


def _value(v: Any) -> Any:
    return helper.make_tensor_value_info(v, FLOAT, ["n"]) if isinstance(v, str) else v


@pytest.fixture
def make_model() -> Callable[..., onnx.ModelProto]:
    """make_model(nodes, inputs, outputs, constants): a model; inputs and outputs given by name are float [n]."""

    def make(nodes, inputs, outputs, constants=None, opset=20, **kwargs):
        initializers = [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()]
        graph = helper.make_graph(nodes, "g", [_value(v) for v in inputs], [_value(v) for v in outputs], initializers, **kwargs)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)

    return make


def _kernels(operators: dict[str, Callable[..., Any]]) -> KernelSet:
    kernels = KernelSet()
    for op, function in operators.items():
        kernels.add(op)(function)
    return kernels


@pytest.fixture
def register() -> Iterator[Callable[..., None]]:
    """register(name, hook or provider class, **ProviderInfo): a plug-in of this process for one test."""
    names = []

    def add(name: str, create: Any = None, *, module: Any = None, **info: Any) -> None:
        if module is None:
            module = types.ModuleType(f"plugin_{name}")

            def sardonyx_provider():
                return ProviderInfo(name=name, create=create, **info)

            module.sardonyx_provider = hook(sardonyx_provider)
        discovery.register(name, module)
        names.append(name)

    yield add
    for name in names:
        discovery.unregister(name)


@pytest.fixture
def kernel_ep(register: Callable[..., None]) -> Callable[..., None]:
    """kernel_ep(name, {"Add": function}, **ProviderInfo): a host provider with these kernels."""

    def add(name: str, operators: dict[str, Callable[..., Any]], **info: Any) -> None:
        class Kernels(Provider):
            kernels = _kernels(operators)

        register(name, Kernels, **info)

    return add


class Buffer:
    """An array in the memory of the fake device."""

    def __init__(self, array: np.ndarray):
        self.array = np.array(array)
        self.shape, self.dtype = self.array.shape, self.array.dtype


class Device:
    """The fake device: what was copied to and from it, and how often it was waited for."""

    def __init__(self) -> None:
        self.uploads: list[np.ndarray] = []
        self.downloads: list[Buffer] = []
        self.waits = 0

    def from_host(self, array: np.ndarray) -> Buffer:
        assert type(array) is np.ndarray
        self.uploads.append(array)
        return Buffer(array)

    def to_host(self, buffer: Buffer) -> np.ndarray:
        assert type(buffer) is Buffer
        self.downloads.append(buffer)
        return buffer.array.copy()

    def synchronize(self) -> None:
        self.waits += 1


class DeviceExecutable(Executable):
    def __init__(self, program: Executable, host: list[bool]):
        self.program, self.host = program, host

    def run(self, inputs: list[Any], *, outputs: Any = None, ctx: Any = None) -> list[Any]:
        arrays = []
        for x, on_host in zip(inputs, self.host, strict=True):
            assert type(x) is (np.ndarray if on_host else Buffer)
            arrays.append(x if on_host else x.array)
        return [Buffer(y) for y in self.program.run(arrays, ctx=ctx)]


@pytest.fixture
def device_ep(register: Callable[..., None]) -> Callable[..., Device]:
    """device_ep(name, kernels): a provider with memory of its own; its executables insist on where their inputs are."""

    def add(name: str, kernels: KernelSet) -> Device:
        space = Device()
        table = kernels

        class OnDevice(Provider):
            memory = name
            allocator = space  # type: ignore[assignment]

            def compile(self, graph: Any, context: CompileContext) -> Executable:
                host = [all(i in table.find(n.domain, n.op, n.since).host for n, i in v.uses if n.graph is graph) for v in graph.inputs]
                return DeviceExecutable(compile_kernels(graph, table, context), host)

        OnDevice.kernels = kernels
        register(name, OnDevice, memory=name, priority=1000)
        return space

    return add
