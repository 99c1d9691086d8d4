"""Softmax and LogSoftmax written as exponentials and sums."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.passes.algebra import power
from sardonyx.passes.dims import reshape_target
from sardonyx.passes.extended.reductions import reduced_axes
from sardonyx.passes.match import attribute, axis_of, made_by, only_use, same_shape
from sardonyx.passes.rules import Edit, Outcome, constant, no, rule

__all__ = ["SOFTMAXES"]


@rule("Div", "Mul")
def fuse_softmax(node: Node, graph: Graph) -> Outcome:
    """exp(z) / sum(exp(z)) along one axis, z = x or x - max(x): Softmax."""
    for e, divisor, nodes in _quotients(node):
        exp, total = made_by(e, "Exp"), made_by(divisor, "ReduceSum")
        if exp is None or total is None or total.inputs[0] is not e:
            continue
        axis, out = _kept_axis(total), node.outputs[0]
        if axis is None or out is None:
            return no("it does not sum along one constant axis")
        x, shift = _unshifted(exp.inputs[0], axis)
        edit = Edit(node, *nodes, total, exp, *shift)
        return edit.replace(out, edit.add("Softmax", [x], {"axis": axis}, like=out))
    return None


def _quotients(node: Node) -> list[tuple[Value | None, Value | None, list[Node]]]:
    """The ways to read the node as a quotient: (dividend, divisor, nodes between)."""
    if node.op == "Div":
        return [(node.inputs[0], node.inputs[1], [])]
    found = [(node.inputs[1 - i], power(node.inputs[i], -1)) for i in (0, 1) if only_use(node.inputs[i])]
    return [(e, inverse[0], [inverse[1]]) for e, inverse in found if inverse is not None]


def _kept_axis(reduction: Node) -> int | None:
    axes = reduced_axes(reduction)
    return axes[0] if axes is not None and len(axes) == 1 and attribute(reduction, "keepdims", 1) else None


def _unshifted(z: Value | None, axis: int) -> tuple[Value | None, list[Node]]:
    """(x, nodes) where z = x - max(x) along the axis, else (z, [])."""
    sub = made_by(z, "Sub")
    top = made_by(sub.inputs[1], "ReduceMax") if sub is not None else None
    if sub is None or top is None or top.inputs[0] is not sub.inputs[0] or _kept_axis(top) != axis:
        return z, []
    return sub.inputs[0], [sub, top]


@rule("Log")
def fuse_log_of_softmax(node: Node, graph: Graph) -> Outcome:
    """log(softmax(x)): LogSoftmax."""
    softmax, out = made_by(node.inputs[0], "Softmax"), node.outputs[0]
    if softmax is None or out is None or not only_use(node.inputs[0]):
        return None
    edit = Edit(node, softmax)
    return edit.replace(out, edit.add("LogSoftmax", softmax.inputs, dict(softmax.attrs), like=out))


@rule("Sub")
def fuse_log_softmax(node: Node, graph: Graph) -> Outcome:
    """z - log(sum(exp(z))) along one axis, z = x or x - max(x): LogSoftmax."""
    z, out = node.inputs[0], node.outputs[0]
    log = made_by(node.inputs[1], "Log", "ReduceLogSumExp")
    if log is None or out is None or not only_use(node.inputs[1]):
        return None
    nodes, total = [log], log
    if log.op == "Log":
        summed = made_by(log.inputs[0], "ReduceSum")
        exp = made_by(summed.inputs[0], "Exp") if summed is not None else None
        if summed is None or exp is None:
            return None
        nodes, total = [log, summed, exp], summed
        source = exp.inputs[0]
    else:
        source = log.inputs[0]
    axis = _kept_axis(total)
    if source is not z or axis is None:
        return no("it does not sum along one constant axis, or sums something else")
    x, shift = _unshifted(z, axis)
    edit = Edit(node, *nodes, *shift)
    return edit.replace(out, edit.add("LogSoftmax", [x], {"axis": axis}, like=out))


@rule("Reshape")
def unflatten_softmax(node: Node, graph: Graph) -> Outcome:
    """Rows seen as a matrix, Softmax of each, and another view of the same rows: Softmax along the last axis of that view."""
    y, out = node.inputs[0], node.outputs[0]
    softmax = made_by(y, "Softmax", "LogSoftmax")
    rows = softmax.inputs[0] if softmax is not None else None
    view = made_by(rows, "Flatten", "Reshape")
    x = view.inputs[0] if view is not None else None
    if softmax is None or view is None or rows is None or rows.shape is None or x is None or out is None or not only_use(y):
        return None
    if axis_of(softmax, "axis", -1, len(rows.shape)) != len(rows.shape) - 1 or out.shape is None or out.shape[-1:] != rows.shape[-1:]:
        return no("it runs over several axes, or the rows are cut up")
    target = None if same_shape(x, out) else reshape_target(x.shape, out.shape)
    if target is None and not same_shape(x, out):
        return no("the shape has more than one unknown dim")
    edit = Edit(node, softmax, view)
    if target is not None:
        x = edit.add("Reshape", [x, constant(np.array(target, np.int64), "shape")], like=out)
    return edit.replace(out, edit.add(softmax.op, [x], {"axis": len(out.shape) - 1}, like=out))


SOFTMAXES = (unflatten_softmax, fuse_softmax, fuse_log_of_softmax, fuse_log_softmax)
