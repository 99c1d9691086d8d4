"""What the engine takes of convolutions and pools: floating-point numbers of up to 32 bits, one to three spatial axes (pools: two)."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx_ep_native.claims import FLOATS, add, dtypes


def _spatial(node: Node, most: int) -> str | None:
    rank = node.inputs[0].rank if node.inputs[0] is not None else None
    if rank is None:
        return "the rank of its input is unknown"
    return None if 3 <= rank <= most + 2 else f"it has {rank - 2} spatial axes; the engine's {node.op} takes 1 to {most}"


@add("Conv")
def conv(node: Node) -> str | None:
    """Any groups, strides, dilations and pads."""
    return dtypes(node, FLOATS, (0, 1, 2)) or _spatial(node, 3)


def _pads(node: Node) -> str | None:
    kernel, pads = list(node.attrs.get("kernel_shape") or ()), list(node.attrs.get("pads") or ())
    steps = node.attrs.get("dilations") or [1] * len(kernel)
    if len(steps) != len(kernel):
        return f"kernel_shape has {len(kernel)} values and dilations {len(steps)}"
    reach = [(k - 1) * d for k, d in zip(kernel, steps, strict=True)] * 2
    return "its pads are as wide as its kernel" if any(p > r for p, r in zip(pads, reach, strict=False)) else None


@add("ConvTranspose")
def conv_transpose(node: Node) -> str | None:
    """One or two spatial axes; any groups, strides, dilations, pads, output_padding and output_shape."""
    return dtypes(node, FLOATS, (0, 1, 2)) or _spatial(node, 2)


@add("MaxPool")
def max_pool(node: Node) -> str | None:
    """Without the second output."""
    if any(v is not None for v in node.outputs[1:]):
        return "the engine's MaxPool gives no Indices"
    return dtypes(node, FLOATS) or _spatial(node, 2) or _pads(node)


@add("AveragePool", since=7)
def average_pool(node: Node) -> str | None:
    """With and without padding counted."""
    return dtypes(node, FLOATS) or _spatial(node, 2) or _pads(node)


@add("GlobalAveragePool")
@add("GlobalMaxPool")
def global_pool(node: Node) -> str | None:
    """Any number of spatial axes."""
    rank = node.inputs[0].rank if node.inputs[0] is not None else None
    return dtypes(node, FLOATS) or (None if rank is not None and rank > 2 else "its input has no spatial axes, or an unknown rank")
