"""What clients import of onnxruntime.transformers."""
