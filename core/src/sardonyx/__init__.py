"""Sardonyx: an ONNX runtime made of plugs."""

__version__ = "0.1.0"
