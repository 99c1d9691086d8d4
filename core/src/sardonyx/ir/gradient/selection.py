"""Derivatives of what picks elements of a tensor, and of what puts elements into one.

Whatever an operator picks, applied to the elements' places it gives the places that it picked from, and there the gradient
is added up: one way for all of them.
"""

from __future__ import annotations

from sardonyx.ir.gradient.rules import Rules

__all__ = ["rules"]

rules = Rules()


@rules.unary("Compress", "DepthToSpace", "Gather", "GatherElements", "GatherND", "ReverseSequence", "Slice", "SpaceToDepth", "Tile")
def pick(t, g, x, y, **attrs):
    """g added up where it was picked from."""
    node = y.producer
    places = t.reshape(t("Range", 0, t.size(x), 1), t.shape(x))
    return t.reshape(add_at(t, t.again(node, [places, *node.inputs[1:]]), g, t.size(x)), t.shape(x))


def add_at(t, places, g, size):
    """A tensor of rank 1 with g added up at `places`, of which there are `size`; zeros elsewhere."""
    zeros = t("Expand", t.constant(0.0, g.dtype), t("Reshape", size, [1]))
    return t("ScatterElements", zeros, t("Reshape", places, [-1]), t("Reshape", g, [-1]), axis=0, reduction="add")


@rules.add("Pad")
def pad(t, node, g, x, pads, value=None, axes=None, *, mode="constant"):
    """g added up where it was copied from; what was filled in has a place of its own, after the last."""

    def sums():
        places = t.reshape(t("Range", 0, t.size(x), 1), t.shape(x))
        padded = t.again(node, [places, pads, t.size(x), axes])
        return add_at(t, padded, g, t("Add", t.size(x), 1))

    def data():
        return t.reshape(t("Slice", sums(), [0], t("Reshape", t.size(x), [1])), t.shape(x))

    def filling():
        return t.reshape_like(t("Slice", sums(), t("Reshape", t.size(x), [1]), t("Reshape", t("Add", t.size(x), 1), [1])), value)

    return data, None, filling


@rules.add("TopK", several=True)
def top_k(t, node, grads, x, k, *, axis=-1, largest=1, sorted=1):
    """g at the elements that were taken."""
    values, places = node.outputs[0], node.outputs[1] if len(node.outputs) > 1 else None
    if places is None:
        places = t.again(node, node.inputs, outputs=2)[1]
    if values is None or grads[0] is None:
        return ()
    return (lambda: t("ScatterElements", t.full(0.0, x), places, grads[0], axis=axis, reduction="add"),)


@rules.add("ScatterElements")
def scatter_elements(t, node, g, x, indices, updates, *, axis=0, reduction="none"):
    """g where x stayed, and what lies at the updates' places."""
    if reduction not in ("none", "add"):
        t.refuse(f"its reduction is {reduction!r}")

    def data():
        return g if reduction == "add" else t("ScatterElements", g, indices, t.full(0.0, updates), axis=axis)

    return data, None, lambda: t("GatherElements", g, indices, axis=axis)


@rules.add("ScatterND")
def scatter_nd(t, node, g, x, indices, updates, *, reduction="none"):
    """g where x stayed, and what lies at the updates' places."""
    if reduction not in ("none", "add"):
        t.refuse(f"its reduction is {reduction!r}")

    def data():
        return g if reduction == "add" else t("ScatterND", g, indices, t.full(0.0, updates))

    return data, None, lambda: t("GatherND", g, indices)
