"""What numpy says when it refuses a kernel's operands, in ONNX's terms."""

from __future__ import annotations

import re

__all__ = ["in_onnx_terms"]

# A part of numpy's text, and what it means for the node.
_MEANINGS = tuple(
    (re.compile(pattern), meaning)
    for pattern, meaning in (
        (
            r"could not be broadcast|cannot be broadcast|non-broadcastable|could not broadcast",
            "the shapes of its inputs do not broadcast: counted from the last, two dims must be equal or one of them 1",
        ),
        (
            r"^matmul: |shapes? .* not aligned",
            "its matrices cannot be multiplied: the columns of the first must be as many as the rows of the second",
        ),
        (r"cannot reshape array of size", "the shape that is asked for does not hold as many elements as its input"),
        (
            r"dimensions except for the concatenation axis|must have same number of dimensions|need at least one array",
            "its inputs cannot be joined: they must have one rank, and equal dims but for the axis along which they are joined",
        ),
        (r"same shape", "its inputs must have one shape"),
        (r"out of bounds for array of dimension", "an axis lies outside the dims of its input"),
        (r"out of bounds for axis", "an index lies outside the dim that it counts in"),
        (r"axes don't match|repeated axis|duplicate value in", "its axes do not name the dims of its input, each once"),
        (r"too many indices|too many values to unpack|not enough values to unpack|tuple index out of range", "an input has the wrong rank"),
        (r"zero-size array", "an input has no elements"),
        (r"negative dimensions", "a dim of its output would be negative"),
        (
            r"[Mm]aximum (possible|supported|allowed)|is too big|too large to convert|out of bounds for u?int|int too (big|large)",
            "a number is too large",
        ),
        (r"cannot convert float (NaN|infinity)", "a number must be finite"),
    )
)


def in_onnx_terms(text: str) -> str:
    """`text` behind what it means, where numpy or Python wrote it; else as it is."""
    for pattern, meaning in _MEANINGS:
        if pattern.search(text):
            return f"{meaning} (numpy: {text})"
    return text
