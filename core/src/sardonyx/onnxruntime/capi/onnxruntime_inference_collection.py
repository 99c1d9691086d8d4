"""The classes of a session, at the path where onnxruntime defines them."""

from sardonyx.onnxruntime.binding import IOBinding
from sardonyx.onnxruntime.compiler import ModelCompiler
from sardonyx.onnxruntime.devices import OrtDevice
from sardonyx.onnxruntime.enums import OrtDeviceVendorId
from sardonyx.onnxruntime.lora import AdapterFormat
from sardonyx.onnxruntime.providers import check_and_normalize_provider_args
from sardonyx.onnxruntime.session import InferenceSession, Session
from sardonyx.onnxruntime.sparse import SparseTensor
from sardonyx.onnxruntime.values import OrtValue, copy_tensors

__all__ = [
    "AdapterFormat",
    "IOBinding",
    "InferenceSession",
    "ModelCompiler",
    "OrtDevice",
    "OrtDeviceVendorId",
    "OrtValue",
    "Session",
    "SparseTensor",
    "check_and_normalize_provider_args",
    "copy_tensors",
]
