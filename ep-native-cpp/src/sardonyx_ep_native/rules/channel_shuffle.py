"""Channels shuffled by Reshape, Transpose, Reshape (ShuffleNet) become one operator, which then costs nothing.

A depthwise convolution may come before the shuffle as well as after it, and any other convolution can read its channels in
shuffled order.
"""

from __future__ import annotations

import numpy as np

from sardonyx.ep.rules import Edit, Outcome, Rule, constant, made_by, no, only_use, rule
from sardonyx.ir.graph import Graph, Node, Value

__all__ = ["absorb_channel_shuffle", "channel_shuffle"]


@rule("Reshape")
def channel_shuffle(node: Node, graph: Graph) -> Outcome:
    """[N, C, H, W] -> [N, g, C/g, H, W] -> [N, C/g, g, H, W] -> [N, C, H, W]: BlockShuffle with group g."""
    out = node.outputs[0]
    transpose = made_by(node.inputs[0], "Transpose")
    split = made_by(transpose.inputs[0], "Reshape") if transpose is not None else None
    if transpose is None or split is None or out is None or list(transpose.attrs.get("perm", ())) != [0, 2, 1, 3, 4]:
        return None
    x, parts = split.inputs[0], split.outputs[0]
    if x is None or parts is None or x.dtype != np.float32 or x.shape is None or parts.shape is None or x.shape != out.shape or x.rank != 4:
        return no("it does not give back the shape it got, or the shape is unknown")
    if None in x.shape or (parts.shape[0], *parts.shape[3:]) != (x.shape[0], *x.shape[2:]) or not isinstance(parts.shape[1], int):
        return no("it moves more than channels")
    if not only_use(parts) or not only_use(node.inputs[0]):
        return no("a value in between has another user")
    edit = Edit(node, transpose, split)
    return edit.replace(out, edit.add("BlockShuffle", [x], {"group": parts.shape[1]}, domain="sx", like=out))


def _shuffle(value: Value | None) -> Node | None:
    """The BlockShuffle that makes `value` for one user alone."""
    node = value.producer if value is not None else None
    return node if node is not None and node.key == ("sx", "BlockShuffle") and only_use(value) else None


def _absorb(node: Node, graph: Graph) -> Outcome:
    """Conv(BlockShuffle(x)): the shuffle goes behind a depthwise convolution, and into any other."""
    shuffle, out, weights = _shuffle(node.inputs[0]), node.outputs[0], node.inputs[1]
    if shuffle is None or out is None:
        return None
    if (
        weights is None
        or weights.const is None
        or "weights_turned" in node.attrs
        or "input_shuffle" in node.attrs
        or any(v is not None for v in node.inputs[4:])
    ):
        return no("its weights are no constants, or its input is arranged already")
    x, groups, g = shuffle.inputs[0], node.attrs.get("group", 1), shuffle.attrs["group"]
    channels = weights.const.shape[1] * groups
    edit = Edit(node, shuffle)
    if not (groups == channels == weights.const.shape[0] and groups > 1):
        attrs = {**node.attrs, "input_shuffle": g}
        return edit.replace(out, edit.add("Conv", [x, *node.inputs[1:]], attrs, domain="sx", like=out))
    bias = node.input(2)
    if node.input(3) is not None or (bias is not None and bias.const is None):
        return no("it has a residual, or its bias is no constant")
    # Channel k * (C / g) + j of x is channel j * g + k after the shuffle.
    order = np.arange(channels).reshape(-1, g).T.reshape(-1)
    inputs = [x, constant(weights.const.numpy()[order], f"{node.name}/weights")]
    if bias is not None and bias.const is not None:
        inputs.append(constant(bias.const.numpy()[order], f"{node.name}/bias"))
    y = edit.add("Conv", inputs, dict(node.attrs), domain=node.domain, like=out)
    return edit.replace(out, edit.add("BlockShuffle", [y], {"group": g}, domain="sx", like=out))


# To be applied when convolutions have their epilogues, which a shuffle in between would keep from them.
absorb_channel_shuffle = Rule("absorb_channel_shuffle", (("", "Conv"), ("sx", "Conv")), _absorb)
