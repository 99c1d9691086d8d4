"""Quantized matrix products of com.microsoft: QGemm, DynamicQuantizeMatMul, MatMulIntegerToFloat."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.quantization.dynamic import dynamic_parameters
from sardonyx_ep_cpu.ops.quantization.integer_product import integer_product, prepare_right, right_factor
from sardonyx_ep_cpu.ops.quantization.rounding import quantize, requantize

__all__ = ["ops"]

ops = KernelSet("com.microsoft")

_UINT8 = np.dtype(np.uint8)


@ops.add("QGemm", prepare=prepare_right(3, 5))
def qgemm(
    xp,
    a,
    a_scale,
    a_zero_point,
    b,
    b_scale,
    b_zero_point,
    c=None,
    y_scale=None,
    y_zero_point=None,
    *,
    alpha=1.0,
    transA=0,
    transB=0,
    prepared=None,
):
    """alpha A' B' + C of dequantized 8-bit matrices A' [M, K] and B' [K, N]: quantized with y_scale, else float32.

    C is int32 with scale alpha * a_scale * b_scale and broadcasts to [M, N]; B's scale and zero point may be per column.
    """
    right = right_factor(xp, b.T if transB else b, b_zero_point, prepared)
    total = integer_product(xp, a.T if transA else a, a_zero_point, right)
    if c is not None:
        total = total.astype(xp.int32) + c
    scale = np.float32(alpha) * a_scale * b_scale
    if y_scale is None:
        return total.astype(xp.float32, copy=False) * scale
    return requantize(xp, total, scale / y_scale, y_zero_point, _UINT8 if y_zero_point is None else y_zero_point.dtype)


@ops.add("MatMulIntegerToFloat", prepare=prepare_right(1, 5))
def matmul_integer_to_float(xp, a, b, a_scale, b_scale, a_zero_point=None, b_zero_point=None, bias=None, *, prepared=None):
    """The product of dequantized 8-bit tensors A [..., M, K] and B [..., K, N], plus bias [N], in the scales' dtype.

    A's scale is one number, B's may be per column.
    """
    if a_scale.size != 1:
        raise NodeError(f"MatMulIntegerToFloat: a_scale must be one number, but has shape {a_scale.shape}")
    total = integer_product(xp, a, a_zero_point, right_factor(xp, b, b_zero_point, prepared))
    if b.ndim == 1:
        total = total[..., 0]
    return _real(xp, total, a_scale, b_scale, bias)


@ops.add("DynamicQuantizeMatMul", prepare=prepare_right(1, 3))
def dynamic_quantize_matmul(xp, a, b, b_scale, b_zero_point=None, bias=None, *, prepared=None):
    """A @ B + bias with A [..., M, K] of float32 rounded to uint8 as in DynamicQuantizeLinear and B [..., K, N] of 8 bits."""
    scale, zero = dynamic_parameters(xp, a)
    quantized = quantize(xp, a, scale, zero, zero.dtype)
    total = integer_product(xp, quantized, zero, right_factor(xp, b, b_zero_point, prepared))
    if b.ndim == 1:
        total = total[..., 0]
    return _real(xp, total, scale, b_scale, bias)


def _real(xp: Any, total: Any, a_scale: Any, b_scale: Any, bias: Any) -> Any:
    real = total * (a_scale.astype(xp.float32).reshape(()) * b_scale.astype(xp.float32))
    if bias is not None:
        real += bias
    return real.astype(a_scale.dtype, copy=False)
