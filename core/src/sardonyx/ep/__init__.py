"""The public surface for authors of execution providers.

A provider package names a module in its `sardonyx.providers` entry point; that module has one function:

    from sardonyx.ep import ProviderInfo, hook

    @hook
    def sardonyx_provider():
        return ProviderInfo(name="mine", create=make_provider)

Nothing here changes incompatibly within a major version; `API_VERSION` counts the incompatible changes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sardonyx.ep.held import held_by
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
    TensorInfo,
    Unavailable,
)
from sardonyx.ep.weights import WeightStore, aligned

if TYPE_CHECKING:
    from sardonyx.ep.custom_ops import CustomOp, custom_op
    from sardonyx.ep.hooks import hook
    from sardonyx.ep.interpreter import compile_kernels, node_error

__all__ = [
    "API_VERSION",
    "Allocator",
    "Claim",
    "CompileContext",
    "CustomOp",
    "Device",
    "Executable",
    "Kernel",
    "KernelSet",
    "Option",
    "Provider",
    "ProviderInfo",
    "Refusal",
    "RunContext",
    "TensorInfo",
    "Unavailable",
    "WeightStore",
    "aligned",
    "compile_kernels",
    "custom_op",
    "held_by",
    "hook",
    "node_error",
]


_LATER = {
    "CustomOp": "sardonyx.ep.custom_ops",
    "compile_kernels": "sardonyx.ep.interpreter",
    "custom_op": "sardonyx.ep.custom_ops",
    "hook": "sardonyx.ep.hooks",
    "node_error": "sardonyx.ep.interpreter",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
