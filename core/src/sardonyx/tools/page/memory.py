"""How many bytes the values between nodes take while a model runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sardonyx.ir.dtypes import STRING
from sardonyx.ir.types import TensorType, ValueType
from sardonyx.runtime.planner import Placed

__all__ = ["live_bytes", "size_of"]


def size_of(type: ValueType, sizes: Mapping[str, int]) -> int:
    """Bytes of a tensor; symbolic dimensions are as in `sizes`, those unknown count as 1, other values as 0."""
    if not isinstance(type, TensorType) or type.dtype is None or type.shape is None or type.dtype == STRING:
        return 0
    return math.prod(d if isinstance(d, int) else sizes.get(d or "", 1) for d in type.shape) * type.dtype.itemsize


def live_bytes(steps: Sequence[Placed], members: Mapping[str, int], nodes: Sequence[Placed], sizes: Mapping[str, int]) -> list[int]:
    """The bytes alive during each step, when a value is freed after its last reader.

    `steps` are the nodes that ran, in order; `members` has the step that a node of `nodes` ran in, by name: several where they
    were fused. A value nobody reads lives to the end, for it is an output.
    """
    last: dict[str, int] = {}
    for node in nodes:
        at = members.get(node.node)
        if at is not None:
            for name in node.inputs:
                last[name] = max(last.get(name, -1), at)
    change = [0] * (len(steps) + 1)
    for k, step in enumerate(steps):
        for name, type in zip(step.outputs, step.types, strict=True):
            end = last.get(name, len(steps) - 1) if name else k
            if end >= k:
                size = size_of(type, sizes)
                change[k] += size
                change[end + 1] -= size
    alive, total = [], 0
    for delta in change[:-1]:
        total += delta
        alive.append(total)
    return alive
