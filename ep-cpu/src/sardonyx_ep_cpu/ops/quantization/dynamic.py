"""DynamicQuantizeLinear, and the same quantization for other operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx_ep_cpu.ops.quantization.rounding import quantize

__all__ = ["dynamic_parameters", "ops"]

ops = KernelSet()


def dynamic_parameters(xp: Any, x: Any) -> tuple[Any, Any]:
    """The float32 scale and the uint8 zero point, both scalars, that map x's range extended to 0 onto [0, 255].

    Where that range is 0 alone, as of an empty tensor, the scale is 1.
    """
    low = min(0.0, float(xp.min(x))) if x.size else 0.0
    high = max(0.0, float(xp.max(x))) if x.size else 0.0
    scale = (np.float32(high) - np.float32(low)) / np.float32(255) or np.float32(1)
    zero = np.clip(np.rint(-np.float32(low) / scale), 0, 255)
    return xp.asarray(scale, dtype=xp.float32), xp.asarray(zero).astype(xp.uint8)


@ops.add("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(xp, x):
    """x as uint8 with its scale and zero point (see `dynamic_parameters`)."""
    scale, zero = dynamic_parameters(xp, x)
    return quantize(xp, x, scale, zero, zero.dtype), scale, zero
