"""GatherBlockQuantized of com.microsoft."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import normalize_axis
from sardonyx.errors import NodeError
from sardonyx.ir.dtypes import is_float
from sardonyx_ep_cpu.ops.quantization.bits import unpack_bits

__all__ = ["ops"]

ops = KernelSet("com.microsoft")


@ops.add("GatherBlockQuantized")
def gather_block_quantized(xp, data, indices, scales, zero_points=None, *, bits=4, block_size=128, gather_axis=0, quantize_axis=1):
    """Slices of `data` along gather_axis, dequantized with a scale and a zero point per block along quantize_axis.

    data is int4, uint4, float8, float4, or uint8 with numbers of `bits` bits packed along the last axis; zero points are
    packed alike and default to 2**(bits - 1) for uint8, else to 0. scales have data's rank and one entry per block; other
    dimensions of 1 broadcast. An index outside [-s, s) gives zeros. Returns the scales' dtype, rank q + r - 1.
    """
    gather, blocked = normalize_axis(gather_axis, data.ndim), normalize_axis(quantize_axis, data.ndim)
    packed = data.dtype == xp.uint8 and bits != 8
    if packed and gather in (blocked, data.ndim - 1):
        raise NodeError(f"uint8 data is packed along its last axis, so gather_axis={gather_axis} cannot be that axis or quantize_axis")
    if zero_points is not None and is_float(data.dtype):
        raise NodeError("data of a float dtype takes no zero points")
    length = data.shape[blocked] * (8 // bits if packed and blocked == data.ndim - 1 else 1)
    block = block_size or length
    size = data.shape[gather]
    index = xp.where(indices < 0, indices + size, indices)
    outside = (index < 0) | (index >= size)
    index = xp.where(outside, 0, index)

    def taken(parameter: Any) -> Any:
        """A scale or zero point for each of the gathered numbers."""
        if gather == blocked:
            return xp.take(parameter, index // block, axis=gather)
        rows = xp.take(parameter, index if parameter.shape[gather] > 1 else xp.zeros_like(index), axis=gather)
        axis = blocked if blocked < gather else blocked + index.ndim - 1
        if parameter.shape[blocked] == 1:
            return rows
        return xp.repeat(rows, block, axis=axis)[(slice(None),) * axis + (slice(length),)]

    values = xp.take(data, index, axis=gather)
    if packed:
        values = unpack_bits(xp, values, bits)
    values = values.astype(xp.float32)
    if zero_points is not None:
        known = unpack_bits(xp, zero_points, bits)[..., : scales.shape[-1]] if packed else zero_points
        values -= taken(known).astype(xp.float32)
    elif data.dtype == xp.uint8:
        values -= float(1 << (bits - 1))
    values *= taken(scales).astype(xp.float32)
    if outside.any():
        values = xp.where(outside.reshape((1,) * gather + index.shape + (1,) * (data.ndim - gather - 1)), 0, values)
    return values.astype(scales.dtype, copy=False)
