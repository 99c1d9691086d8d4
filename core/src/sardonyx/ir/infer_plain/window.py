"""Convolutions and pools."""

from __future__ import annotations

from typing import Any

from sardonyx.ir.graph import Node
from sardonyx.ir.infer_plain.table import Dims, Plain, Unusual, out, register, shape
from sardonyx.ir.types import Dim, ValueType

__all__ = ["types"]

types: Plain = {}


@register(types, "Conv")
def conv(node: Node) -> list[ValueType] | None:
    """One channel per filter."""
    x, w = shape(node, 0, rank=3), shape(node, 1)
    if len(w) != len(x):
        return None
    return out(node, (x[0], w[0], *_windows(node, x[2:], w[2:])))


@register(types, "AveragePool", "MaxPool")
def pool(node: Node) -> list[ValueType] | None:
    """Every channel by itself; without the indices."""
    x = shape(node, rank=3)
    if len(node.outputs) != 1:
        return None
    return out(node, (*x[:2], *_windows(node, x[2:], None)))


@register(types, "GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: Node) -> list[ValueType] | None:
    """One element per channel."""
    x = shape(node, rank=2)
    return out(node, (*x[:2], *(1 for _ in x[2:])))


@register(types, "ConvTranspose")
def conv_transpose(node: Node) -> list[ValueType] | None:
    """A channel per filter of each group."""
    x, w = shape(node, 0, rank=3), shape(node, 1)
    if len(w) != len(x) or not isinstance(w[1], int) or node.attrs.get("output_shape"):
        return None
    kernel, strides, dilations, pads = _geometry(node, len(x) - 2, w[2:])
    more = node.attrs.get("output_padding") or [0] * len(kernel)
    spatial: list[Dim] = []
    for i, size in enumerate(x[2:]):
        reach = (kernel[i] - 1) * dilations[i] + 1
        spatial.append(strides[i] * (size - 1) + more[i] + reach - pads[i] - pads[i + len(kernel)] if isinstance(size, int) else None)
    return out(node, (x[0], w[1] * node.attrs.get("group", 1), *spatial))


def _geometry(node: Node, n: int, weights: Dims | None) -> tuple[list[int], list[int], list[int], list[int]]:
    """Kernel, strides, dilations and pads for `n` dims; pads are given as numbers, or are none."""
    a = node.attrs
    kernel: Any = a.get("kernel_shape") or weights
    strides, dilations, pads = a.get("strides") or [1] * n, a.get("dilations") or [1] * n, a.get("pads")
    if a.get("auto_pad", "NOTSET") != "NOTSET" or ("auto_pad" in a and pads is None):
        raise Unusual
    pads = pads or [0] * 2 * n
    if kernel is None or not all(isinstance(k, int) for k in kernel) or min(strides, default=1) < 1:
        raise Unusual
    if (len(kernel), len(strides), len(dilations), len(pads)) != (n, n, n, 2 * n):
        raise Unusual
    return kernel, strides, dilations, pads


def _windows(node: Node, spatial: Dims, weights: Dims | None) -> list[Dim]:
    """How many windows there are along each dim; open where the dim is no number."""
    n = len(spatial)
    kernel, strides, dilations, pads = _geometry(node, n, weights)
    up = node.attrs.get("ceil_mode")
    counts: list[Dim] = []
    for i, size in enumerate(spatial):
        if not isinstance(size, int):
            counts.append(None)
            continue
        free = size + pads[i] + pads[i + n] - (kernel[i] - 1) * dilations[i] - 1
        steps = -(-free // strides[i]) if up else free // strides[i]
        # Versions differ in whether a window may begin in the pads behind.
        if steps < 0 or (up and steps * strides[i] >= size + pads[i]):
            raise Unusual
        counts.append(steps + 1)
    return counts
