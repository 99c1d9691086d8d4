"""The binary operators before opset 7: the second operand broadcasts to the first only where `broadcast` is set.

With `axis`, the second operand's dimensions begin at that axis of the first, otherwise they are its last ones; an operand
of one element fits everywhere. Anything else raises NodeError. `consumed_inputs` is a permission that is not used.
"""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.ep.shape_kernels import arithmetic, logic
from sardonyx.errors import NodeError

__all__ = ["ops"]

ops = KernelSet()


def _aligned(a: Any, b: Any, axis: int | None, broadcast: int) -> Any:
    """b with trailing dimensions of 1, so that numpy's rule broadcasts it to a."""
    if a.shape == b.shape:
        return b
    if broadcast:
        if b.size == 1 and b.ndim <= a.ndim:
            return b.reshape(())
        start = a.ndim - b.ndim if axis is None else axis + (a.ndim if axis < 0 else 0)
        end = start + b.ndim
        if start >= 0 and end <= a.ndim and all(m in (1, n) for m, n in zip(b.shape, a.shape[start:end], strict=True)):
            return b.reshape(b.shape + (1,) * (a.ndim - end))
    raise NodeError(f"shapes {a.shape} and {b.shape} do not fit with broadcast={broadcast}, axis={axis} (before opset 7)")


def _limited(function):
    def run(xp, a, b, *, axis=None, broadcast=0):
        return function(xp, a, _aligned(a, b, axis, broadcast))

    return run


def _consuming(function):
    def run(xp, a, b, *, axis=None, broadcast=0, consumed_inputs=None):
        return function(xp, a, _aligned(a, b, axis, broadcast))

    return run


ops.add("Add", since=1)(_consuming(arithmetic.add))
ops.add("Add", since=6)(_limited(arithmetic.add))
ops.add("Sub", since=1)(_consuming(arithmetic.sub))
ops.add("Sub", since=6)(_limited(arithmetic.sub))
ops.add("Mul", since=1)(_consuming(arithmetic.mul))
ops.add("Mul", since=6)(_limited(arithmetic.mul))
ops.add("Div", since=1)(_consuming(arithmetic.div))
ops.add("Div", since=6)(_limited(arithmetic.div))
ops.add("Pow", since=1)(_limited(arithmetic.pow_))
ops.add("Equal", since=1)(_limited(logic.equal))
ops.add("Greater", since=1)(_limited(logic.greater))
ops.add("Less", since=1)(_limited(logic.less))
ops.add("And", since=1)(_limited(logic.and_))
ops.add("Or", since=1)(_limited(logic.or_))
ops.add("Xor", since=1)(_limited(logic.xor))
