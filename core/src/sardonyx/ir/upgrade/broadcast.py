"""Broadcasting before opset 7: off unless asked for, and anchored at an axis of the first input."""

from __future__ import annotations

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.upgrade.steps import Steps, constant, int64s, new_node

__all__ = ["steps"]

steps = Steps()


@steps.add("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor", to=7)
def binary_7(node: Node) -> bool | list[Node]:
    """Without an axis (or with -1, some exporters' word for none) the trailing dims match, as in numpy; with one, the second
    input gets trailing dims of 1."""
    axis = node.attrs.get("axis") if node.attrs.get("broadcast", 0) else None
    a, b = node.inputs
    if axis not in (None, -1) and a is not None and b is not None:
        if a.rank is None or b.rank is None:
            return False
        missing = (a.rank - axis if axis >= 0 else -axis) - b.rank
        if missing > 0:
            return _expanded(node, missing)
    node.attrs.clear()
    return True


@steps.add("PRelu", to=7)
def prelu_7(node: Node) -> bool | list[Node]:
    """A slope of rank 1 belongs to the channels, dim 1 of the data."""
    x, slope = node.inputs
    if x is None or slope is None or slope.rank is None or x.rank is None:
        return False
    if slope.rank != 1 or x.rank <= 2 or slope.shape == (1,):
        return True
    return _expanded(node, x.rank - 2)


@steps.add("Gemm", to=7)
def gemm_7(node: Node) -> bool:
    """C always broadcasts."""
    node.attrs.pop("broadcast", None)
    return True


def _expanded(node: Node, count: int) -> bool | list[Node]:
    """The second input gets `count` dims of 1 at its end: at once if it is constant, else by a node before."""
    a, b = node.inputs
    assert b is not None
    assert b.rank is not None
    values = node.const(1)
    if values is not None:
        node.attrs.clear()
        node.set_inputs([a, constant(b.name, values.reshape(values.shape + (1,) * count))])
        return True
    axes = int64s(f"{node.name}/axes", range(b.rank, b.rank + count))
    unsqueeze = new_node(node, "Unsqueeze", [b, axes])
    return [unsqueeze, _again(node, [a, unsqueeze.outputs[0]])]


def _again(node: Node, inputs: list[Value | None]) -> Node:
    """The node in its newest form with other inputs and without the old attributes."""
    again = new_node(node, node.op, inputs, node.outputs)
    again.name = node.name
    return again
