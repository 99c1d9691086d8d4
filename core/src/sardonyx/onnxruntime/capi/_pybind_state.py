"""Another path of onnxruntime_pybind11_state."""

from sardonyx.onnxruntime.capi.onnxruntime_pybind11_state import *  # noqa: F403
from sardonyx.onnxruntime.capi.onnxruntime_pybind11_state import __all__ as __all__
