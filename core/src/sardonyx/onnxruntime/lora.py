"""LoRA adapters: values for inputs of the model that have its parameters' names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sardonyx.onnxruntime.adapter_file import Adapter, read_adapter, write_adapter
from sardonyx.onnxruntime.errors import InvalidArgument, WrongObject, raises, status
from sardonyx.onnxruntime.values import OrtValue, ortvalue_of
from sardonyx.runtime import arguments

__all__ = ["AdapterFormat", "LoraAdapter"]


def _invalid(error: Exception) -> Exception:
    return status(InvalidArgument, str(error))


class AdapterFormat:
    """A file of adapters, read or to be written."""

    def __init__(self, adapter: Any = None):
        self._adapter = adapter if adapter is not None else Adapter()

    @staticmethod
    @raises(_invalid)
    def read_adapter(file_path: str | os.PathLike[str]) -> AdapterFormat:
        """The contents of a file; InvalidArgument where it is no such file."""
        return AdapterFormat(read_adapter(arguments.path("file_path", file_path)))

    @raises(_invalid)
    def export_adapter(self, file_path: str | os.PathLike[str]) -> None:
        """Write the file."""
        write_adapter(self._adapter, arguments.path("file_path", file_path))

    def get_format_version(self) -> int:
        """Version of the file format."""
        return int(self._adapter.format_version)

    def get_adapter_version(self) -> int:
        """Version of the adapter."""
        return int(self._adapter.adapter_version)

    def set_adapter_version(self, adapter_version: int) -> None:
        """Set the version of the adapter."""
        self._adapter.adapter_version = arguments.whole("adapter_version", adapter_version)

    def get_model_version(self) -> int:
        """Version of the model it is for."""
        return int(self._adapter.model_version)

    def set_model_version(self, model_version: int) -> None:
        """Set the version of the model it is for."""
        self._adapter.model_version = arguments.whole("model_version", model_version)

    def get_parameters(self) -> dict[str, OrtValue]:
        """The parameters by name."""
        return {name: OrtValue.of(array) for name, array in self._adapter.parameters.items()}

    def set_parameters(self, params: dict[str, OrtValue]) -> None:
        """Set the parameters by name."""
        if not isinstance(params, Mapping):
            raise WrongObject(f"params is a dict of name -> OrtValue, not {type(params).__name__}")
        self._adapter.parameters = {name: ortvalue_of(f"parameter {name!r}", value).numpy() for name, value in params.items()}


class LoraAdapter:
    """Parameters to run with: `adapter.Load(path)`, then `RunOptions.add_active_adapter(adapter)`."""

    def __init__(self) -> None:
        self.parameters: dict[str, Any] = {}

    @raises(_invalid)
    def Load(self, file_path: str | os.PathLike[str]) -> None:
        """Read a file; InvalidArgument where it is no such file."""
        self.parameters = read_adapter(arguments.path("file_path", file_path)).parameters
