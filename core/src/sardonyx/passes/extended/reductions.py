"""Reductions that have a name of their own."""

from __future__ import annotations

import math

from sardonyx.ir.dtypes import is_float
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.passes.match import attribute, close, ints, made_by, only_use, same_shape, scalar, scalar_operand
from sardonyx.passes.rules import Edit, Outcome, no, rule

__all__ = ["IMAGE_REDUCTIONS", "REDUCTIONS", "reduced_axes"]

REDUCE = ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")


def reduced_axes(node: Node | None) -> list[int] | None:
    """The axes of a Reduce node in rising order, counted from the front; None if they are not constant."""
    if node is None or node.inputs[0] is None or node.inputs[0].rank is None:
        return None
    rank = node.inputs[0].rank
    axes = ints(node.input(1)) if node.input(1) is not None else []
    if axes is None or (not axes and attribute(node, "noop_with_empty_axes", 0)):
        return None
    return sorted(a % rank for a in axes) if axes else list(range(rank))


@rule("Mul", "Div")
def fuse_mean(node: Node, graph: Graph) -> Outcome:
    """ReduceSum divided by the number of elements it sums: ReduceMean."""
    found = scalar_operand(node)
    total = made_by(found[0], "ReduceSum") if found is not None else None
    if found is None or total is None or (node.op == "Div" and found[2] == 0) or not only_use(found[0]):
        return None
    axes, x, out = reduced_axes(total), total.inputs[0], node.outputs[0]
    if axes is None or x is None or x.shape is None or out is None or out.dtype is None or not is_float(out.dtype):
        return None
    dims = [x.shape[a] for a in axes]
    if not all(isinstance(d, int) and d > 0 for d in dims):
        return no("the number of elements is not known")
    count = math.prod(d for d in dims if isinstance(d, int))
    if not close(found[1], count if node.op == "Div" else 1 / count, out.dtype):
        return no("the factor is not one over the number of elements")
    edit = Edit(node, total)
    return edit.replace(out, edit.add("ReduceMean", total.inputs, dict(total.attrs), like=out))


@rule("Reshape", "Unsqueeze")
def keep_dims(node: Node, graph: Graph) -> Outcome:
    """A reduction without the reduced axes, which then come back as 1: a reduction that keeps them."""
    reduction, out = made_by(node.inputs[0], *REDUCE), node.outputs[0]
    axes = reduced_axes(reduction)
    x = reduction.inputs[0] if reduction is not None else None
    if reduction is None or axes is None or x is None or x.shape is None or out is None or attribute(reduction, "keepdims", 1):
        return None
    if out.shape != tuple(1 if i in axes else d for i, d in enumerate(x.shape)) or None in out.shape or not only_use(node.inputs[0]):
        return no("it gets another shape, or has another user")
    edit = Edit(node, reduction)
    return edit.replace(out, edit.add(reduction.op, reduction.inputs, {**reduction.attrs, "keepdims": 1}, like=out))


@rule("ReduceMean")
def fuse_global_pool(node: Node, graph: Graph) -> Outcome:
    """ReduceMean over all spatial axes of an image: GlobalAveragePool."""
    x, out, axes = node.inputs[0], node.outputs[0], reduced_axes(node)
    if x is None or out is None or x.rank not in (4, 5) or axes != list(range(2, x.rank)) or x.dtype is None or not is_float(x.dtype):
        return None
    edit = Edit(node)
    if attribute(node, "keepdims", 1):
        return edit.replace(out, edit.add("GlobalAveragePool", [x], like=out))
    if out.rank is None:
        return None
    pooled = edit.add("GlobalAveragePool", [x])
    return edit.replace(out, edit.add("Squeeze", [pooled, node.input(1)], like=out))


@rule("Div")
def fuse_lp_normalization(node: Node, graph: Graph) -> Outcome:
    """x / norm(x) along one axis, also with a floor of at most 1e-12 under the norm: LpNormalization."""
    x, out = node.inputs[0], node.outputs[0]
    if x is None or out is None:
        return None
    nodes: list[Node] = []
    v = node.inputs[1]
    for op in ("Expand", "Clip", "Max", "Add"):
        step = made_by(v, op)
        if step is not None and only_use(v):
            floor = _floor(step, x)
            if floor is None:
                return None
            nodes.append(step)
            v = floor
    norm = made_by(v, "ReduceL2", "ReduceL1")
    axes = reduced_axes(norm)
    if norm is None or norm.inputs[0] is not x or axes is None or len(axes) != 1 or not attribute(norm, "keepdims", 1):
        return None
    if not same_shape(x, out) or not only_use(v):
        return no("the norm has another user")
    edit = Edit(node, *nodes, norm)
    attrs = {"axis": axes[0], "p": 2 if norm.op == "ReduceL2" else 1}
    return edit.replace(out, edit.add("LpNormalization", [x], attrs, like=out))


def _floor(step: Node, x: Value) -> Value | None:
    """What Clip, Max or Add guards against zero by a tiny constant, or Expand widens; None if the constant is not tiny."""
    if step.op == "Expand":
        return step.inputs[0]
    if step.op == "Clip":
        return step.inputs[0] if step.input(2) is None and _tiny(step.input(1)) else None
    found = scalar_operand(step)
    return found[0] if found is not None and 0 <= found[1] <= 1e-12 else None


def _tiny(v: Value | None) -> bool:
    c = scalar(v)
    return c is not None and 0 <= c <= 1.0001e-12


REDUCTIONS = (fuse_mean, keep_dims, fuse_lp_normalization)
IMAGE_REDUCTIONS = (fuse_global_pool,)
