"""Weights that cannot be seen beside their neighbours."""

from __future__ import annotations

from typing import Any

__all__ = ["without_tiny"]

# Bits of a float32 without its sign: of 2^-120 and of 2^-60.
TINY, SEEN = (127 - 120) << 23, (127 - 60) << 23
CHUNK = 1 << 16


def without_tiny(xp: Any, weights: Any) -> Any:
    """Weights of a product, with 0 for those below 2^-120 where others are above 2^-60.

    Beside these they cannot be seen, and a CPU's arithmetic with subnormal numbers takes up to a hundred times longer: nets
    trained with weight decay have many. What holds none, or is not a contiguous float32 array, comes back as it is.
    """
    if weights.dtype != xp.float32 or not weights.flags.c_contiguous:
        return weights
    bits = weights.reshape(-1).view(xp.int32)
    largest, found = 0, False
    for start in range(0, bits.size, CHUNK):
        magnitude = bits[start : start + CHUNK] & xp.int32(0x7FFFFFFF)
        largest = max(largest, int(magnitude.max()))
        magnitude -= 1
        found = found or bool((magnitude.view(xp.uint32) < TINY - 1).any())
    if not found or largest < SEEN:
        return weights
    return xp.where(xp.abs(weights) < xp.float32(2.0**-120), xp.float32(0), weights)
