"""DepthToSpace and SpaceToDepth."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError

__all__ = ["depth_to_space", "ops", "space_to_depth"]

ops = KernelSet()


@ops.add("DepthToSpace", since=1)
def depth_to_space_1(xp, input, *, blocksize):
    """Input [N, C, H, W] in order DCR -> [N, C / b^2, H * b, W * b]."""
    return depth_to_space(xp, input, blocksize=blocksize)


@ops.add("DepthToSpace", since=11)
def depth_to_space(xp, input, *, blocksize, mode="DCR"):
    """Input [N, C, H, W] -> [N, C / b^2, H * b, W * b]; C is block row, block column, depth (DCR) or depth first (CRD)."""
    n, c, h, w = _shape(input, blocksize, mode)
    if c % blocksize**2:
        raise NodeError(f"DepthToSpace with blocksize {blocksize} needs a multiple of {blocksize**2} channels, got {c}")
    depth = c // blocksize**2
    if mode == "DCR":
        blocks = input.reshape(n, blocksize, blocksize, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        blocks = input.reshape(n, depth, blocksize, blocksize, h, w).transpose(0, 1, 4, 2, 5, 3)
    return blocks.reshape(n, depth, h * blocksize, w * blocksize)


@ops.add("SpaceToDepth", since=1)
def space_to_depth_1(xp, input, *, blocksize):
    """Input [N, C, H, W] -> [N, C * b^2, H / b, W / b] in order DCR."""
    return space_to_depth(xp, input, blocksize=blocksize)


@ops.add("SpaceToDepth", since=28)
def space_to_depth(xp, input, *, blocksize, mode="DCR"):
    """Input [N, C, H, W] -> [N, C * b^2, H / b, W / b]; the inverse of DepthToSpace in the same mode."""
    n, c, h, w = _shape(input, blocksize, mode)
    if h % blocksize or w % blocksize:
        raise NodeError(f"SpaceToDepth with blocksize {blocksize} needs H and W that it divides, got {h} and {w}")
    blocks = input.reshape(n, c, h // blocksize, blocksize, w // blocksize, blocksize)
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return blocks.transpose(order).reshape(n, c * blocksize**2, h // blocksize, w // blocksize)


def _shape(x: Any, blocksize: int, mode: str) -> tuple[int, int, int, int]:
    if x.ndim != 4 or blocksize < 1 or mode not in ("DCR", "CRD"):
        raise NodeError(f"blocks are moved in [N, C, H, W] with blocksize >= 1 and mode DCR or CRD, got {x.shape}, {blocksize}, {mode!r}")
    return x.shape
