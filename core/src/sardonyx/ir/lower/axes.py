"""Axes, sizes and bounds back from inputs to attributes."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx.ir.lower.engine import Lowering
from sardonyx.ir.upgrade.steps import int64s, new_node

__all__ = ["lowering"]

lowering = Lowering()

COMPUTED = "{} is computed while running, but was once an attribute"


def _ints(node: Node, index: int) -> list[int] | None:
    values = node.const(index)
    return None if values is None else [int(v) for v in values.reshape(-1)]


@lowering.undo("Squeeze", "Unsqueeze", "ReduceSum", since=13)
@lowering.undo("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", since=18)
@lowering.undo("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSumSquare", since=18)
def axes_attribute(node: Node) -> str | None:
    """`axes` becomes an attribute."""
    axes = _ints(node, 1)
    if axes is None and node.input(1) is not None:
        return COMPUTED.format("axes")
    if not axes and node.attrs.get("noop_with_empty_axes", 0):
        return "it reduces over no axes"
    node.attrs.pop("noop_with_empty_axes", None)
    if axes:
        node.attrs["axes"] = axes
    node.set_inputs(node.inputs[:1])
    return None


@lowering.undo("ArgMax", "ArgMin", "Compress", "Concat", "Flatten", "Gather", "Hardmax", "LogSoftmax", "Softmax", "OneHot", since=11)
@lowering.undo("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", since=11)
@lowering.undo("ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Squeeze", "Unsqueeze", "Split", since=11)
def positive_axes(node: Node) -> str | None:
    """Axes could not count from the back, nor OneHot's indices."""
    if node.op == "OneHot":
        indices = node.const(0)
        unsigned = node.inputs[0] is not None and node.inputs[0].dtype is not None and node.inputs[0].dtype.kind == "u"
        if not unsigned and (indices is None or (indices < 0).any()):
            return "a negative index once meant no hot value"
        node.attrs.setdefault("axis", -1)
    of = node.outputs[0] if node.op in ("OneHot", "Unsqueeze") else node.inputs[0]
    rank = of.rank if of is not None else None
    for name in ("axis", "axes"):
        given = node.attrs.get(name)
        axes = given if isinstance(given, list) else [] if given is None else [given]
        if any(a < 0 for a in axes) and not (node.op == "OneHot" and given == -1):
            if rank is None:
                return "its axes count from the back of an unknown rank"
            axes = [a % rank for a in axes]
            node.attrs[name] = axes if isinstance(given, list) else axes[0]
    return None


@lowering.undo("Reshape", since=14)
def reshape_14(node: Node) -> str | list[Node] | None:
    """A 0 in the shape once always meant the input's dim."""
    if node.attrs.get("allowzero", 0):
        shape = _ints(node, 1)
        if shape is None and (rows := _matrix_softmax(node)) is not None:
            return [rows]
        if shape is None or 0 in shape:
            return "its shape may contain a real 0 (allowzero)"
    node.attrs.pop("allowzero", None)
    return None


def _matrix_softmax(node: Node) -> Node | None:
    """The old Softmax, LogSoftmax or Hardmax that became Flatten, itself and this Reshape to the shape of its input."""
    rows, shape = (v.producer if v is not None else None for v in node.inputs)
    flat = rows.inputs[0].producer if rows is not None and rows.inputs and rows.inputs[0] is not None else None
    if rows is None or flat is None or shape is None:
        return None
    ours = rows.op in ("Hardmax", "LogSoftmax", "Softmax") and rows.attrs.get("axis", -1) in (-1, 1)
    if not ours or flat.op != "Flatten" or shape.op != "Shape" or shape.inputs != flat.inputs:
        return None
    old = Node(rows.op, flat.inputs, node.outputs, {"axis": flat.attrs.get("axis", 1)}, since=11, name=node.name, origins=node.origins)
    return old


@lowering.undo("Reshape", since=5)
def reshape_5(node: Node) -> str | None:
    """`shape` becomes an attribute."""
    shape = _ints(node, 1)
    if shape is None:
        return COMPUTED.format("shape")
    node.attrs["shape"] = shape
    node.set_inputs(node.inputs[:1])
    return None


@lowering.undo("Shape", since=15)
def shape_15(node: Node) -> list[Node] | None:
    """`start` and `end` become a Slice."""
    start, end = node.attrs.get("start", 0), node.attrs.get("end")
    if start == 0 and end is None:
        return None
    whole = new_node(node, "Shape", node.inputs)
    bounds = [int64s(f"{node.name}/start", [start]), int64s(f"{node.name}/end", [2**31 - 1 if end is None else end])]
    part = new_node(node, "Slice", [whole.outputs[0], *bounds, int64s(f"{node.name}/axes", [0])], node.outputs)
    return [whole, part]


@lowering.undo("Slice", since=10)
def slice_10(node: Node) -> str | None:
    """`starts`, `ends` and `axes` become attributes; there were no steps."""
    starts, ends, axes, steps = (_ints(node, i) for i in range(1, 5))
    if starts is None or ends is None or (axes is None and node.input(3) is not None):
        return COMPUTED.format("starts, ends or axes")
    if node.input(4) is not None and (steps is None or any(s != 1 for s in steps)):
        return "it has steps"
    rank = node.inputs[0].rank if node.inputs[0] is not None else None
    if axes is not None and any(a < 0 for a in axes):
        if rank is None:
            return "its axes count from the back of an unknown rank"
        axes = [a % rank for a in axes]
    node.attrs |= {"starts": starts, "ends": ends} | ({} if axes is None else {"axes": axes})
    node.set_inputs(node.inputs[:1])
    return None


@lowering.undo("Split", since=18)
def split_18(node: Node) -> str | None:
    """Without lengths the parts are equal; unequal ones have to be given."""
    count = node.attrs.pop("num_outputs", None)
    x, axis = node.inputs[0], node.attrs.get("axis", 0)
    size = x.shape[axis] if x is not None and x.shape is not None else None
    if count is not None and isinstance(size, int) and size % count:
        part = -(-size // count)
        node.set_inputs([x, int64s(f"{node.name}/split", [part] * (count - 1) + [size - part * (count - 1)])])
    return None


@lowering.undo("Split", since=13)
def split_13(node: Node) -> str | None:
    """`split` becomes an attribute."""
    lengths = _ints(node, 1)
    if lengths is None and node.input(1) is not None:
        return COMPUTED.format("split")
    if lengths is not None:
        node.attrs["split"] = lengths
    node.set_inputs(node.inputs[:1])
    return None


@lowering.undo("TopK", since=11)
def top_k_11(node: Node) -> str | None:
    """Only the largest were found, always in order."""
    if node.attrs.get("largest", 1) != 1:
        return "it looks for the smallest values"
    axis, x = node.attrs.get("axis", -1), node.inputs[0]
    if axis < -1:
        if x is None or x.rank is None:
            return "its axis counts from the back of an unknown rank"
        node.attrs["axis"] = axis % x.rank
    node.attrs.pop("largest", None)
    node.attrs.pop("sorted", None)
    return None


@lowering.undo("TopK", since=10)
def top_k_10(node: Node) -> str | None:
    """K becomes an attribute."""
    k = _ints(node, 1)
    if k is None:
        return COMPUTED.format("K")
    node.attrs["k"] = k[0]
    node.set_inputs(node.inputs[:1])
    return None


@lowering.undo("Clip", since=11)
def clip_11(node: Node) -> str | None:
    """`min` and `max` become attributes."""
    bounds = {"min": node.const(1), "max": node.const(2)}
    if any(b is None and node.input(i) is not None for i, b in enumerate(bounds.values(), 1)):
        return COMPUTED.format("min or max")
    node.attrs |= {name: float(b.reshape(())[()]) for name, b in bounds.items() if b is not None}
    node.set_inputs(node.inputs[:1])
    return None


@lowering.undo("Pad", since=18)
def pad_18(node: Node) -> str | None:
    """`pads` are given for all axes."""
    if node.input(3) is None:
        return None
    pads, axes, x = _ints(node, 1), _ints(node, 3), node.inputs[0]
    if pads is None or axes is None or x is None or x.rank is None:
        return "its axes and pads, or its rank, are not known"
    whole = [0] * (2 * x.rank)
    for i, axis in enumerate(axes):
        whole[axis % x.rank] = pads[i]
        whole[axis % x.rank + x.rank] = pads[i + len(axes)]
    node.set_inputs([x, int64s(f"{node.name}/pads", whole), node.input(2)])
    return None


@lowering.undo("Pad", since=11)
def pad_11(node: Node) -> str | None:
    """`pads` and the value become attributes."""
    pads, value = _ints(node, 1), node.const(2)
    if pads is None or (value is None and node.input(2) is not None):
        return COMPUTED.format("pads or value")
    node.attrs["pads"] = pads
    if value is not None:
        node.attrs["value"] = float(value.reshape(())[()])
    node.set_inputs(node.inputs[:1])
    return None


@lowering.undo("DFT", since=20)
def dft_20(node: Node) -> str | None:
    """`axis` becomes an attribute, with another default."""
    axis = _ints(node, 2)
    if axis is None and node.input(2) is not None:
        return COMPUTED.format("axis")
    node.attrs["axis"] = axis[0] if axis else -2
    node.set_inputs(node.inputs[:2])
    return None
