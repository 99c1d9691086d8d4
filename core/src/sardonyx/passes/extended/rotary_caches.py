"""The caches that RotaryEmbedding wants: cosines for half a head, [batch, sequence, head / 2]."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.types import TensorType
from sardonyx.passes.dims import reshape_target
from sardonyx.passes.match import axis_of, made_by, scalar_operand
from sardonyx.passes.rules import Edit, constant

__all__ = ["cache", "half"]

MAX_DEPTH = 12
UNARY = ("Cos", "Sin", "Cast", "Neg")
KEEPING_LAST = ("Unsqueeze", "Squeeze", "Transpose", "Slice", "Gather")


def half(edit: Edit, value: Value | None, interleaved: bool, depth: int = 0) -> Value | None:
    """One half of a tensor whose last axis holds every number twice (the halves equal, or the elements in pairs).

    The half is computed by new nodes from where the tensor was doubled. None if it is not surely doubled.
    """
    if value is None or depth > MAX_DEPTH:
        return None
    if value.const is not None:
        return _half_constant(value, interleaved)
    single = _before_doubling(edit, value, interleaved)
    if single is not None:
        return single
    node = value.producer
    if node is None or node.domain != "":
        return None
    if node.op in UNARY:
        inner = half(edit, node.inputs[0], interleaved, depth + 1)
        return None if inner is None else edit.add(node.op, [inner], dict(node.attrs))
    if node.op in ("Mul", "Div", "Add"):
        return _half_scaled(edit, node, interleaved, depth)
    if node.op in KEEPING_LAST and _keeps_last(node):
        inner = half(edit, node.inputs[0], interleaved, depth + 1)
        return None if inner is None else edit.add(node.op, [inner, *node.inputs[1:]], dict(node.attrs))
    return None


def _half_constant(value: Value, interleaved: bool) -> Value | None:
    assert value.const is not None
    array = value.const.numpy()
    if array.ndim == 0 or array.shape[-1] % 2:
        return None
    middle = array.shape[-1] // 2
    a, b = (array[..., ::2], array[..., 1::2]) if interleaved else (array[..., :middle], array[..., middle:])
    return constant(np.ascontiguousarray(a), value.name) if np.array_equal(a, b) else None


def _before_doubling(edit: Edit, value: Value, interleaved: bool) -> Value | None:
    """f where value is Concat(f, f) along the last axis, or a view of f repeated along a new last axis of 2."""
    if not interleaved:
        node = made_by(value, "Concat")
        doubled = node is not None and len(node.inputs) == 2 and node.inputs[0] is node.inputs[1]
        return node.inputs[0] if node is not None and doubled and axis_of(node, "axis", 0, value.rank) == (value.rank or 0) - 1 else None
    view = made_by(value, "Reshape", "Flatten")
    node = made_by(view.inputs[0], "Concat", "Expand", "Tile") if view is not None else None
    wide = node.outputs[0] if node is not None else None
    if node is None or wide is None or wide.shape is None or wide.shape[-1] != 2 or None in wide.shape:
        return None
    if node.op == "Concat" and (len(node.inputs) != 2 or node.inputs[0] is not node.inputs[1]):
        return None
    column = made_by(node.inputs[0], "Unsqueeze", "Reshape")
    f = column.inputs[0] if column is not None else None
    if f is None or f.shape is None or wide.shape != (*f.shape, 2) or value.shape is None:
        return None
    if value.shape[:-1] == f.shape[:-1]:
        return f
    shape = (*value.shape[:-1], f.shape[-1])
    target = reshape_target(f.shape, shape) if [d for d in shape if d != 1] == [d for d in f.shape if d != 1] else None
    if target is None:
        return None
    return edit.add("Reshape", [f, constant(np.array(target, np.int64), "shape")], type=TensorType(f.dtype, shape))


def _half_scaled(edit: Edit, node: Node, interleaved: bool, depth: int) -> Value | None:
    found = scalar_operand(node)
    if found is None:
        return None
    inner = half(edit, found[0], interleaved, depth + 1)
    if inner is None:
        return None
    operands: list[Value | None] = [inner, node.inputs[found[2]]]
    return edit.add(node.op, operands if found[2] == 1 else operands[::-1], dict(node.attrs))


def _keeps_last(node: Node) -> bool:
    """Whether a moving node leaves the last axis where it is, whole."""
    x, out = node.inputs[0], node.outputs[0]
    if x is None or out is None or x.rank is None or out.rank is None or x.rank < 1 or x.shape is None or out.shape is None:
        return False
    if node.op == "Transpose":
        return "perm" in node.attrs and node.attrs["perm"][-1] == x.rank - 1
    if node.op == "Gather":
        return axis_of(node, "axis", 0, x.rank) != x.rank - 1
    axes = node.input(3 if node.op == "Slice" else 1)
    if axes is None or axes.const is None:
        return False
    rank = out.rank if node.op == "Unsqueeze" else x.rank
    return all(int(a) % rank != rank - 1 for a in axes.const.numpy().reshape(-1))


def cache(edit: Edit, value: Value, x: Value, sequence: int) -> Value | None:
    """`value`, which multiplies the halves of x, as [batch, sequence, head / 2]; None if it varies over heads.

    `sequence` is the axis of x that counts positions, 2 or 1; the other one counts heads.
    """
    assert x.shape is not None
    shape = _shape(edit, value)
    if shape is None or len(shape) > 4 or None in shape:
        return None
    padded = (1,) * (4 - len(shape)) + shape
    heads = 3 - sequence
    if padded[heads] != 1 or padded[sequence] != x.shape[sequence] or (padded[0] != 1 and padded[0] != x.shape[0]):
        return None
    if value.const is not None:
        array = value.const.numpy().reshape([d for i, d in enumerate(padded) if i != heads])
        batch = x.shape[0]
        if padded[0] != batch and isinstance(batch, int):
            array = np.broadcast_to(array, (batch, *array.shape[1:]))
        flat = constant(np.ascontiguousarray(array), value.name)
    else:
        flat = _three_axes(edit, value, len(shape), heads)
    return flat if padded[0] == x.shape[0] or (isinstance(x.shape[0], int) and value.const is not None) else _widen(edit, flat, x)


def _shape(edit: Edit, value: Value) -> tuple | None:
    """The shape of a value, of a proposed node's too."""
    if value.shape is None and value.producer in edit.nodes:
        edit.infer()
    return value.shape


def _three_axes(edit: Edit, value: Value, rank: int, heads: int) -> Value:
    lead = 4 - rank
    if lead == 0:
        return edit.add("Squeeze", [value, constant(np.array([heads], np.int64), "axes")])
    missing = [i for i in range(lead) if i != heads]
    if heads >= lead:
        value = edit.add("Squeeze", [value, constant(np.array([heads - lead], np.int64), "axes")])
    return edit.add("Unsqueeze", [value, constant(np.array(missing, np.int64), "axes")]) if missing else value


def _widen(edit: Edit, value: Value, x: Value) -> Value:
    """A cache for a batch of one, repeated for the batch of x."""
    batch = edit.add("Shape", [x], {"start": 0, "end": 1})
    target = edit.add("Concat", [batch, constant(np.array([1, 1], np.int64), "ones")], {"axis": 0})
    return edit.add("Expand", [value, target])
