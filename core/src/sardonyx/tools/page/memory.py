"""How many bytes the values between nodes take while a model runs."""

from __future__ import annotations

import math
from bisect import bisect_left
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


def live_bytes(steps: Sequence[tuple[Placed, Sequence[int]]], ran: Mapping[str, list[int]], nodes: Sequence[Placed]) -> list[int]:
    """The bytes alive during each step, when a value is freed after its last reader.

    `steps` are the executions of nodes, in order, with the bytes of their outputs. `ran` has the steps in which a node of
    `nodes` ran, ascending, by name: the same as another's where both were fused, several in a loop. A value that nobody reads
    lives to the end, for it is an output; one that a body gives lives as long as what its control-flow node gives.
    """
    readers: dict[str, set[str]] = {}
    for node in nodes:
        for name in node.inputs:
            readers.setdefault(name, set()).add(node.node)
    given = {node.node: node.outputs for node in nodes}
    change = [0] * (len(steps) + 1)
    for k, (step, sizes) in enumerate(steps):
        for name, size in zip(step.outputs, sizes, strict=False):
            if not name or not size:
                continue
            change[k] += size
            change[_last_read(name, step, k, readers, given, ran, len(steps) - 1) + 1] -= size
    alive, total = [], 0
    for delta in change[:-1]:
        total += delta
        alive.append(total)
    return alive


def _last_read(
    name: str,
    step: Placed,
    at: int,
    readers: Mapping[str, set[str]],
    given: Mapping[str, tuple[str, ...]],
    ran: Mapping[str, list[int]],
    end: int,
) -> int:
    who = readers.get(name, set())
    if not who and step.within:
        who = set().union(*(readers.get(out, set()) for out in given.get(step.within, ())))
    if not who:
        return end
    # In a loop, the reader that comes next is the one.
    found = [at]
    for reader in who:
        times = ran.get(reader, [])
        k = bisect_left(times, at)
        found += times[k : k + 1]
    return max(found)
