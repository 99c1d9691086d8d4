"""The cases of the installed onnx, and the models that the suite builds itself."""
