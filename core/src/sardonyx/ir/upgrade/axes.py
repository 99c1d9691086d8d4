"""Axes, sizes and bounds that moved from attributes to inputs."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx.ir.upgrade.steps import Steps, constant, int64s

__all__ = ["steps"]

steps = Steps()


@steps.add("Squeeze", "Unsqueeze", "ReduceSum", to=13)
@steps.add("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", to=18)
@steps.add("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSumSquare", to=18)
def axes_input(node: Node) -> bool:
    """`axes` became the second input. An empty list means all axes, like none."""
    axes = node.attrs.pop("axes", None)
    if axes or (axes is not None and node.op == "Unsqueeze"):
        node.set_inputs([node.inputs[0], int64s(f"{node.name}/axes", axes)])
    return True


@steps.add("Reshape", to=5)
def reshape_5(node: Node) -> bool:
    """`shape` became the second input."""
    shape = node.attrs.get("shape")
    if shape is None:
        return False
    del node.attrs["shape"]
    node.attrs.pop("consumed_inputs", None)
    node.set_inputs([node.inputs[0], int64s(f"{node.name}/shape", shape)])
    return True


@steps.add("Slice", to=10)
def slice_10(node: Node) -> bool:
    """`starts`, `ends` and `axes` became inputs; without axes the first ones are meant."""
    starts, ends = node.attrs.get("starts"), node.attrs.get("ends")
    if starts is None or ends is None:
        return False
    axes = node.attrs.get("axes") or list(range(len(starts)))
    node.attrs.clear()
    parts = [int64s(f"{node.name}/{name}", values) for name, values in (("starts", starts), ("ends", ends), ("axes", axes))]
    node.set_inputs([node.inputs[0], *parts])
    return True


@steps.add("Split", to=2)
def split_2(node: Node) -> bool:
    """Split-1 may take its lengths as an input of the data's type."""
    lengths = node.const(1)
    if len(node.inputs) > 1 and node.inputs[1] is not None:
        if lengths is None:
            return False
        node.attrs["split"] = [int(n) for n in lengths.reshape(-1)]
    node.attrs.setdefault("axis", 0)
    node.set_inputs(node.inputs[:1])
    return True


@steps.add("Split", to=13)
def split_13(node: Node) -> bool:
    """`split` became an input."""
    lengths = node.attrs.pop("split", None)
    if lengths:
        node.set_inputs([node.inputs[0], int64s(f"{node.name}/split", lengths)])
    return True


@steps.add("Split", to=18)
def split_18(node: Node) -> bool:
    """Without lengths the number of outputs has to be given."""
    if node.input(1) is None:
        node.attrs["num_outputs"] = len(node.outputs)
    return True


@steps.add("TopK", to=10)
def top_k_10(node: Node) -> bool:
    """`k` became an input."""
    k = node.attrs.get("k")
    if k is None:
        return False
    del node.attrs["k"]
    node.set_inputs([node.inputs[0], int64s(f"{node.name}/k", [k])])
    return True


@steps.add("Tile", to=6)
def tile_6(node: Node) -> bool:
    """Tile-1 repeats along one axis; `tiles` and `axis` are inputs of the data's type."""
    x, tiles, axis = node.input(0), node.const(1), node.const(2)
    if x is None or x.rank is None or tiles is None or axis is None or tiles.size != 1 or axis.size != 1:
        return False
    repeats = [1] * x.rank
    at = int(axis.reshape(())[()])
    if not -x.rank <= at < x.rank:
        return False
    repeats[at] = int(tiles.reshape(())[()])
    node.set_inputs([x, int64s(f"{node.name}/repeats", repeats)])
    return True


@steps.add("Clip", to=11)
def clip_11(node: Node) -> bool:
    """`min` and `max` became scalar inputs of the data's type."""
    x = node.inputs[0]
    if x is None or (x.dtype is None and node.attrs):
        return False
    inputs = [x, None, None]
    for i, name in ((1, "min"), (2, "max")):
        bound = node.attrs.pop(name, None)
        if bound is not None:
            with np.errstate(over="ignore"):
                inputs[i] = constant(f"{node.name}/{name}", np.array(bound, x.dtype))
    node.set_inputs(inputs if inputs[2] is not None else inputs[:2] if inputs[1] is not None else inputs[:1])
    return True


@steps.add("Pad", to=2)
def pad_2(node: Node) -> bool:
    """`paddings` became `pads`."""
    if "paddings" in node.attrs:
        node.attrs["pads"] = node.attrs.pop("paddings")
    return True


@steps.add("Pad", to=11)
def pad_11(node: Node) -> bool:
    """`pads` and `value` became inputs."""
    x, pads, value = node.inputs[0], node.attrs.get("pads"), node.attrs.get("value", 0.0)
    if x is None or pads is None or (x.dtype is None and value != 0):
        return False
    del node.attrs["pads"]
    node.attrs.pop("value", None)
    inputs = [x, int64s(f"{node.name}/pads", pads)]
    if value != 0:
        with np.errstate(over="ignore"):
            inputs.append(constant(f"{node.name}/value", np.array(value, x.dtype)))
    node.set_inputs(inputs)
    return True


@steps.add("DFT", to=20)
def dft_20(node: Node) -> bool:
    """`axis` became an input, with another default."""
    axis = node.attrs.pop("axis", 1)
    node.set_inputs([node.inputs[0], node.input(1), int64s(f"{node.name}/axis", axis)])
    return True
