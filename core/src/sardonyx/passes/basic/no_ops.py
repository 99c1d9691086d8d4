"""Nodes that do nothing go."""

from __future__ import annotations

import math

import numpy as np

from sardonyx.ir.dtypes import FROM_ONNX, to_onnx
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.passes.match import attribute, axis_of, broadcasts_into, ints, same_shape, scalar_operand
from sardonyx.passes.rules import Edit, Outcome, no, rule

__all__ = ["NO_OPS"]

HUGE = 2**31 - 1


def _bypass(node: Node, to: Value | None) -> Outcome:
    out = node.outputs[0]
    return Edit(node).replace(out, to) if out is not None and to is not None else None


@rule("Identity", "Sum", "Max", "Min", "Mean", "Concat")
def drop_identity(node: Node, graph: Graph) -> Outcome:
    """Identity, and variadic operators of one input."""
    x = node.inputs[0]
    if len(node.inputs) != 1 or x is None:
        return None
    if node.op == "Concat" and (x.rank is None or not -x.rank <= node.attrs.get("axis", 0) < x.rank):
        return no("whether the axis is one of its input's is not known")
    return _bypass(node, x)


@rule("Dropout")
def drop_dropout(node: Node, graph: Graph) -> Outcome:
    """Dropout while not training, where nobody reads the mask."""
    training = node.input(2)
    if training is not None and (training.const is None or training.const.numpy().any()):
        return no("it may be training")
    mask = node.outputs[1] if len(node.outputs) > 1 else None
    if mask is not None and (mask.uses or mask in graph.outputs):
        return no("its mask is used")
    return _bypass(node, node.inputs[0])


@rule("Cast", "CastLike")
def drop_cast(node: Node, graph: Graph) -> Outcome:
    """Cast to the dtype the tensor has; CastLike to a known dtype is a Cast."""
    x = node.inputs[0]
    if node.op == "Cast":
        return _bypass(node, x) if x is not None and x.dtype is not None and x.dtype == FROM_ONNX.get(node.attrs["to"]) else None
    target, out = node.inputs[1].dtype if node.inputs[1] is not None else None, node.outputs[0]
    if target is None or out is None or target.kind == "O":
        return None
    edit = Edit(node)
    attrs = {k: v for k, v in node.attrs.items() if k in ("saturate", "round_mode")}
    return edit.replace(out, edit.add("Cast", [x], {"to": to_onnx(target), **attrs}, like=out))


@rule("Reshape", "Flatten", "Expand", "Squeeze")
def drop_same_view(node: Node, graph: Graph) -> Outcome:
    """A view or Expand whose result has its input's shape."""
    x, out = node.inputs[0], node.outputs[0]
    return _bypass(node, x) if x is not None and out is not None and same_shape(x, out) else None


@rule("Transpose")
def drop_transpose(node: Node, graph: Graph) -> Outcome:
    """Transpose in the order the axes have."""
    perm, x = node.attrs.get("perm"), node.inputs[0]
    if perm is None:
        return _bypass(node, x) if x is not None and x.rank is not None and x.rank <= 1 else None
    fits = x is not None and x.rank in (None, len(perm))
    return _bypass(node, x) if fits and list(perm) == list(range(len(perm))) else None


@rule("Slice")
def drop_slice(node: Node, graph: Graph) -> Outcome:
    """Slice that takes everything."""
    x, starts, ends = node.inputs[0], ints(node.inputs[1]), ints(node.inputs[2])
    axes = ints(node.input(3)) if node.input(3) is not None else None if starts is None else list(range(len(starts)))
    steps = ints(node.input(4)) if node.input(4) is not None else []
    if x is None or starts is None or ends is None or axes is None or steps is None or any(s != 1 for s in steps):
        return None
    if len(starts) != len(ends) or len(starts) != len(axes):
        return None
    for start, end, axis in zip(starts, ends, axes, strict=True):
        dim = x.shape[axis] if x.shape is not None and -len(x.shape) <= axis < len(x.shape) else None
        if start != 0 or not (end >= HUGE or (isinstance(dim, int) and end >= dim)):
            return None
    return _bypass(node, x)


@rule("Pad", "Tile")
def drop_pad_or_tile(node: Node, graph: Graph) -> Outcome:
    """Pad by nothing, Tile by one."""
    amounts = ints(node.inputs[1])
    nothing = 0 if node.op == "Pad" else 1
    return _bypass(node, node.inputs[0]) if amounts is not None and all(a == nothing for a in amounts) else None


@rule("Split")
def drop_split(node: Node, graph: Graph) -> Outcome:
    """Split into one piece."""
    return _bypass(node, node.inputs[0]) if len(node.outputs) == 1 else None


@rule("Mul", "Div", "Pow", "Add", "Sub")
def drop_neutral(node: Node, graph: Graph) -> Outcome:
    """x*1, x/1, x**1, x+0, x-0, where the constant does not change the shape."""
    found = scalar_operand(node)
    if found is None:
        return None
    x, c, index = found
    neutral = 0.0 if node.op in ("Add", "Sub") else 1.0
    if c != neutral or (index == 0 and node.op not in ("Mul", "Add")):
        return None
    return _bypass(node, x)


@rule("Max", "Min")
def drop_infinite_bound(node: Node, graph: Graph) -> Outcome:
    """max(x, -inf), min(x, inf)."""
    found = scalar_operand(node)
    if found is None or found[1] != (-math.inf if node.op == "Max" else math.inf):
        return None
    return _bypass(node, found[0])


@rule("Sum")
def name_add(node: Node, graph: Graph) -> Outcome:
    """A Sum of two is an Add."""
    out = node.outputs[0]
    if len(node.inputs) != 2 or None in node.inputs or out is None:
        return None
    edit = Edit(node)
    return edit.replace(out, edit.add("Add", node.inputs, like=out))


@rule("And", "Or")
def drop_logical(node: Node, graph: Graph) -> Outcome:
    """x and True, x or False."""
    for i in (0, 1):
        c, x = node.inputs[i], node.inputs[1 - i]
        if c is None or x is None or c.const is None or not broadcasts_into(c.shape, x.shape):
            continue
        values = c.const.numpy()
        if values.all() if node.op == "And" else not values.any():
            return _bypass(node, x)
    return None


@rule("Where")
def drop_where(node: Node, graph: Graph) -> Outcome:
    """Where with a condition that is one constant everywhere."""
    condition, a, b = node.inputs
    out = node.outputs[0]
    if condition is None or condition.const is None or out is None or condition.const.size == 0 or condition.const.size > HUGE:
        return None
    values = condition.const.numpy()
    chosen = a if values.all() else b if not values.any() else None
    return _bypass(node, chosen) if chosen is not None and same_shape(chosen, out) else None


@rule("Concat")
def drop_empty_parts(node: Node, graph: Graph) -> Outcome:
    """Concat without the parts that have no elements along the axis."""
    axis = axis_of(node, "axis", 0, node.inputs[0].rank if node.inputs[0] is not None else None)
    if axis is None or axis < 0:
        return None
    kept = [v for v in node.inputs if v is None or v.shape is None or axis >= len(v.shape) or v.shape[axis] != 0]
    if len(kept) == len(node.inputs) or not kept or any(v is None for v in node.inputs):
        return None
    edit = Edit(node)
    return edit.replace(node.outputs[0], edit.add("Concat", kept, node.attrs, like=node.outputs[0]))  # type: ignore[arg-type]


@rule("Clip")
def drop_unbounded_clip(node: Node, graph: Graph) -> Outcome:
    """Clip of integers without bounds; of floats it still cuts infinities off."""
    x = node.inputs[0]
    if node.input(1) is not None or node.input(2) is not None or x is None or x.dtype is None:
        return None
    return _bypass(node, x) if np.issubdtype(x.dtype, np.integer) else no("a float Clip without bounds makes infinities finite")


@rule("DepthToSpace", "SpaceToDepth")
def drop_space_depth(node: Node, graph: Graph) -> Outcome:
    """Block size 1."""
    return _bypass(node, node.inputs[0]) if attribute(node, "blocksize", 0) == 1 else None


NO_OPS = (
    drop_identity,
    drop_dropout,
    drop_cast,
    drop_same_view,
    drop_transpose,
    drop_slice,
    drop_pad_or_tile,
    drop_split,
    drop_neutral,
    drop_infinite_bound,
    name_add,
    drop_logical,
    drop_where,
    drop_empty_parts,
    drop_unbounded_clip,
    drop_space_depth,
)
