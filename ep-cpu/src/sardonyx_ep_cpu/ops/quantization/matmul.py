"""MatMulInteger and QLinearMatMul."""

from __future__ import annotations

from sardonyx.ep import KernelSet
from sardonyx.ep.shape_kernels.cast import convert
from sardonyx.ir.dtypes import is_float
from sardonyx_ep_cpu.ops.matrix.product import product
from sardonyx_ep_cpu.ops.quantization.integer_product import by_row, integer_product, prepare_right, right_factor
from sardonyx_ep_cpu.ops.quantization.rounding import requantize

__all__ = ["ops"]

ops = KernelSet()


@ops.add("MatMulInteger", since=10, prepare=prepare_right(1, 3))
def matmul_integer(xp, a, b, a_zero_point=None, b_zero_point=None, *, prepared=None):
    """(A - a_zero_point) @ (B - b_zero_point) as numpy.matmul, in int32, exact modulo 2**32."""
    total = integer_product(xp, a, a_zero_point, right_factor(xp, b, b_zero_point, prepared))
    total = total.astype(xp.int32)
    return total if b.ndim > 1 else total[..., 0]


@ops.add("QLinearMatMul", since=10, prepare=prepare_right(3, 5))
def qlinear_matmul(xp, a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point, *, prepared=None):
    """The product of the dequantized A and B, quantized to y_zero_point's dtype.

    8-bit integers are multiplied exactly and scaled in float32; float8 is multiplied in float32. Scales and zero points
    are scalars, or per row of A ([M] or [..., M, 1]) and per column of B ([N] or [..., 1, N]).
    """
    scale_a, scale_b, scale_y = (s.astype(xp.float32) for s in (a_scale, b_scale, y_scale))
    multiplier = by_row(scale_a) * scale_b / by_row(scale_y)
    if is_float(a.dtype) or is_float(b.dtype):
        left = a.astype(xp.float32) - by_row(a_zero_point).astype(xp.float32)
        right = b.astype(xp.float32) - b_zero_point.astype(xp.float32)
        real = product(xp, left, right) * multiplier + by_row(y_zero_point).astype(xp.float32)
        return convert(xp, real if is_float(y_zero_point.dtype) else xp.rint(real), y_zero_point.dtype)
    total = integer_product(xp, a, a_zero_point, right_factor(xp, b, b_zero_point, prepared))
    if b.ndim == 1:
        total = total[..., 0]
    return requantize(xp, total, multiplier, by_row(y_zero_point), y_zero_point.dtype)
