"""Convolutions, pools and samplings: ONNX's operators behind another layout or name."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx.ir.infer_contrib.table import Contrib, dims, dtype, register, same, standard, tensor
from sardonyx.ir.types import Shape, TensorType, ValueType

__all__ = ["types"]

types: Contrib = {}


def channels_first(shape: Shape) -> Shape:
    """[N, ..., C] as [N, C, ...]."""
    return None if shape is None else (shape[0], shape[-1], *shape[1:-1])


def channels_last(shape: Shape) -> Shape:
    """[N, C, ...] as [N, ..., C]."""
    return None if shape is None else (shape[0], *shape[2:], shape[1])


def _only(attrs: dict[str, Any], *names: str) -> dict[str, Any]:
    return {k: v for k, v in attrs.items() if k in names}


CONV = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
POOL = ("auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides")


def _pool(op: str, since: int, node: Node, nhwc: bool) -> list[ValueType]:
    x = dims(node, 0)
    data = tensor(np.dtype(np.float32), channels_first(x) if nhwc else x)
    found = standard(op, [data], since, **_only(node.attrs, *POOL))
    shape = found[0].shape if isinstance(found[0], TensorType) else None
    return [tensor(dtype(node, 0), channels_last(shape) if nhwc else shape)]


@register(types, "FusedConv")
def fused_conv(node: Node) -> list[ValueType]:
    """Conv."""
    return standard("Conv", [same(node), same(node, 1)], 11, **_only(node.attrs, *CONV))


@register(types, "NhwcFusedConv", "NhwcConv")
def nhwc_fused_conv(node: Node) -> list[ValueType]:
    """Conv of data with its channels last."""
    found = standard("Conv", [tensor(dtype(node, 0), channels_first(dims(node, 0))), same(node, 1)], 11, **_only(node.attrs, *CONV))
    return [tensor(dtype(node, 0), channels_last(found[0].shape))] if isinstance(found[0], TensorType) else []


@register(types, "QLinearConv")
def q_linear_conv(node: Node) -> list[ValueType]:
    """QLinearConv of ONNX, with the channels perhaps last."""
    nhwc = node.attrs.get("channels_last", 0)
    x = channels_first(dims(node, 0)) if nhwc else dims(node, 0)
    floats = dtype(node, 1)
    found = standard("Conv", [tensor(floats, x), tensor(floats, dims(node, 3))], 11, **_only(node.attrs, *CONV))
    shape = found[0].shape if isinstance(found[0], TensorType) else None
    return [tensor(dtype(node, 7), channels_last(shape) if nhwc else shape)]


@register(types, "NhwcMaxPool")
def nhwc_max_pool(node: Node) -> list[ValueType]:
    """MaxPool of data with its channels last."""
    return _pool("MaxPool", 12, node, True)


@register(types, "QLinearAveragePool")
def q_linear_average_pool(node: Node) -> list[ValueType]:
    """AveragePool, with the channels perhaps last."""
    return _pool("AveragePool", 10, node, bool(node.attrs.get("channels_last", 0)))


@register(types, "QLinearGlobalAveragePool")
def q_linear_global_average_pool(node: Node) -> list[ValueType]:
    """Spatial dims become 1."""
    x = dims(node, 0)
    if x is None:
        return [tensor(dtype(node, 0), None)]
    ones = (1,) * (len(x) - 2)
    return [tensor(dtype(node, 0), (x[0], *ones, x[-1]) if node.attrs.get("channels_last", 0) else (*x[:2], *ones))]


@register(types, "GridSample")
def grid_sample(node: Node) -> list[ValueType]:
    """[N, C, height and width of the grid]."""
    x, grid = dims(node, 0), dims(node, 1)
    return [tensor(dtype(node, 0), None if x is None or grid is None else (*x[:2], *grid[1:-1]))]


@register(types, "CropAndResize")
def crop_and_resize(node: Node) -> list[ValueType]:
    """[number of regions, C, crop height, crop width]."""
    x, rois, size = dims(node, 0), dims(node, 1), node.const(3)
    crop = (None, None) if size is None else tuple(int(s) for s in size.reshape(-1))
    return [tensor(dtype(node, 0), (None if rois is None else rois[0], None if x is None else x[1], *crop))]
