"""Derivatives of pools."""

from __future__ import annotations

from sardonyx.ir.gradient.convolution import geometry, input_gradient
from sardonyx.ir.gradient.rules import Rules
from sardonyx.ir.gradient.selection import add_at

__all__ = ["rules"]

rules = Rules()


@rules.unary("MaxPool")
def max_pool(t, g, x, y, **attrs):
    """g at the first largest element of each window."""
    node = y.producer
    places = t.again(node, node.inputs, outputs=2, storage_order=0)[1]
    return t.reshape(add_at(t, places, g, t.size(x)), t.shape(x))


@rules.unary("AveragePool")
def average_pool(t, g, x, y, *, kernel_shape, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0, dilations=None, pads=None, strides=None):
    """g, divided by how many elements count, for each element of the window: channel by channel, a convolution with ones."""
    if ceil_mode:
        t.refuse("its ceil_mode is 1")
    geo = geometry(t, x, kernel_shape, auto_pad, dilations, pads, strides)
    ones = t("Expand", t.constant(1.0, x.dtype), [1, 1, *kernel_shape])
    dims = t.shape(x, 2)
    planes = t.reshape(g, t.ints([-1, 1], t.shape(g, 2)))
    if any(geo.pads) and not count_include_pad:
        count = t("Conv", t("Expand", t.constant(1.0, x.dtype), t.ints([1, 1], dims)), ones, **geo.attrs)
    else:
        count = t("ReduceSum", ones, keepdims=0)
    return t.reshape_like(input_gradient(t, t("Div", planes, count), x, ones, geo, dims=dims), x)


@rules.compose("GlobalAveragePool")
def global_average_pool(t, x):
    """The mean of each channel."""
    return (t("ReduceMean", x, list(range(2, t.rank(x)))),)


@rules.compose("GlobalMaxPool")
def global_max_pool(t, x):
    """The maximum of each channel."""
    return (t("ReduceMax", x, list(range(2, t.rank(x)))),)
