"""Numbers of 2 to 8 bits packed into bytes, low-order bits first."""

from __future__ import annotations

from typing import Any

from sardonyx.errors import NodeError

__all__ = ["unpack_bits"]


def unpack_bits(xp: Any, packed: Any, bits: int) -> Any:
    """uint8 [..., B] to uint8 [..., B * 8 // bits]; NodeError for other widths than 1 to 8 bits."""
    if bits == 8:
        return packed
    if not 1 <= bits < 8:
        raise NodeError(f"bits={bits}: a packed number has 1 to 8 bits")
    count = packed.shape[-1] * 8 // bits
    if 8 % bits:
        digits = xp.unpackbits(packed, axis=-1, bitorder="little")[..., : count * bits]
        weights = xp.left_shift(1, xp.arange(bits)).astype(xp.uint8)
        return (digits.reshape(*packed.shape[:-1], count, bits) * weights).sum(axis=-1, dtype=xp.uint8)
    result = xp.empty((*packed.shape, 8 // bits), xp.uint8)
    for i in range(8 // bits):
        xp.right_shift(packed, i * bits, out=result[..., i])
    result &= (1 << bits) - 1
    return result.reshape(*packed.shape[:-1], count)
