"""Operators on the bits of integers; all broadcast like numpy."""

from __future__ import annotations

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError

__all__ = ["ops"]

ops = KernelSet()


@ops.add("BitShift", since=11)
def bit_shift(xp, x, y, *, direction):
    """x shifted by y bits; to the right a sign is copied. An amount negative or past the width leaves 0, or -1 of a sign."""
    if direction == "LEFT":
        return xp.left_shift(x, y)
    if direction == "RIGHT":
        return xp.right_shift(x, y)
    raise NodeError(f"BitShift: direction={direction!r}; use LEFT or RIGHT")


@ops.add("BitwiseAnd", since=18)
def bitwise_and(xp, a, b):
    return xp.bitwise_and(a, b)


@ops.add("BitwiseOr", since=18)
def bitwise_or(xp, a, b):
    return xp.bitwise_or(a, b)


@ops.add("BitwiseXor", since=18)
def bitwise_xor(xp, a, b):
    return xp.bitwise_xor(a, b)


@ops.add("BitwiseNot", since=18)
def bitwise_not(xp, x):
    return xp.invert(x)
