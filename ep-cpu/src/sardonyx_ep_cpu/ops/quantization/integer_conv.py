"""Exact convolutions of 8-bit tensors, in float32 where sums cannot pass 2**24.

Otherwise the input channels are cut into pieces for which they cannot, or, where that does not help, float64 is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sardonyx_ep_cpu.ops.quantization.integer_product import LARGEST_BYTE, pieces, shifted
from sardonyx_ep_cpu.ops.spatial.conv_nd import ConvWeights, conv_nd, pack_weights

__all__ = ["EXACT", "IntegerKernel", "integer_conv", "kernel_of", "prepare_kernel"]

EXACT = 1 << 24
"""Up to here float32 holds every integer."""


@dataclass(frozen=True, slots=True)
class IntegerKernel:
    """Weights [M, C/group, *K] less their zero point: per cut of the input channels, the part and its packed form."""

    cuts: list[slice]
    parts: list[tuple[Any, ConvWeights]]
    shifted: bool


def prepare_kernel(w: int, zero: int) -> Callable[[Any, list[Any], dict[str, Any]], IntegerKernel | None]:
    """A kernel's `prepare` for weights and their zero point at these inputs, None where the weights are no constant."""

    def prepare(xp: Any, inputs: list[Any], attrs: dict[str, Any]) -> IntegerKernel | None:
        if inputs[w] is None:
            return None
        return _kernel(xp, inputs[w], inputs[zero] if zero < len(inputs) else None, attrs.get("group", 1))

    return prepare


def kernel_of(xp: Any, w: Any, zero: Any, group: int, prepared: IntegerKernel | None) -> IntegerKernel:
    """What `prepare_kernel` made, unless it did not know the zero point (one number, or one per output channel, or None)."""
    if prepared is not None and prepared.shifted == (zero is not None):
        return prepared
    return _kernel(xp, w, zero, group)


def _kernel(xp, w, zero, group):
    column = None if zero is None else zero.reshape((-1,) + (1,) * (w.ndim - 1))
    real = shifted(xp, w, column)
    sums = xp.abs(real).reshape(*w.shape[:2], -1).sum(axis=2).T
    cuts = pieces(xp, sums) if group == 1 else [slice(0, w.shape[1])]
    largest = max(float(xp.max(sums[cut].sum(axis=0), initial=0)) for cut in cuts)
    if largest * LARGEST_BYTE >= EXACT:
        cuts, real = [slice(0, w.shape[1])], real.astype(xp.float64)
    parts = [(real[:, cut], pack_weights(xp, real[:, cut], group)) for cut in cuts]
    return IntegerKernel(cuts, parts, zero is not None)


def integer_conv(xp: Any, x: Any, zero: Any, kernel: IntegerKernel, group: int, finish: Any = None, **geometry: Any) -> Any:
    """The exact convolution of x - zero [N, C, *D], zero a scalar or None, padded with 0: float32, float64 or int32.

    `finish` as of `conv_nd` is called only where the kernel is of one part. `geometry` are Conv's attributes.
    """
    real = shifted(xp, x, zero)
    if len(kernel.parts) == 1:
        w, packed = kernel.parts[0]
        return conv_nd(xp, real.astype(w.dtype, copy=False), w, group=group, prepared=packed, finish=finish, **geometry)
    total: Any = None
    for cut, (w, packed) in zip(kernel.cuts, kernel.parts, strict=True):
        part = conv_nd(xp, real[:, cut], w, prepared=packed, **geometry).astype(xp.int32)
        total = part if total is None else xp.add(total, part, out=total)
    return total
