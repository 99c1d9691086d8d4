"""IOBinding, and the SessionIOBinding beneath it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sardonyx.onnxruntime.devices import device_of
from sardonyx.onnxruntime.errors import raises
from sardonyx.onnxruntime.values import OrtValue, OrtValueVector, ortvalue_of
from sardonyx.runtime import iobinding

if TYPE_CHECKING:
    from sardonyx.onnxruntime.extension_session import ExtensionSession
    from sardonyx.onnxruntime.session import Session

__all__ = ["IOBinding", "SessionIOBinding"]


class IOBinding(iobinding.IOBinding):
    """Inputs and outputs of a session, bound to values that stay where they are between runs. Errors are RuntimeError."""

    def __init__(self, session: Session):
        super().__init__(session._sess.own)
        self._session = session._sess  # type: ignore[assignment]
        self._numpy_obj_references: dict[str, Any] = {}

    @property
    def _iobinding(self) -> IOBinding:
        return self

    @raises(RuntimeError)
    def bind_cpu_input(self, name: str, arr_on_cpu: np.ndarray) -> None:
        """Bind an input to an array, which is read by every run."""
        if not isinstance(arr_on_cpu, np.ndarray):
            raise RuntimeError(f"input {name!r} is bound to a numpy array, not to {type(arr_on_cpu).__name__}")
        super().bind_cpu_input(name, arr_on_cpu)
        self._numpy_obj_references[name] = arr_on_cpu

    @raises(RuntimeError)
    def bind_input(self, name: str, device_type: Any, device_id: int, element_type: Any, shape: Any, buffer_ptr: int) -> None:
        """Bind an input to memory at an address."""
        device, device_id = device_of(device_type, device_id)
        super().bind_input(name, device, device_id, element_type, shape, buffer_ptr)

    @raises(RuntimeError)
    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:  # type: ignore[override]
        """Bind an input to an OrtValue."""
        super().bind_ortvalue_input(name, ortvalue_of("what is bound", ortvalue))

    @raises(RuntimeError)
    def bind_output(
        self,
        name: str,
        device_type: Any = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Any = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Bind an output to memory at an address, or (without one) have it made by the run."""
        device, device_id = device_of(device_type, device_id)
        if buffer_ptr is not None and (element_type is None or shape is None):
            raise ValueError("memory at an address needs its element_type and shape")
        super().bind_output(name, device, device_id, element_type, shape, buffer_ptr)

    @raises(RuntimeError)
    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:  # type: ignore[override]
        """Bind an output to an OrtValue, which the run fills."""
        super().bind_ortvalue_output(name, ortvalue_of("what is bound", ortvalue))

    def get_outputs(self) -> list[OrtValue]:  # type: ignore[override]
        """The last run's outputs, in the order in which they were bound."""
        return [OrtValue.of(v) for v in self.results]

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        """The last run's outputs as an OrtValueVector."""
        return OrtValueVector(self.get_outputs())

    def clear_binding_inputs(self) -> None:
        """Forget the inputs."""
        super().clear_binding_inputs()
        self._numpy_obj_references.clear()


class SessionIOBinding(IOBinding):
    """The binding as the extension module has it: made of a session's `_sess`, with devices for names of devices."""

    def __init__(self, session: ExtensionSession):
        iobinding.IOBinding.__init__(self, session.own)
        self._session = session  # type: ignore[assignment]
        self._numpy_obj_references = {}

    def bind_input(self, name: str, *of: Any) -> None:
        """Bind an input to an array, or to memory: (device, element type, shape, address)."""
        if len(of) == 1:
            self.bind_cpu_input(name, *of)
        else:
            device, element_type, shape, pointer = of
            super().bind_input(name, device, 0, element_type, shape, pointer)

    def bind_output(self, name: str, *of: Any) -> None:  # type: ignore[override]
        """Bind an output that the run makes: (device), or memory: (device, element type, shape, address)."""
        device, element_type, shape, pointer = of if len(of) == 4 else (*of, None, None, None)
        super().bind_output(name, device, 0, element_type, shape, pointer)

    def get_outputs(self) -> OrtValueVector:  # type: ignore[override]
        """The last run's outputs as an OrtValueVector."""
        return OrtValueVector(super().get_outputs())
