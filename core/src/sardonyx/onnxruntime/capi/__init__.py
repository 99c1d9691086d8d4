"""onnxruntime's inner modules, whose paths clients import."""
