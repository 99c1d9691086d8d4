"""Output types of operators outside onnx.defs: one small function per operator, `(node) -> [type, ...]`.

They say what onnxruntime's operators of com.microsoft give; a function raises, or leaves a type out, where it cannot know.
"""

from __future__ import annotations

from sardonyx.ir.infer_contrib import attention, elementwise, matrix, movement, normalization, quantized, window
from sardonyx.ir.infer_contrib.table import Contrib

__all__ = ["CONTRIB"]

CONTRIB: Contrib = {
    **elementwise.types,
    **normalization.types,
    **matrix.types,
    **attention.types,
    **quantized.types,
    **window.types,
    **movement.types,
}
