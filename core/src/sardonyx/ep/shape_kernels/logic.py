"""Comparisons, boolean operators, Where and Identity; all broadcast like numpy."""

from __future__ import annotations

from sardonyx.ep.kernels import KernelSet

__all__ = ["ops"]

ops = KernelSet()


@ops.add("Equal", since=7)
def equal(xp, a, b):
    """Whether a == b: numbers, bool or strings; NaN equals nothing."""
    return xp.equal(a, b)


@ops.add("Greater", since=7)
def greater(xp, a, b):
    return xp.greater(a, b)


@ops.add("Less", since=7)
def less(xp, a, b):
    return xp.less(a, b)


@ops.add("GreaterOrEqual", since=12)
def greater_or_equal(xp, a, b):
    return xp.greater_equal(a, b)


@ops.add("LessOrEqual", since=12)
def less_or_equal(xp, a, b):
    return xp.less_equal(a, b)


@ops.add("And", since=7)
def and_(xp, a, b):
    return xp.logical_and(a, b)


@ops.add("Or", since=7)
def or_(xp, a, b):
    return xp.logical_or(a, b)


@ops.add("Xor", since=7)
def xor(xp, a, b):
    return xp.logical_xor(a, b)


@ops.add("Not")
def not_(xp, x):
    return xp.logical_not(x)


@ops.add("Where", since=9)
def where(xp, condition, x, y):
    """x where the condition holds, else y; any dtype."""
    return xp.where(condition, x, y)


@ops.add("Identity")
def identity(xp, x):
    """The input itself: a tensor, sequence, map or optional."""
    return x
