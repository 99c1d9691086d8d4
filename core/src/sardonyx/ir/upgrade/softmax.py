"""Softmax, LogSoftmax and Hardmax, which once saw their input as a matrix."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx.ir.upgrade.steps import Steps, int64s, new_node

__all__ = ["steps"]

steps = Steps()


@steps.add("Hardmax", "LogSoftmax", "Softmax", to=13)
def matrix_softmax(node: Node) -> bool | list[Node]:
    """Until 11 all dims from `axis` on are one row. That is the newer form where only one of them is not 1; else the input
    is flattened and the output reshaped."""
    x = node.inputs[0]
    axis = node.attrs.get("axis", 1)
    if x is None:
        return False
    if x.shape is not None:
        rank = len(x.shape)
        if not -rank <= axis < rank:
            return False
        axis %= rank
        wide = [i for i in range(axis, rank) if x.shape[i] != 1]
        if len(wide) <= 1:
            node.attrs["axis"] = wide[0] if wide else rank - 1
            return True
    elif axis == -1:
        node.attrs["axis"] = -1
        return True
    flat = new_node(node, "Flatten", [x], axis=axis)
    rows = new_node(node, node.op, flat.outputs, axis=-1)
    if x.shape is not None and all(isinstance(d, int) for d in x.shape):
        shape = int64s(f"{node.name}/shape", [d for d in x.shape if isinstance(d, int)])
        return [flat, rows, new_node(node, "Reshape", [rows.outputs[0], shape], node.outputs, allowzero=1)]
    dims = new_node(node, "Shape", [x])
    return [flat, rows, dims, new_node(node, "Reshape", [rows.outputs[0], dims.outputs[0]], node.outputs, allowzero=1)]
