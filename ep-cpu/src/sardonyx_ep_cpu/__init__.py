"""The numpy execution provider: every ONNX operator, on any machine that runs numpy."""
