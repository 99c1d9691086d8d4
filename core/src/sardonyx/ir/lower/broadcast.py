"""Back to broadcasting that has to be asked for."""

from __future__ import annotations

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.lower.engine import Lowering

__all__ = ["lowering"]

lowering = Lowering()


def _shape(v: Value | None) -> tuple[int, ...] | None:
    if v is None or v.shape is None or any(not isinstance(d, int) for d in v.shape):
        return None
    return v.shape  # type: ignore[return-value]


@lowering.undo("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor", since=7)
def binary_7(node: Node) -> str | None:
    """The second input may be a contiguous part of the first one's dims."""
    a, b = (_shape(v) for v in node.inputs)
    if a is None or b is None:
        return "its shapes are not known, so neither is whether it broadcasts"
    if a == b:
        return None
    if (b != a[len(a) - len(b) :] and b != (1,) * len(b)) or len(b) > len(a):
        return f"it broadcasts {list(b)} to {list(a)} in a way that opset 6 does not know"
    node.attrs["broadcast"] = 1
    return None


@lowering.undo("Max", "Mean", "Min", "Sum", since=8)
def variadic_8(node: Node) -> str | None:
    """All inputs had one shape."""
    shapes = {_shape(v) for v in node.inputs}
    return None if len(shapes) == 1 and None not in shapes else "its inputs may broadcast"


@lowering.undo("PRelu", since=7)
def prelu_7(node: Node) -> str | list[Node] | None:
    """A slope for each channel had rank 1."""
    from sardonyx.ir.upgrade.steps import constant

    x, slope = node.inputs
    shape = _shape(slope)
    if shape is None or x is None or x.rank is None or slope is None:
        return "its shapes are not known"
    values = node.const(1)
    if shape in ((), (1,)) or (len(shape) == 1 and x.rank == 2):
        return None
    if values is not None and len(shape) == x.rank - 1 and all(d == 1 for d in shape[1:]):
        node.set_inputs([x, constant(slope.name, values.reshape(-1))])
        return None
    return f"a slope of shape {list(shape)} is neither shared nor one for each channel"


@lowering.undo("Gemm", since=7)
def gemm_7(node: Node) -> str | None:
    """Broadcasting of C had to be asked for."""
    node.attrs["broadcast"] = 1
    return None
