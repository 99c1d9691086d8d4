"""Channels shuffled by Reshape, Transpose, Reshape (ShuffleNet) become one operator."""

from __future__ import annotations

import numpy as np

from sardonyx.ep.rules import Edit, Outcome, made_by, no, only_use, rule
from sardonyx.ir.graph import Graph, Node

__all__ = ["channel_shuffle"]


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
