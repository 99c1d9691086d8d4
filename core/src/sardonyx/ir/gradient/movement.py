"""Derivatives of what changes shapes, joins and repeats."""

from __future__ import annotations

from functools import cache

from sardonyx.ir.gradient.rules import Rules

__all__ = ["rules"]

rules = Rules()


@rules.unary("Flatten", "Reshape", "Squeeze", "Unsqueeze")
def reshape(t, g, x, y, **attrs):
    """g in the shape of x."""
    return t.reshape_like(g, x)


@rules.unary("Transpose")
def transpose(t, g, x, y, *, perm=None):
    """g in the order of x."""
    return t("Transpose", g) if perm is None else t("Transpose", g, perm=[perm.index(i) for i in range(len(perm))])


@rules.add("Expand", broadcasts=True)
def expand(t, node, g, x, shape):
    """g, summed to the shape of x."""
    return (lambda: g,)


@rules.add("Concat")
def concat(t, node, g, *parts, axis):
    """The parts of g."""
    sizes = [t.shape(x, axis, axis + 1 or None) for x in parts]

    @cache
    def split():
        return t("Split", g, t.ints(*sizes), outputs=len(parts), axis=axis) if len(parts) > 1 else (g,)

    return [lambda i=i: split()[i] for i in range(len(parts))]


@rules.add("Split", several=True)
def split(t, node, grads, x, sizes=None, *, axis=0, num_outputs=None):
    """All g joined, zeros for a part that has none."""
    if None in node.outputs:
        t.refuse("one of its outputs is not wanted")
    parts = zip(grads, node.outputs, strict=True)
    return (lambda: t("Concat", *(t.full(0.0, y) if g is None else g for g, y in parts), axis=axis),)


@rules.unary("Trilu")
def trilu(t, g, x, y, **attrs):
    """The triangle of g."""
    return t.again(y.producer, [g, *y.producer.inputs[1:]])


@rules.add("CumSum")
def cum_sum(t, node, g, x, axis, *, exclusive=0, reverse=0):
    """Summed the other way."""
    return (lambda: t("CumSum", g, axis, exclusive=exclusive, reverse=1 - reverse),)
