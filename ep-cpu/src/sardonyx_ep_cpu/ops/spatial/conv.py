"""Conv."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.spatial.conv_nd import ConvWeights, conv_nd, prepare_weights

__all__ = ["check_kernel_shape", "conv", "ops", "prepare_conv"]

ops = KernelSet()


def prepare_conv(xp: Any, inputs: list[Any], attrs: dict[str, Any]) -> ConvWeights | None:
    """`prepare` of operators with Conv's inputs and attributes."""
    return None if inputs[1] is None else prepare_weights(xp, inputs[1], attrs.get("group", 1))


def check_kernel_shape(kernel_shape: list[int] | None, w: Any) -> None:
    """Raise where the attribute contradicts W [M, C/group, *K]."""
    if kernel_shape is not None and tuple(kernel_shape) != w.shape[2:]:
        raise NodeError(f"kernel_shape {list(kernel_shape)} differs from the spatial shape {list(w.shape[2:])} of W")


@ops.add("Conv", since=1, prepare=prepare_conv)
def conv(xp, x, w, b=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None, prepared=None):
    """X [N, C, *D] with W [M, C/group, *K] -> [N, M, *out] in X's dtype."""
    check_kernel_shape(kernel_shape, w)
    return conv_nd(xp, x, w, b, strides=strides, pads=pads, dilations=dilations, auto_pad=auto_pad, group=group, prepared=prepared)
