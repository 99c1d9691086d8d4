"""Kernels of the domain ai.onnx.ml, one module per family."""
