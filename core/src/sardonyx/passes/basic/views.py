"""Chains of Reshape, Squeeze, Unsqueeze and Flatten become one of them; chains of Transpose one Transpose."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Graph, Node
from sardonyx.ir.types import Shape, TensorType
from sardonyx.passes.dims import reshape_target
from sardonyx.passes.match import ints, made_by, same_shape
from sardonyx.passes.rules import Edit, Outcome, constant, no, rule

__all__ = ["UNDONE", "VIEWS"]

VIEW = ("Reshape", "Squeeze", "Unsqueeze", "Flatten")


@rule(*VIEW)
def drop_undone_views(node: Node, graph: Graph) -> Outcome:
    """A view of a view that has the first input's shape again is the first input."""
    first, out = made_by(node.inputs[0], *VIEW), node.outputs[0]
    x = first.inputs[0] if first is not None else None
    return Edit(node, first).replace(out, x) if x is not None and out is not None and same_shape(x, out) else None  # type: ignore[arg-type]


@rule(*VIEW)
def merge_views(node: Node, graph: Graph) -> Outcome:
    """A view of a view is one view of the first input."""
    first, out = made_by(node.inputs[0], *VIEW), node.outputs[0]
    x = first.inputs[0] if first is not None else None
    if first is None or x is None or out is None:
        return None
    edit = Edit(node, first)
    if node.op == first.op == "Unsqueeze":
        axes = _merged_axes(ints(first.inputs[1]), ints(node.inputs[1]), out.rank)
        if axes is not None:
            return edit.replace(out, edit.add("Unsqueeze", [x, constant(np.array(axes, np.int64), "axes")], like=out))
    if node.op == "Reshape":
        target = ints(node.inputs[1])
        if target is not None and (0 not in target or node.attrs.get("allowzero")):
            return edit.replace(out, edit.add("Reshape", [x, node.inputs[1]], dict(node.attrs), like=out))
    target = reshape_target(x.shape, out.shape)
    if target is None:
        return no("the shape has more than one unknown dim")
    return edit.replace(out, edit.add("Reshape", [x, constant(np.array(target, np.int64), "shape")], like=out))


def _merged_axes(first: list[int] | None, second: list[int] | None, rank: int | None) -> list[int] | None:
    """Axes of one Unsqueeze to `rank` that does what `first` and then `second` do."""
    if first is None or second is None or rank is None:
        return None
    late = {a % rank for a in second}
    kept = [i for i in range(rank) if i not in late]
    early = {kept[a % len(kept)] for a in first} if kept else set()
    return sorted(late | early)


@rule("Transpose")
def merge_transposes(node: Node, graph: Graph) -> Outcome:
    """A Transpose of a Transpose is one, in the combined order."""
    first = made_by(node.inputs[0], "Transpose")
    out = node.outputs[0]
    if first is None or out is None or "perm" not in node.attrs or "perm" not in first.attrs:
        return None
    perm = [first.attrs["perm"][p] for p in node.attrs["perm"]]
    edit = Edit(node, first)
    x = first.inputs[0]
    if x is not None and perm == list(range(len(perm))):
        return edit.replace(out, x)
    return edit.replace(out, edit.add("Transpose", [x], {"perm": perm}, like=out))


@rule("Transpose")
def name_reversal(node: Node, graph: Graph) -> Outcome:
    """A Transpose without perm reverses the axes: say so, that other rules need not know."""
    x, out = node.inputs[0], node.outputs[0]
    if "perm" in node.attrs or x is None or x.rank is None or x.rank < 2:
        return None
    edit = Edit(node)
    return edit.replace(out, edit.add("Transpose", [x], {"perm": list(range(x.rank))[::-1]}, like=out))  # type: ignore[arg-type]


@rule("Reshape")
def unbatch_transpose(node: Node, graph: Graph) -> Outcome:
    """Matrices seen as [n, i, j], transposed, and seen as [..., j, i]: seen as [..., i, j] and transposed."""
    turn, out = made_by(node.inputs[0], "Transpose"), node.outputs[0]
    flat = made_by(turn.inputs[0], "Reshape") if turn is not None else None
    if turn is None or flat is None or out is None or turn.attrs.get("perm") != [0, 2, 1]:
        return None
    x, middle = flat.inputs[0], turn.inputs[0]
    if x is None or middle is None or not _same_matrices(middle.shape, out.shape):
        return None
    assert out.shape is not None
    rank = len(out.shape)
    shape = (*out.shape[:-2], out.shape[-1], out.shape[-2])
    edit = Edit(node, turn, flat)
    if x.shape != shape:
        target = reshape_target(x.shape, shape)
        if target is None:
            return no("the shape has more than one unknown dim")
        x = edit.add("Reshape", [x, constant(np.array(target, np.int64), "shape")], type=TensorType(out.dtype, shape))
    return edit.replace(out, edit.add("Transpose", [x], {"perm": [*range(rank - 2), rank - 1, rank - 2]}, like=out))


def _same_matrices(middle: Shape, out: Shape) -> bool:
    if middle is None or out is None or len(middle) != 3 or len(out) < 3 or None in middle[1:] or None in out or 0 in out:
        return False
    return out[-2:] == (middle[2], middle[1])


UNDONE = (drop_undone_views, name_reversal, merge_transposes)
VIEWS = (merge_views, unbatch_transpose)
