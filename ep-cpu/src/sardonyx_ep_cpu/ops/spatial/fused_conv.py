"""com.microsoft's FusedConv and SampleOp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.elementwise.special import logistic
from sardonyx_ep_cpu.ops.spatial.conv import check_kernel_shape, prepare_conv
from sardonyx_ep_cpu.ops.spatial.conv_nd import conv_nd
from sardonyx_ep_cpu.precision import widen

__all__ = ["fused_conv", "ops"]

ops = KernelSet("com.microsoft")


def _leaky_relu(xp: Any, y: Any, alpha: float = 0.01) -> None:
    xp.copyto(y, y * y.dtype.type(alpha), where=y < 0)


def _hard_sigmoid(xp: Any, y: Any, alpha: float = 0.2, beta: float = 0.5) -> None:
    y *= y.dtype.type(alpha)
    y += y.dtype.type(beta)
    xp.clip(y, 0, 1, out=y)


_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "Relu": lambda xp, y: xp.clip(y, 0, None, out=y),
    "Sigmoid": lambda xp, y: logistic(xp, y, y),
    "Tanh": lambda xp, y: xp.tanh(y, out=y),
    "LeakyRelu": _leaky_relu,
    "Clip": lambda xp, y, low, high: xp.clip(y, y.dtype.type(low), y.dtype.type(high), out=y),
    "HardSigmoid": _hard_sigmoid,
}


@ops.add("FusedConv", prepare=prepare_conv)
def fused_conv(
    xp,
    x,
    w,
    b=None,
    z=None,
    *,
    activation="",
    activation_params=None,
    auto_pad="NOTSET",
    dilations=None,
    group=1,
    kernel_shape=None,
    pads=None,
    strides=None,
    prepared=None,
):
    """activation(Conv(X, W, B) + Z), with Z of the result's shape and activation Relu, Sigmoid, Tanh, LeakyRelu, Clip or HardSigmoid."""
    check_kernel_shape(kernel_shape, w)
    if activation and activation not in _ACTIVATIONS:
        raise NodeError(f"activation {activation!r} of FusedConv is none of {', '.join(_ACTIVATIONS)}")
    params = activation_params or ()
    addend = widen(z)

    def finish(block: Any, index: tuple[slice, ...]) -> None:
        if addend is not None:
            block += addend.reshape(addend.shape[0], group, addend.shape[1] // group, -1)[index]
        if activation:
            _ACTIVATIONS[activation](xp, block, *params)

    return conv_nd(
        xp,
        x,
        w,
        b,
        strides=strides,
        pads=pads,
        dilations=dilations,
        auto_pad=auto_pad,
        group=group,
        prepared=prepared,
        finish=finish,
    )


@ops.add("SampleOp")
def sample_op(xp, x):
    """X itself."""
    return x
