"""What the engine takes of quantized operators."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx_ep_native.claims import DTYPES, F32, NARROW, add, dtypes, named_dtype

_HALVES = (DTYPES[0], DTYPES[2], DTYPES[3])
_INT32 = np.dtype("i4")
_BYTES = (np.dtype("i1"), np.dtype("u1"))
_SMALL = (*_BYTES, np.dtype("i2"), np.dtype("u2"))


def _output(node: Node, allowed: tuple[np.dtype, ...]) -> str | None:
    y = node.outputs[0]
    return None if y is None or y.dtype in allowed else f"its output is {y.dtype}"


@add("QuantizeLinear", since=10)
def quantize(node: Node) -> str | None:
    """To 8- and 16-bit integers."""
    types = named_dtype(node, "precision", _HALVES) or named_dtype(node, "output_dtype", _SMALL)
    return types or dtypes(node, (*_HALVES, _INT32)) or dtypes(node, _HALVES, (1,)) or dtypes(node, _SMALL, (2,)) or _output(node, _SMALL)


@add("DequantizeLinear", since=10)
def dequantize(node: Node) -> str | None:
    """From 8- and 16-bit integers and int32, and from constants of fewer bits."""
    types = dtypes(node, (*_SMALL, _INT32, *NARROW), (0, 2)) or dtypes(node, _HALVES, (1,))
    return types or named_dtype(node, "output_dtype", _HALVES) or _output(node, _HALVES)


@add("DynamicQuantizeLinear", since=11)
def dynamic_quantize(node: Node) -> str | None:
    """float32 to uint8."""
    return dtypes(node, F32)


@add("MatMulInteger", since=10)
def matmul_integer(node: Node) -> str | None:
    """8-bit integers."""
    return dtypes(node, _BYTES, (0, 1, 2, 3))


@add("QLinearMatMul", since=10)
def qlinear_matmul(node: Node) -> str | None:
    """8-bit integers with scales of one type."""
    scales = [node.inputs[i] for i in (1, 4, 6)]
    if len({s.dtype for s in scales if s is not None}) > 1:
        return "its scales are of different types"
    return dtypes(node, _BYTES, (0, 2, 3, 5, 7)) or dtypes(node, _HALVES, (1,))


def _spatial(node: Node) -> str | None:
    x = node.inputs[0]
    if x is not None and x.rank is not None and not 3 <= x.rank <= 5:
        return f"its input has rank {x.rank}; the engine takes one to three spatial axes"
    return None


@add("ConvInteger", since=10)
def conv_integer(node: Node) -> str | None:
    """8-bit integers on up to three axes."""
    return dtypes(node, _BYTES, (0, 1, 2, 3)) or _spatial(node)


@add("QLinearConv", since=10)
def qlinear_conv(node: Node) -> str | None:
    """8-bit integers on up to three axes, scales of float32."""
    return dtypes(node, _BYTES, (0, 2, 3, 5, 7)) or dtypes(node, F32, (1, 4, 6)) or dtypes(node, (_INT32,), (8,)) or _spatial(node)
