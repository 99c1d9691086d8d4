"""What the engine takes of operators on rows: softmax, normalisations, reductions, running sums."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx_ep_native.claims import DTYPES, INTS, add, dtypes, named_dtype

_FLOATS = (DTYPES[0], DTYPES[2], DTYPES[3])
_BOOL = (np.dtype("?"),)
# 64-bit unsigned numbers do not fit into the int64 that integers are reduced in.
_INTS = tuple(t for t in INTS if t != np.dtype("u8"))
_NUMBERS = (*_FLOATS, DTYPES[1], *_INTS)
_REDUCTIONS = {"ReduceSum": 13} | dict.fromkeys(
    ("ReduceMean", "ReduceProd", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"), 18
)


@add("Softmax", since=13)
@add("LogSoftmax", since=13)
@add("Hardmax", since=13)
def softmax(node: Node) -> str | None:
    """Along any axis."""
    return dtypes(node, _FLOATS)


@add("LpNormalization")
def lp_normalization(node: Node) -> str | None:
    """p = 1 or 2."""
    return dtypes(node, _FLOATS) or (None if node.attrs.get("p", 2) in (1, 2) else "its p is neither 1 nor 2")


@add("LayerNormalization", since=17)
@add("RMSNormalization", since=23)
@add("SimplifiedLayerNormalization")
@add("SimplifiedLayerNormalization", domain="com.microsoft")
def layer_normalization(node: Node) -> str | None:
    """From any axis on, where scale and bias belong to the normalised dimensions."""
    x = node.inputs[0]
    reason = dtypes(node, _FLOATS, tuple(range(len(node.inputs)))) or named_dtype(node, "stash_type", _FLOATS)
    if reason or x is None or x.rank is None:
        return reason or "the rank of its input is unknown"
    axis = node.attrs.get("axis", -1)
    if not -x.rank <= axis < x.rank:
        return None  # which the engine says when it runs
    axis %= x.rank
    for v in node.inputs[1:]:
        if v is None:
            continue
        if v.shape is None:
            return f"the shape of {v.name!r} is unknown"
        lead = v.shape[: max(0, len(v.shape) - (x.rank - axis))]
        if len(v.shape) > x.rank or any(d != 1 for d in lead):
            return f"{v.name!r} differs from row to row"
    return None


@add("InstanceNormalization")
@add("GroupNormalization", since=21)
def group_normalization(node: Node) -> str | None:
    """Any number of dimensions."""
    return dtypes(node, _FLOATS, (0, 1, 2)) or named_dtype(node, "stash_type", _FLOATS)


@add("BatchNormalization", since=9)
def batch_normalization(node: Node) -> str | None:
    """With given statistics."""
    if node.attrs.get("training_mode") or any(v is not None for v in node.outputs[1:]):
        return "it is in training mode"
    rank = node.inputs[0].rank if node.inputs[0] is not None else None
    if rank is None or rank < 2:
        return "its input has fewer than two dimensions, or an unknown rank"
    return dtypes(node, _FLOATS, (0, 1, 2, 3, 4))


@add("LRN")
def lrn(node: Node) -> str | None:
    """Any number of dimensions."""
    return dtypes(node, _FLOATS)


def _reduction(node: Node) -> str | None:
    return dtypes(node, _NUMBERS)


for _op, _since in _REDUCTIONS.items():
    add(_op, _since)(_reduction)


@add("ReduceMax", since=18)
@add("ReduceMin", since=18)
def extreme(node: Node) -> str | None:
    """Any axes; bool too."""
    return dtypes(node, (*_NUMBERS, *_BOOL))


@add("ArgMax")
@add("ArgMin")
def arg(node: Node) -> str | None:
    """Any axis."""
    return dtypes(node, _NUMBERS)


@add("CumSum", since=11)
@add("CumProd", since=26)
def scan(node: Node) -> str | None:
    """Along an axis that is known while planning; integers wrap around."""
    return dtypes(node, (*_NUMBERS, *(t for t in INTS if t not in _INTS)))
