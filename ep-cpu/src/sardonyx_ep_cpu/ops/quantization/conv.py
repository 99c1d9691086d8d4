"""ConvInteger and QLinearConv, the latter also of com.microsoft."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx_ep_cpu.ops.quantization.integer_conv import EXACT, IntegerKernel, integer_conv, kernel_of, prepare_kernel
from sardonyx_ep_cpu.ops.quantization.rounding import requantize, saturate
from sardonyx_ep_cpu.ops.spatial.conv import check_kernel_shape

__all__ = ["ops"]

ops = KernelSet()


@ops.add("ConvInteger", since=10, prepare=prepare_kernel(1, 3))
def conv_integer(
    xp,
    x,
    w,
    x_zero_point=None,
    w_zero_point=None,
    *,
    auto_pad="NOTSET",
    dilations=None,
    group=1,
    kernel_shape=None,
    pads=None,
    strides=None,
    prepared=None,
):
    """Conv of x - x_zero_point [N, C, *D] and w - w_zero_point [M, C/group, *K] (8 bits) in int32, exact modulo 2**32.

    w's zero point is one number or one per output channel.
    """
    check_kernel_shape(kernel_shape, w)
    kernel = kernel_of(xp, w, w_zero_point, group, prepared)
    geometry = {"auto_pad": auto_pad, "dilations": dilations, "pads": pads, "strides": strides}
    return _int32(xp, integer_conv(xp, x, _scalar(x_zero_point), kernel, group, **geometry))


@ops.add("QLinearConv", since=10, prepare=prepare_kernel(3, 5))
def qlinear_conv(
    xp,
    x,
    x_scale,
    x_zero_point,
    w,
    w_scale,
    w_zero_point,
    y_scale,
    y_zero_point,
    b=None,
    *,
    auto_pad="NOTSET",
    dilations=None,
    group=1,
    kernel_shape=None,
    pads=None,
    strides=None,
    prepared=None,
):
    """Conv of dequantized x [N, C, *D] and w [M, C/group, *K], plus b, quantized to y_zero_point's dtype.

    b [M] is int32 with scale x_scale * w_scale. w's and y's scales and zero points are one number or one per output channel.
    """
    check_kernel_shape(kernel_shape, w)
    kernel = kernel_of(xp, w, w_zero_point, group, prepared)
    geometry = {"auto_pad": auto_pad, "dilations": dilations, "pads": pads, "strides": strides}
    return _qlinear_conv(xp, x, x_scale, x_zero_point, kernel, w_scale, y_scale, y_zero_point, b, group, geometry)


@ops.add("QLinearConv", domain="com.microsoft", prepare=prepare_kernel(3, 5))
def qlinear_conv_nhwc(
    xp,
    x,
    x_scale,
    x_zero_point,
    w,
    w_scale,
    w_zero_point,
    y_scale,
    y_zero_point,
    b=None,
    *,
    auto_pad="NOTSET",
    channels_last=0,
    dilations=None,
    group=1,
    kernel_shape=None,
    pads=None,
    strides=None,
    prepared=None,
):
    """QLinearConv whose x and y are [N, *D, C] if channels_last is set; w stays [M, C/group, *K]."""
    check_kernel_shape(kernel_shape, w)
    kernel = kernel_of(xp, w, w_zero_point, group, prepared)
    geometry = {"auto_pad": auto_pad, "dilations": dilations, "pads": pads, "strides": strides}
    x = xp.moveaxis(x, -1, 1) if channels_last else x
    y = _qlinear_conv(xp, x, x_scale, x_zero_point, kernel, w_scale, y_scale, y_zero_point, b, group, geometry)
    return xp.ascontiguousarray(xp.moveaxis(y, 1, -1)) if channels_last else y


def _qlinear_conv(xp, x, x_scale, x_zero, kernel: IntegerKernel, w_scale, y_scale, y_zero, b, group: int, geometry: dict[str, Any]) -> Any:
    dtype = y_zero.dtype
    multiplier = _per_channel(x_scale * w_scale / y_scale, group)
    zero = _per_channel(y_zero, group)
    if len(kernel.parts) == 1 and (b is None or float(xp.max(xp.abs(b), initial=0)) < EXACT):
        bias = None if b is None else b.reshape(group, -1, 1)

        def finish(block: Any, index: tuple[slice, ...]) -> None:
            if bias is not None:
                block += bias[index[1]]
            block *= multiplier if multiplier.ndim == 0 else multiplier[index[1]]
            saturate(xp, block, zero if zero.ndim == 0 else zero[index[1]], dtype)

        return integer_conv(xp, x, _scalar(x_zero), kernel, group, finish, **geometry).astype(dtype)
    total = _int32(xp, integer_conv(xp, x, _scalar(x_zero), kernel, group, **geometry))
    blocks = total.reshape(total.shape[0], group, total.shape[1] // group, -1)
    if b is not None:
        blocks += b.reshape(group, -1, 1)
    return requantize(xp, blocks, multiplier, zero, dtype).reshape(total.shape)


def _int32(xp: Any, total: Any) -> Any:
    return (total.astype(xp.int64) if total.dtype == xp.float64 else total).astype(xp.int32, copy=False)


def _scalar(zero: Any) -> Any:
    return None if zero is None else zero.reshape(())


def _per_channel(parameter: Any, group: int) -> Any:
    """One number as a scalar, one per output channel as [group, M/group, 1]."""
    return parameter.reshape(()) if parameter.size == 1 else parameter.reshape(group, -1, 1)
