"""Activations of com.microsoft, most of them with a bias: Gelu, BiasGelu, FastGelu, QuickGelu, BiasSplitGelu, BiasAdd."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.elementwise.activations import gelu as standard_gelu
from sardonyx_ep_cpu.ops.elementwise.activations import swish
from sardonyx_ep_cpu.precision import widen

ops = KernelSet("com.microsoft")


@ops.add("Gelu")
def gelu(xp: Any, x: Any) -> Any:
    """x Φ(x), Φ the normal distribution function."""
    return standard_gelu(xp, x)


@ops.add("BiasGelu")
def bias_gelu(xp: Any, a: Any, b: Any) -> Any:
    """Gelu of a + b, b of shape (a.shape[-1],)."""
    return standard_gelu(xp, _biased(xp, a, b)).astype(a.dtype, copy=False)


@ops.add("FastGelu")
def fast_gelu(xp: Any, x: Any, bias: Any = None) -> Any:
    """Gelu of x + bias by the tanh formula."""
    return standard_gelu(xp, x if bias is None else _biased(xp, x, bias), approximate="tanh").astype(x.dtype, copy=False)


@ops.add("QuickGelu")
def quick_gelu(xp: Any, x: Any, *, alpha: float = 1.7020000219345093) -> Any:
    """x sigmoid(alpha x)."""
    return swish(xp, x, alpha=alpha)


@ops.add("BiasSplitGelu")
def bias_split_gelu(xp: Any, x: Any, bias: Any) -> Any:
    """left * Gelu(right), where left and right are the halves of x + bias along the last axis."""
    y = _biased(xp, x, bias)
    half, odd = divmod(y.shape[-1], 2)
    if odd:
        raise NodeError(f"the last dimension of shape {x.shape} must be even")
    return (y[..., :half] * standard_gelu(xp, y[..., half:])).astype(x.dtype, copy=False)


@ops.add("BiasAdd")
def bias_add(xp: Any, x: Any, bias: Any, skip: Any) -> Any:
    """x + bias + skip; x and skip (N, S, C), bias (C,)."""
    y = _biased(xp, x, bias)
    y += widen(skip)
    return y.astype(x.dtype, copy=False)


def _biased(xp: Any, x: Any, bias: Any) -> Any:
    """x + bias, in float32 for half precision; a new array."""
    if bias.shape != x.shape[-1:]:
        raise NodeError(f"the bias has shape {bias.shape}, but an input of shape {x.shape} needs {x.shape[-1:]}")
    return widen(x) + widen(bias)
