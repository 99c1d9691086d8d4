"""`prepare`, `run`, `is_compatible` and `supports_device`. For `run_node` and strictness see sardonyx.backend."""

from __future__ import annotations

import os
from typing import Any

from sardonyx.onnxruntime.backend.backend_rep import OnnxRuntimeBackendRep, set_options
from sardonyx.onnxruntime.options import SessionOptions
from sardonyx.onnxruntime.providers import get_available_providers, get_device
from sardonyx.onnxruntime.session import InferenceSession

__all__ = ["OnnxRuntimeBackend", "is_compatible", "prepare", "run", "supports_device"]

SESSION_OPTIONS = frozenset(
    {
        "enable_cpu_mem_arena",
        "enable_mem_pattern",
        "enable_mem_reuse",
        "execution_mode",
        "execution_order",
        "graph_optimization_level",
        "inter_op_num_threads",
        "intra_op_num_threads",
        "log_severity_level",
        "log_verbosity_level",
        "logid",
        "use_deterministic_compute",
        "use_per_session_threads",
    }
)


class OnnxRuntimeBackend:
    """The backend as a class, as onnx's test runner takes it."""

    @classmethod
    def prepare(cls, model: Any, device: str | None = None, **kwargs: Any) -> OnnxRuntimeBackendRep:
        """A model (path, bytes, ModelProto, session or prepared model) ready to run. Options of sessions are taken by name.
        RuntimeError for a device that no usable provider has."""
        if isinstance(model, OnnxRuntimeBackendRep):
            return model
        if not isinstance(model, InferenceSession):
            options = SessionOptions()
            set_options(options, kwargs, SESSION_OPTIONS)
            excluded = os.environ.get("ORT_ONNX_BACKEND_EXCLUDE_PROVIDERS", "").split(",")
            names = [n for n in get_available_providers() if n not in excluded]
            data = model if isinstance(model, (str, bytes)) else model.SerializeToString()
            model = InferenceSession(data, options, names)
            model.disable_fallback()
        if device is not None and not cls.supports_device(device):
            raise RuntimeError(f"no provider here has the device {device!r}; there is {get_device()}")
        return OnnxRuntimeBackendRep(model)

    @classmethod
    def is_compatible(cls, model: Any, device: str | None = None, **kwargs: Any) -> bool:
        """Whether the model can run on the device."""
        return device is None or cls.supports_device(device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a usable provider has a device of this kind: CPU, GPU or CUDA."""
        return device == "CPU" or (device in ("CUDA", "GPU") and get_device() == "GPU")

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str | None = None, **kwargs: Any) -> list[Any]:
        """The outputs of a model for inputs in order."""
        return cls.prepare(model, device, **kwargs).run(inputs, **kwargs)

    @classmethod
    def run_node(cls, node: Any, inputs: Any, device: str | None = None, outputs_info: Any = None, **kwargs: Any) -> Any:
        """NotImplementedError, as in onnxruntime: sardonyx.backend.run_node runs a node."""
        raise NotImplementedError("onnxruntime's backend runs whole models; to run one node use sardonyx.backend.run_node")


is_compatible = OnnxRuntimeBackend.is_compatible
prepare = OnnxRuntimeBackend.prepare
run = OnnxRuntimeBackend.run_model
supports_device = OnnxRuntimeBackend.supports_device
