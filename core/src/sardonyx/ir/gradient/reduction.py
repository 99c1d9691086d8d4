"""Derivatives of reductions."""

from __future__ import annotations

from sardonyx.ir.gradient.rules import Rules

__all__ = ["rules"]

rules = Rules()


def spread(t, g, axes, keepdims):
    """g with the reduced axes as dims of 1; a scalar where all were reduced."""
    if keepdims or axes is None or (axes.const is not None and not axes.const.numpy().size):
        return g
    return t("Unsqueeze", g, axes)


def expand(t, g, x):
    """g in the shape of x."""
    return t("Expand", g, t.shape(x))


@rules.add("ReduceSum")
def reduce_sum(t, node, g, x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """g for every element of the sum."""
    return (lambda: expand(t, spread(t, g, axes, keepdims), x),)


@rules.add("ReduceMean")
def reduce_mean(t, node, g, x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """g for every element, divided by how many there are."""

    def share():
        count = t("Div", t.size(x), t("Max", t.size(node.outputs[0]), 1))
        return expand(t, spread(t, t("Div", g, t.cast(count, g)), axes, keepdims), x)

    return (share,)


@rules.add("ReduceMax", "ReduceMin")
def reduce_max(t, node, g, x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """g for the largest (smallest) element, shared where there are several."""

    def share():
        best = t.cast(t("Equal", x, spread(t, node.outputs[0], axes, keepdims)), x)
        count = t("ReduceSum", best, axes, keepdims=1, noop_with_empty_axes=noop_with_empty_axes)
        return t("Mul", best, t("Div", spread(t, g, axes, keepdims), count))

    return (share,)


@rules.add("ReduceL2")
def reduce_l2(t, node, g, x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """g x / y, and 0 where y is."""

    def weighted():
        y = spread(t, node.outputs[0], axes, keepdims)
        return t("Mul", t("Div", x, t("Where", t("Equal", y, 0.0), 1.0, y)), spread(t, g, axes, keepdims))

    return (weighted,)


@rules.add("ReduceLogSumExp")
def reduce_log_sum_exp(t, node, g, x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    """g exp(x - y)."""

    def weighted():
        y = spread(t, node.outputs[0], axes, keepdims)
        return t("Mul", t("Exp", t("Sub", x, y)), spread(t, g, axes, keepdims))

    return (weighted,)
