"""Whole tensors of one scale and one zero point, as most operators of com.microsoft have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx_ep_cpu.ops.quantization.rounding import dequantize, quantize

__all__ = ["from_real", "to_real"]


def to_real(xp: Any, x: Any, scale: Any, zero: Any) -> Any:
    """The numbers that `x` stands for, in float32. Scale and zero point have one element; zero may be None."""
    return dequantize(xp, x, scale.reshape(()), None if zero is None else zero.reshape(()), xp.float32)


def from_real(xp: Any, real: Any, scale: Any, zero: Any, dtype: np.dtype) -> Any:
    """Numbers as `dtype` (see `quantize`). Scale and zero point have one element; zero may be None."""
    return quantize(xp, real, scale.reshape(()), None if zero is None else zero.reshape(()), dtype)
