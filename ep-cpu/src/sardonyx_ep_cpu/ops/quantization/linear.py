"""QuantizeLinear and DequantizeLinear: per tensor, per axis and in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx.ir.dtypes import dtype_name
from sardonyx_ep_cpu.ops.quantization.granularity import spread
from sardonyx_ep_cpu.ops.quantization.rounding import dequantize, quantize
from sardonyx_ep_cpu.precision import named_dtype, named_float

__all__ = ["dequantize_tensor", "ops", "quantize_tensor"]

ops = KernelSet()

_LARGEST_CONSTANT = 1 << 24  # elements that are dequantized once, when the model is compiled


@ops.add("QuantizeLinear", since=10)
def quantize_linear_10(xp, x, y_scale, y_zero_point=None):
    return quantize_tensor(xp, x, y_scale, y_zero_point)


@ops.add("QuantizeLinear", since=13)
def quantize_linear_13(xp, x, y_scale, y_zero_point=None, *, axis=1):
    return quantize_tensor(xp, x, y_scale, y_zero_point, axis)


@ops.add("QuantizeLinear", since=19)
def quantize_linear_19(xp, x, y_scale, y_zero_point=None, *, axis=1, saturate=1):
    return quantize_tensor(xp, x, y_scale, y_zero_point, axis, saturate)


@ops.add("QuantizeLinear", since=21)
def quantize_linear_21(xp, x, y_scale, y_zero_point=None, *, axis=1, block_size=0, output_dtype=0, saturate=1):
    return quantize_tensor(xp, x, y_scale, y_zero_point, axis, saturate, block_size, output_dtype)


@ops.add("QuantizeLinear", since=23)
def quantize_linear_23(xp, x, y_scale, y_zero_point=None, *, axis=1, block_size=0, output_dtype=0, precision=0, saturate=1):
    """saturate(round(x / y_scale) + y_zero_point) in the zero point's dtype, `output_dtype`, or uint8.

    The division is done in y_scale's dtype or in `precision`. NodeError where shapes or dtypes do not fit.
    """
    return quantize_tensor(xp, x, y_scale, y_zero_point, axis, saturate, block_size, output_dtype, precision)


def quantize_tensor(
    xp: Any, x: Any, scale: Any, zero: Any, axis: int = 1, saturate: int = 1, block_size: int = 0, output_dtype: int = 0, precision: int = 0
) -> Any:
    """QuantizeLinear in its newest form."""
    dtype = named_dtype("output_dtype", output_dtype) if output_dtype else np.dtype(np.uint8)
    if zero is not None:
        if output_dtype and zero.dtype != dtype:
            raise NodeError(f"output_dtype is {dtype_name(dtype)}, but the zero point is {dtype_name(zero.dtype)}")
        dtype = zero.dtype
    view, scale, zero = spread(xp, x.shape, scale, zero, axis, block_size)
    result = quantize(xp, x.reshape(view), scale, zero, dtype, bool(saturate), named_float("precision", precision) if precision else None)
    return result.reshape(x.shape)


def _constant(xp: Any, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """The dequantized tensor where all inputs are constants and it is of moderate size."""
    if any(x is None for x in inputs) or inputs[0].size > _LARGEST_CONSTANT:
        return None
    result = dequantize_tensor(xp, *inputs, **attrs)
    result.setflags(write=False)
    return result


@ops.add("DequantizeLinear", since=10, prepare=_constant)
def dequantize_linear_10(xp, x, x_scale, x_zero_point=None, *, prepared=None):
    return dequantize_tensor(xp, x, x_scale, x_zero_point) if prepared is None else prepared


@ops.add("DequantizeLinear", since=13, prepare=_constant)
def dequantize_linear_13(xp, x, x_scale, x_zero_point=None, *, axis=1, prepared=None):
    return dequantize_tensor(xp, x, x_scale, x_zero_point, axis) if prepared is None else prepared


@ops.add("DequantizeLinear", since=21, prepare=_constant)
def dequantize_linear_21(xp, x, x_scale, x_zero_point=None, *, axis=1, block_size=0, prepared=None):
    return dequantize_tensor(xp, x, x_scale, x_zero_point, axis, block_size) if prepared is None else prepared


@ops.add("DequantizeLinear", since=23, prepare=_constant)
def dequantize_linear_23(xp, x, x_scale, x_zero_point=None, *, axis=1, block_size=0, output_dtype=0, prepared=None):
    """(x - x_zero_point) * x_scale in x_scale's dtype or `output_dtype`; NodeError where shapes do not fit."""
    return dequantize_tensor(xp, x, x_scale, x_zero_point, axis, block_size, output_dtype) if prepared is None else prepared


def dequantize_tensor(xp: Any, x: Any, scale: Any, zero: Any = None, axis: int = 1, block_size: int = 0, output_dtype: int = 0) -> Any:
    """DequantizeLinear in its newest form."""
    dtype = named_dtype("output_dtype", output_dtype) if output_dtype else scale.dtype
    view, scale, zero = spread(xp, x.shape, scale, zero, axis, block_size)
    return dequantize(xp, x.reshape(view), scale, zero, dtype).reshape(x.shape)
