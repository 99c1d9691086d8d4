"""onnxruntime's Python interface on Sardonyx.

    import sardonyx.onnxruntime as ort          # in place of: import onnxruntime as ort

`install()` makes `import onnxruntime` give this package, with all its submodules, in the whole process; `python -m
sardonyx.onnxruntime SCRIPT` runs a program so. What Sardonyx does not have raises NotImplementedError and says what to use.
"""

from __future__ import annotations

from types import ModuleType

from sardonyx.onnxruntime import capi
from sardonyx.onnxruntime.binding import IOBinding, SessionIOBinding
from sardonyx.onnxruntime.capi import _pybind_state, onnxruntime_inference_collection, onnxruntime_validation  # noqa: F401
from sardonyx.onnxruntime.capi.build_and_package_info import __version__, cuda_version, package_name
from sardonyx.onnxruntime.compiler import ModelCompiler, OrtEpContextData, OrtEpContextDataBuffer, OrtExternalInitializerInfo
from sardonyx.onnxruntime.devices import (
    OrtArenaCfg,
    OrtDevice,
    OrtEpDevice,
    OrtHardwareDevice,
    OrtMemoryInfo,
    OrtSyncStream,
    create_and_register_allocator,
    create_and_register_allocator_v2,
    get_ep_devices,
)
from sardonyx.onnxruntime.enums import (
    ModelPackageWriteMode,
    OrtAllocatorType,
    OrtCompileApiFlags,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
)
from sardonyx.onnxruntime.environment import (
    disable_telemetry_events,
    enable_telemetry_events,
    get_build_info,
    get_version_string,
    has_collective_ops,
    preload_dlls,
    print_debug_info,
    set_default_logger_callback,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
)
from sardonyx.onnxruntime.import_hook import install, tool, uninstall
from sardonyx.onnxruntime.lora import AdapterFormat, LoraAdapter
from sardonyx.onnxruntime.options import RunOptions, SessionOptions
from sardonyx.onnxruntime.package import ModelPackage
from sardonyx.onnxruntime.package_context import ModelPackageComponentContext, ModelPackageContext, ModelPackageOptions
from sardonyx.onnxruntime.placement import OrtEpAssignedNode, OrtEpAssignedSubgraph
from sardonyx.onnxruntime.plugins import register_execution_provider_library, unregister_execution_provider_library
from sardonyx.onnxruntime.providers import get_all_providers, get_available_providers, get_device
from sardonyx.onnxruntime.session import InferenceSession
from sardonyx.onnxruntime.sparse import SparseTensor
from sardonyx.onnxruntime.values import OrtValue, copy_tensors
from sardonyx.runtime.options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from sardonyx.runtime.session import ModelMetadata, NodeArg

__author__ = "the authors of Sardonyx"
version = __version__
import_capi_exception = None


def __getattr__(name: str) -> ModuleType:
    """onnxruntime's tools for `from onnxruntime import NAME`, which asks the package before it imports a module."""
    found = tool(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found


__all__ = [
    "AdapterFormat",
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "LoraAdapter",
    "ModelCompiler",
    "ModelMetadata",
    "ModelPackage",
    "ModelPackageComponentContext",
    "ModelPackageContext",
    "ModelPackageOptions",
    "ModelPackageWriteMode",
    "NodeArg",
    "OrtAllocatorType",
    "OrtArenaCfg",
    "OrtCompileApiFlags",
    "OrtDevice",
    "OrtDeviceMemoryType",
    "OrtDeviceVendorId",
    "OrtEpAssignedNode",
    "OrtEpAssignedSubgraph",
    "OrtEpContextData",
    "OrtEpContextDataBuffer",
    "OrtEpDevice",
    "OrtExecutionProviderDevicePolicy",
    "OrtExternalInitializerInfo",
    "OrtHardwareDevice",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfo",
    "OrtMemoryInfoDeviceType",
    "OrtSparseFormat",
    "OrtSyncStream",
    "OrtValue",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "SparseTensor",
    "capi",
    "copy_tensors",
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
    "cuda_version",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_ep_devices",
    "get_version_string",
    "has_collective_ops",
    "install",
    "onnxruntime_validation",
    "package_name",
    "preload_dlls",
    "print_debug_info",
    "register_execution_provider_library",
    "set_default_logger_callback",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
    "uninstall",
    "unregister_execution_provider_library",
    "version",
]
