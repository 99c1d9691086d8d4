"""The public surface for authors of execution providers.

A provider package names a module in its `sardonyx.providers` entry point; that module has one function:

    from sardonyx.ep import ProviderInfo, hook

    @hook
    def sardonyx_provider():
        return ProviderInfo(name="mine", create=make_provider)

Nothing here changes incompatibly within a major version; `API_VERSION` counts the incompatible changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sardonyx.ep.kernels import Kernel, KernelSet
from sardonyx.ep.provider import (
    API_VERSION,
    Allocator,
    Claim,
    CompileContext,
    Device,
    Executable,
    Option,
    Provider,
    ProviderInfo,
    Refusal,
    RunContext,
    Unavailable,
)
from sardonyx.ep.weights import WeightStore, aligned

if TYPE_CHECKING:
    from sardonyx.ep.hooks import hook
    from sardonyx.ep.interpreter import compile_kernels

__all__ = [
    "API_VERSION",
    "Allocator",
    "Claim",
    "CompileContext",
    "Device",
    "Executable",
    "Kernel",
    "KernelSet",
    "Option",
    "Provider",
    "ProviderInfo",
    "Refusal",
    "RunContext",
    "Unavailable",
    "WeightStore",
    "aligned",
    "compile_kernels",
    "hook",
]


def __getattr__(name: str) -> Any:
    if name == "hook":
        from sardonyx.ep.hooks import hook

        return hook
    if name == "compile_kernels":
        from sardonyx.ep.interpreter import compile_kernels

        return compile_kernels
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
