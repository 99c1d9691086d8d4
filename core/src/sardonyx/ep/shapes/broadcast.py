"""Shapes under ONNX's multidirectional (numpy-style) broadcasting."""

from __future__ import annotations

from sardonyx.errors import NodeError

__all__ = ["broadcast_shape"]


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of `shapes`; NodeError if two dims differ and neither is 1."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        for i, dim in enumerate(shape, rank - len(shape)):
            if dim != 1:
                if result[i] not in (1, dim):
                    raise NodeError(f"shapes {', '.join(map(str, shapes))} do not broadcast: {result[i]} against {dim} in dim {i - rank}")
                result[i] = dim
    return tuple(result)
