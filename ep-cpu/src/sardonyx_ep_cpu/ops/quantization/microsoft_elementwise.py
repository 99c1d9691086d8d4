"""Elementwise 8-bit operators of com.microsoft, computed in float32: y = quantize(f(dequantize(x))).

Scales and zero points are one number each; an absent zero point is 0. Functions of one tensor are tables of 256 entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import normalize_axis
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.elementwise.activations import sigmoid
from sardonyx_ep_cpu.ops.elementwise.rectifiers import leaky_relu
from sardonyx_ep_cpu.ops.quantization.linear import dequantize_tensor, quantize_tensor
from sardonyx_ep_cpu.ops.quantization.one_scale import from_real, to_real

__all__ = ["ops"]

ops = KernelSet("com.microsoft")


@ops.add("QuantizeLinear")
def quantize_linear(xp, x, y_scale, y_zero_point=None, *, axis=None):
    """QuantizeLinear; without `axis` the scale must be one number."""
    return quantize_tensor(xp, x, y_scale, y_zero_point, _checked(axis, y_scale))


@ops.add("DequantizeLinear")
def dequantize_linear(xp, x, x_scale, x_zero_point=None, *, axis=None):
    """DequantizeLinear; without `axis` the scale must be one number."""
    return dequantize_tensor(xp, x, x_scale, x_zero_point, _checked(axis, x_scale))


def _checked(axis, scale):
    if axis is None and scale.size != 1:
        raise NodeError(f"a scale of shape {scale.shape} needs the attribute axis")
    return axis or 0


@ops.add("QLinearAdd")
def qlinear_add(xp, a, a_scale, a_zero_point, b, b_scale, b_zero_point, c_scale, c_zero_point=None):
    total = to_real(xp, a, a_scale, a_zero_point) + to_real(xp, b, b_scale, b_zero_point)
    return from_real(xp, total, c_scale, c_zero_point, a.dtype)


@ops.add("QLinearMul")
def qlinear_mul(xp, a, a_scale, a_zero_point, b, b_scale, b_zero_point, c_scale, c_zero_point=None):
    result = to_real(xp, a, a_scale, a_zero_point) * to_real(xp, b, b_scale, b_zero_point)
    return from_real(xp, result, c_scale, c_zero_point, a.dtype)


@ops.add("QLinearSigmoid")
def qlinear_sigmoid(xp, x, x_scale, x_zero_point, y_scale, y_zero_point=None):
    return _mapped(xp, x, x_scale, x_zero_point, y_scale, y_zero_point, lambda real: sigmoid(xp, real))


@ops.add("QLinearLeakyRelu")
def qlinear_leaky_relu(xp, x, x_scale, x_zero_point, y_scale, y_zero_point=None, *, alpha=0.009999999776482582):
    return _mapped(xp, x, x_scale, x_zero_point, y_scale, y_zero_point, lambda real: leaky_relu(xp, real, alpha=alpha))


@ops.add("QLinearConcat")
def qlinear_concat(xp, y_scale, y_zero_point, *inputs, axis):
    """Concatenate along `axis`; `inputs` are a tensor, its scale and its zero point each."""
    if not inputs or len(inputs) % 3:
        raise NodeError(f"QLinearConcat takes a scale and a zero point after each tensor, but has {len(inputs)} inputs of both")
    triples = zip(inputs[::3], inputs[1::3], inputs[2::3], strict=True)
    parts = [_requantized(xp, x, scale, zero, y_scale, y_zero_point) for x, scale, zero in triples]
    return xp.concatenate(parts, axis=normalize_axis(axis, parts[0].ndim))


@ops.add("QLinearWhere")
def qlinear_where(xp, condition, x, x_scale, x_zero_point, y, y_scale, y_zero_point, z_scale, z_zero_point):
    x = _requantized(xp, x, x_scale, x_zero_point, z_scale, z_zero_point)
    return xp.where(condition, x, _requantized(xp, y, y_scale, y_zero_point, z_scale, z_zero_point))


def _mapped(xp: Any, x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any, function: Callable[[Any], Any] | None = None) -> Any:
    codes = xp.arange(256, dtype=xp.uint8).view(x.dtype)
    real = to_real(xp, codes, x_scale, x_zero)
    table = from_real(xp, real if function is None else function(real), y_scale, y_zero, x.dtype)
    return xp.take(table, x.view(xp.uint8))


def _requantized(xp, x, x_scale, x_zero, y_scale, y_zero):
    if x_scale == y_scale and x_zero == y_zero:
        return x
    return _mapped(xp, x, x_scale, x_zero, y_scale, y_zero)
