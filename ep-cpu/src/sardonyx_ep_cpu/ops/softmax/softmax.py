"""Softmax, LogSoftmax and Hardmax.

Up to opset 12 the input is coerced into a matrix: everything from `axis` on is one row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import normalize_axis
from sardonyx_ep_cpu.ops.rows import row_sums
from sardonyx_ep_cpu.precision import widen

__all__ = ["log_softmax", "softmax"]

ops = KernelSet()

_FLOAT16_MAX = 65504


@ops.add("Softmax", since=13)
def softmax(xp: Any, x: Any, *, axis: int = -1) -> Any:
    """exp(x) / sum(exp(x)) along `axis`; x of any float dtype. A scalar gives 1.

    In float16 the exponentials and their sum are rounded, as in the operator's function body, unless the sum might overflow.
    """
    if not x.size or not x.ndim:
        return xp.ones_like(x)
    axis = normalize_axis(axis, x.ndim)
    y = widen(x)
    y = y - y.max(axis=axis, keepdims=True)
    xp.exp(y, out=y)
    if x.dtype == xp.float16 and x.shape[axis] <= _FLOAT16_MAX:
        y = y.astype(x.dtype)
        return y / y.sum(axis=axis, keepdims=True, dtype=xp.float32).astype(x.dtype)
    y /= _sums(xp, y, axis)
    return y if y.dtype == x.dtype else y.astype(x.dtype)


@ops.add("LogSoftmax", since=13)
def log_softmax(xp: Any, x: Any, *, axis: int = -1) -> Any:
    """x - log(sum(exp(x))) along `axis`, without overflow; x of any float dtype. A scalar gives 0."""
    if not x.size or not x.ndim:
        return xp.zeros_like(x)
    axis = normalize_axis(axis, x.ndim)
    y = widen(x)
    y = y - y.max(axis=axis, keepdims=True)
    y -= xp.log(_sums(xp, xp.exp(y), axis))
    return y if y.dtype == x.dtype else y.astype(x.dtype)


@ops.add("Hardmax", since=13)
def hardmax(xp: Any, x: Any, *, axis: int = -1) -> Any:
    """1 at the first maximum along `axis`, 0 elsewhere; NaN counts as greatest. A scalar gives 1."""
    if not x.size or not x.ndim:
        return xp.ones_like(x)
    axis = normalize_axis(axis, x.ndim)
    winner = xp.expand_dims(xp.argmax(widen(x), axis=axis), axis)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    return (xp.arange(x.shape[axis]).reshape(shape) == winner).astype(x.dtype)


def _sums(xp: Any, y: Any, axis: int) -> Any:
    return row_sums(xp, y) if axis == y.ndim - 1 else y.sum(axis=axis, keepdims=True)


def _on_matrix(xp: Any, function: Callable[..., Any], x: Any, axis: int) -> Any:
    """Apply a last-axis function to x seen as the matrix (dims before `axis`, dims from `axis` on)."""
    rows = math.prod(x.shape[: normalize_axis(axis, x.ndim)]) if x.ndim else 1
    return function(xp, x.reshape(rows, x.size // rows if rows else 0)).reshape(x.shape)


@ops.add("Softmax", since=1)
def softmax_1(xp: Any, x: Any, *, axis: int = 1) -> Any:
    """Softmax over everything from `axis` on, jointly."""
    return _on_matrix(xp, softmax, x, axis)


@ops.add("LogSoftmax", since=1)
def log_softmax_1(xp: Any, x: Any, *, axis: int = 1) -> Any:
    """LogSoftmax over everything from `axis` on, jointly."""
    return _on_matrix(xp, log_softmax, x, axis)


@ops.add("Hardmax", since=1)
def hardmax_1(xp: Any, x: Any, *, axis: int = 1) -> Any:
    """Hardmax over everything from `axis` on, jointly."""
    return _on_matrix(xp, hardmax, x, axis)
