"""Pooling, means and Softmax of 8-bit tensors of com.microsoft, computed in float32; and NhwcMaxPool."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx_ep_cpu.ops.quantization.one_scale import from_real, to_real
from sardonyx_ep_cpu.ops.softmax.softmax import softmax, softmax_1
from sardonyx_ep_cpu.ops.spatial.average_pool import average_pool
from sardonyx_ep_cpu.ops.spatial.max_pool import max_pool

__all__ = ["ops"]

ops = KernelSet("com.microsoft")


@ops.add("QLinearAveragePool")
def qlinear_average_pool(
    xp,
    x,
    x_scale,
    x_zero_point,
    y_scale,
    y_zero_point=None,
    *,
    auto_pad="NOTSET",
    ceil_mode=0,
    channels_last=0,
    count_include_pad=0,
    kernel_shape,
    pads=None,
    strides=None,
):
    """AveragePool of X [N, C, *D], or [N, *D, C] with channels_last; padding counts as real zeros if at all."""
    first = xp.moveaxis(x, -1, 1) if channels_last else x
    geometry = {"auto_pad": auto_pad, "ceil_mode": ceil_mode, "count_include_pad": count_include_pad, "pads": pads, "strides": strides}
    real = average_pool(xp, to_real(xp, first, x_scale, x_zero_point), kernel_shape=kernel_shape, **geometry)
    return _channels_back(xp, from_real(xp, real, y_scale, y_zero_point, x.dtype), channels_last)


@ops.add("QLinearGlobalAveragePool")
def qlinear_global_average_pool(xp, x, x_scale, x_zero_point, y_scale, y_zero_point, *, channels_last=0):
    """The mean over all spatial axes of X [N, C, *D], or [N, *D, C] with channels_last, which stay as axes of length 1."""
    axes = tuple(range(1, x.ndim - 1)) if channels_last else tuple(range(2, x.ndim))
    return _mean(xp, x, x_scale, x_zero_point, y_scale, y_zero_point, axes, True)


@ops.add("QLinearReduceMean")
def qlinear_reduce_mean(xp, data, data_scale, data_zero_point, reduced_scale, reduced_zero_point=None, *, axes, keepdims):
    return _mean(xp, data, data_scale, data_zero_point, reduced_scale, reduced_zero_point, tuple(axes) or None, bool(keepdims))


@ops.add("QLinearSoftmax")
def qlinear_softmax(xp, x, x_scale, x_zero_point, y_scale, y_zero_point, *, axis=-1, opset):
    """Softmax along `axis`, or, for an `opset` below 13, over everything from `axis` on."""
    real = to_real(xp, x, x_scale, x_zero_point)
    result = softmax(xp, real, axis=axis) if opset >= 13 else softmax_1(xp, real, axis=axis)
    return from_real(xp, result, y_scale, y_zero_point, x.dtype)


@ops.add("NhwcMaxPool")
def nhwc_max_pool(xp, x, *, auto_pad="NOTSET", ceil_mode=0, dilations=None, kernel_shape, pads=None, strides=None):
    """MaxPool of 8-bit X [N, *D, C] -> [N, *out, C]."""
    first = xp.moveaxis(x, -1, 1)
    geometry = {"auto_pad": auto_pad, "ceil_mode": ceil_mode, "dilations": dilations, "pads": pads, "strides": strides}
    return _channels_back(xp, max_pool(xp, first, kernel_shape=kernel_shape, **geometry)[0], 1)


def _channels_back(xp, y, channels_last):
    return xp.ascontiguousarray(xp.moveaxis(y, 1, -1)) if channels_last else y


def _mean(xp: Any, x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    real = to_real(xp, x, x_scale, x_zero).mean(axis=axes, keepdims=keepdims)
    return from_real(xp, xp.asarray(real), y_scale, y_zero, x.dtype)
