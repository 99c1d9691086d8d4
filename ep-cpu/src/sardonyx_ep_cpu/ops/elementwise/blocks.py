"""Chains of elementwise steps, run on pieces of a tensor that stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sardonyx_ep_cpu.precision import is_half

__all__ = ["in_blocks", "in_single"]

_BLOCK = 16384  # elements: a few float32 temporaries of this length fit in a second-level cache


def in_blocks(xp: Any, chain: Callable[[Any, Any, Any], None], x: Any) -> Any:
    """`chain(xp, block, out)` over flat blocks of x; returns the outs in x's shape and dtype.

    `chain` writes `out` (which it may use as scratch) from the read-only `block`. Of two-byte floats it sees float32
    copies, and its result is rounded once.
    """
    y = xp.empty(x.shape, x.dtype)
    source, target = x.reshape(-1), y.reshape(-1)
    narrow = is_half(x.dtype)
    for start in range(0, source.size, _BLOCK):
        block, out = source[start : start + _BLOCK], target[start : start + _BLOCK]
        if narrow:
            block = block.astype(xp.float32)
            wide = xp.empty_like(block)
            chain(xp, block, wide)
            out[...] = wide
        else:
            chain(xp, block, out)
    return y


def in_single(xp: Any, function: Callable[[Any], Any], x: Any) -> Any:
    """`function(x)`; for float16 and bfloat16 computed in float32 and rounded."""
    if is_half(x.dtype):
        return function(x.astype(xp.float32)).astype(x.dtype)
    return function(x)
