"""IOBinding: inputs and outputs bound once to the caller's buffers."""

from __future__ import annotations

import ctypes
import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from sardonyx.errors import InvalidInput, InvalidType
from sardonyx.runtime import arguments
from sardonyx.runtime.ortvalue import OrtValue

if TYPE_CHECKING:
    from sardonyx.runtime.session import InferenceSession

__all__ = ["IOBinding", "array_at"]


class IOBinding:
    """Inputs and outputs of `session`, bound to values that stay where they are between runs."""

    def __init__(self, session: InferenceSession):
        if not hasattr(session, "get_overridable_initializers"):
            raise InvalidType(f"an IOBinding is made of an InferenceSession, not of {type(session).__name__}")
        self._session = session
        self.inputs: dict[str, Any] = {}
        self.outputs: dict[str, np.ndarray | None] = {}
        self.results: list[Any] = []
        self._in = {a.name for a in (*session.get_inputs(), *session.get_overridable_initializers())}
        self._out = [a.name for a in session.get_outputs()]

    def _input(self, name: str, value: Any) -> None:
        if arguments.text("the name of an input", name) not in self._in:
            raise InvalidInput(f"the model has no input {name!r}; its inputs are {sorted(self._in)}")
        self.inputs[name] = value

    def _output(self, name: str, value: np.ndarray | None) -> None:
        if arguments.text("the name of an output", name) not in self._out:
            raise InvalidInput(f"the model has no output {name!r}; its outputs are {self._out}")
        self.outputs[name] = value

    def bind_cpu_input(self, name: str, arr_on_cpu: np.ndarray) -> None:
        """Bind an input to an array."""
        self._input(name, arr_on_cpu)

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any, shape: Any, buffer_ptr: int) -> None:
        """Bind an input to memory at an address."""
        self._input(name, array_at(device_type, element_type, shape, buffer_ptr))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Bind an input to an OrtValue."""
        self._input(name, _ortvalue(ortvalue).numpy())

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Any = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Bind an output to memory at an address, or (without one) have it made by the run."""
        self._output(name, None if buffer_ptr is None else array_at(device_type, element_type, shape, buffer_ptr))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Bind an output to an OrtValue, which the run fills."""
        self._output(name, _ortvalue(ortvalue)._tensor())

    def receive(self, results: list[Any]) -> None:
        """Take a run's outputs: those bound to buffers are copied there. InvalidInput for a buffer that does not fit."""
        for i, (name, target) in enumerate(self.outputs.items()):
            if target is None:
                continue
            if not isinstance(results[i], np.ndarray):
                raise InvalidInput(f"output {name!r} is a {type(results[i]).__name__}; a buffer cannot be bound to it")
            if target.shape != results[i].shape or target.dtype != results[i].dtype:
                have, want = f"{target.dtype}{list(target.shape)}", f"{results[i].dtype}{list(results[i].shape)}"
                raise InvalidInput(f"output {name!r} is {want}; the buffer bound to it is {have}")
            np.copyto(target, results[i])
            results[i] = target
        self.results = results

    def synchronize_inputs(self) -> None:
        """Nothing to wait for: host memory."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for: a run returns when its outputs are complete."""

    def get_outputs(self) -> list[OrtValue]:
        """The last run's outputs, in the order in which they were bound."""
        return [OrtValue(v) for v in self.results]

    def copy_outputs_to_cpu(self) -> list[np.ndarray]:
        """The last run's outputs as arrays."""
        return list(self.results)

    def clear_binding_inputs(self) -> None:
        """Forget the inputs."""
        self.inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget the outputs."""
        self.outputs.clear()
        self.results = []


def array_at(device_type: str, element_type: Any, shape: Any, pointer: int) -> np.ndarray:
    """An array over memory at an address; the caller keeps it alive."""
    if arguments.text("device_type", device_type).lower() != "cpu":
        raise InvalidInput(f"no installed provider has memory on {device_type!r}; bind host memory ('cpu')")
    dtype, dims = arguments.element_type("element_type", element_type), arguments.shape("shape", shape)
    if dtype.kind in "OUS":
        raise InvalidInput("a tensor of strings cannot be bound by its address: bind it as an OrtValue")
    size = math.prod(dims) * dtype.itemsize
    address = arguments.whole("the address of a buffer", pointer, bits=64)
    if size == 0:
        return np.empty(dims, dtype)
    if address <= 0 or address + size > sys.maxsize:
        raise InvalidInput(f"{address} is not the address of a buffer of {size:,} bytes")
    raw = memoryview((ctypes.c_char * size).from_address(address))
    return np.frombuffer(raw, dtype).reshape(dims)


def _ortvalue(value: Any) -> OrtValue:
    return arguments.instance("what is bound", value, OrtValue, "an OrtValue")  # type: ignore[no-any-return]
