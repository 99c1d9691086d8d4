"""ONNX's backend interface, with onnxruntime's arguments."""

from sardonyx.onnxruntime.backend.backend import is_compatible, prepare, run, supports_device

__all__ = ["is_compatible", "prepare", "run", "supports_device"]
