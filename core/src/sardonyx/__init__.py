"""Sardonyx: an ONNX runtime made of plugs.

    import sardonyx
    session = sardonyx.InferenceSession("model.onnx")
    outputs = session.run(None, {"input": array})

The classes have onnxruntime's names, arguments and behaviour. Providers are found through entry points.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sardonyx.ep.custom_ops import custom_op
    from sardonyx.errors import SardonyxError
    from sardonyx.runtime.discovery import providers
    from sardonyx.runtime.iobinding import IOBinding
    from sardonyx.runtime.log import set_default_logger_severity, set_default_logger_verbosity
    from sardonyx.runtime.options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
    from sardonyx.runtime.ortvalue import OrtValue
    from sardonyx.runtime.pipeline import Pipeline
    from sardonyx.runtime.session import InferenceSession, ModelMetadata, NodeArg
    from sardonyx.tools.bisect import bisect
    from sardonyx.tools.compare import compare
    from sardonyx.tools.optimize import optimize

_WHERE = {
    "SardonyxError": "sardonyx.errors",
    "providers": "sardonyx.runtime.discovery",
    "ExecutionMode": "sardonyx.runtime.options",
    "ExecutionOrder": "sardonyx.runtime.options",
    "GraphOptimizationLevel": "sardonyx.runtime.options",
    "RunOptions": "sardonyx.runtime.options",
    "SessionOptions": "sardonyx.runtime.options",
    "IOBinding": "sardonyx.runtime.iobinding",
    "InferenceSession": "sardonyx.runtime.session",
    "ModelMetadata": "sardonyx.runtime.session",
    "NodeArg": "sardonyx.runtime.session",
    "OrtValue": "sardonyx.runtime.ortvalue",
    "bisect": "sardonyx.tools.bisect",
    "compare": "sardonyx.tools.compare",
    "optimize": "sardonyx.tools.optimize",
    "Pipeline": "sardonyx.runtime.pipeline",
    "custom_op": "sardonyx.ep.custom_ops",
    "set_default_logger_severity": "sardonyx.runtime.log",
    "set_default_logger_verbosity": "sardonyx.runtime.log",
}

# What making a session imports on first use.
_FIRST_SESSION = (
    "ir.check_types",
    "runtime.session",
    "runtime.evaluate",
    "passes",
    "ir.load",
    "ir.infer_model",
    "ir.upgrade",
    "ir.verify",
    "ir.save",
    "ep.rules",
)

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "Pipeline",
    "RunOptions",
    "SardonyxError",
    "SessionOptions",
    "bisect",
    "compare",
    "custom_op",
    "get_all_providers",
    "get_available_providers",
    "optimize",
    "providers",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
]


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'sardonyx' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})


def get_available_providers() -> list[str]:
    """Names of the providers that are installed and find a device here, by priority.

    Also imports what sessions on them need, so that the first session need not.
    """
    from sardonyx.runtime.discovery import available

    names = available()
    for module in _FIRST_SESSION if names else ():
        importlib.import_module(f"sardonyx.{module}")
    return names


def get_all_providers() -> list[str]:
    """Names of all installed providers, usable or not."""
    from sardonyx.runtime.discovery import providers

    return [p.name for p in providers()]
