"""Providers registered from a file while the program runs, and the running of such files."""

from __future__ import annotations

import importlib.util
import os
from types import ModuleType

from sardonyx.onnxruntime.errors import Fail, InvalidArgument, status
from sardonyx.runtime import arguments, discovery

__all__ = ["register_execution_provider_library", "run_file", "unregister_execution_provider_library"]

_registered: set[str] = set()


def run_file(path: str, name: str) -> ModuleType:
    """The module of a Python file. Raises Fail where it cannot be run."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as e:
        raise status(Fail, f"{path} cannot be run: {type(e).__name__}: {e}") from e
    return module


def register_execution_provider_library(registration_name: str, library_path: str) -> None:
    """Register the provider of a Python file with a `sardonyx_provider` hook under a name.

    Raises Fail where there is no file or it defines no usable provider, InvalidArgument for a name that is taken,
    NotImplementedError for a shared library: those are built for onnxruntime's C API.
    """
    arguments.text("registration_name", registration_name)
    path = arguments.path("library_path", library_path) if library_path != "" else ""
    if not os.path.exists(path):
        raise status(Fail, f"there is no provider library {path}")
    if not path.endswith(".py"):
        raise NotImplementedError(
            f"{path} is built for onnxruntime's C API, which Sardonyx does not have: a provider of Sardonyx is a Python file or package "
            "with a sardonyx_provider hook"
        )
    if registration_name in {s.name for s in discovery.providers()}:
        raise status(InvalidArgument, f"there is a provider {registration_name!r} already")
    module = run_file(path, f"sardonyx_registered_{registration_name}")
    discovery.register(registration_name, module)
    state = next(s for s in discovery.providers() if s.name == registration_name)
    if not state.usable:
        discovery.unregister(registration_name)
        raise status(Fail, f"the provider of {path} cannot be used: {state.reason}")
    _registered.add(registration_name)


def unregister_execution_provider_library(registration_name: str) -> None:
    """Forget a provider that was registered from a file. Raises Fail for another name."""
    if arguments.text("registration_name", registration_name) not in _registered:
        raise status(Fail, f"no provider was registered as {registration_name!r}")
    _registered.discard(registration_name)
    discovery.unregister(registration_name)
