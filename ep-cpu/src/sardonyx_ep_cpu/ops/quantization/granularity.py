"""How a scale and a zero point lie on a tensor: one for all, one per index of an axis, or one per block along an axis."""

from __future__ import annotations

from typing import Any

from sardonyx.errors import NodeError

__all__ = ["spread"]


def spread(xp: Any, shape: tuple[int, ...], scale: Any, zero: Any, axis: int, block_size: int) -> tuple[tuple[int, ...], Any, Any]:
    """A shape to view the tensor in, with scale and zero point (which may be None) broadcasting to it.

    The scale is a scalar, or 1-D as long as the axis, or of the tensor's rank with ceil(D / block_size) on the axis.
    Raises NodeError for any other shape, and for a zero point of another shape than the scale.
    """
    if zero is not None and zero.size != scale.size:
        raise NodeError(f"the zero point has shape {zero.shape}, the scale {scale.shape}; they must be equal")
    if scale.size == 1 and not block_size:
        return shape, scale.reshape(()), None if zero is None else zero.reshape(())
    if not -len(shape) <= axis < len(shape):
        raise NodeError(f"axis {axis} is outside a tensor of shape {shape}")
    axis %= len(shape)
    if block_size:
        return _blocked(xp, shape, scale, zero, axis, block_size)
    if scale.ndim != 1 or scale.size != shape[axis]:
        raise NodeError(f"a scale of shape {scale.shape} fits no axis {axis} of a tensor of shape {shape} (block_size is 0)")
    column = (-1,) + (1,) * (len(shape) - axis - 1)
    return shape, scale.reshape(column), None if zero is None else zero.reshape(column)


def _blocked(xp, shape, scale, zero, axis, block_size):
    length = shape[axis]
    blocks = -(-length // block_size)
    if block_size < 0 or scale.shape != (*shape[:axis], blocks, *shape[axis + 1 :]):
        raise NodeError(f"a scale of shape {scale.shape} does not cover {shape} in blocks of {block_size} along axis {axis}")
    if length % block_size:
        within = (slice(None),) * axis + (slice(length),)
        scale, zero = (None if p is None else xp.repeat(p, block_size, axis)[within] for p in (scale, zero))
        return shape, scale, zero
    tiled = (*shape[:axis], blocks, 1, *shape[axis + 1 :])
    view = (*shape[:axis], blocks, block_size, *shape[axis + 1 :])
    return view, scale.reshape(tiled), None if zero is None else zero.reshape(tiled)
