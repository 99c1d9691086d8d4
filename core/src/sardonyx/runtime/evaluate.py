"""The host evaluator: one node on constant host arrays, by core's shape kernels or an installed host provider's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sardonyx.ep.kernels import KernelSet
from sardonyx.ep.shape_kernels import shape_kernels
from sardonyx.ir.graph import Node
from sardonyx.ir.schema import schema

__all__ = ["evaluator"]


def evaluator(more: Sequence[KernelSet] = ()) -> Callable[[Node, list[Any]], list[Any] | None]:
    """A function (node, input arrays) -> output arrays, or None where no table has a deterministic kernel for the node.

    Errors of a kernel come through: the caller leaves the node as it is, so that they are raised where they belong.
    """
    tables = (shape_kernels, *more)

    def evaluate(node: Node, inputs: list[Any]) -> list[Any] | None:
        if node.bodies:
            return None
        for table in tables:
            kernel = table.find(node.domain, node.op, node.since)
            if kernel is not None:
                break
        else:
            return None
        if "rng" in kernel.filled or node.attrs.keys() - kernel.attributes:
            return None
        attrs = dict(node.attrs)
        if "n_outputs" in kernel.filled:
            attrs["n_outputs"] = len(node.outputs)
        if "prepared" in kernel.filled:
            assert kernel.prepare is not None
            attrs["prepared"] = kernel.prepare(np, inputs, node.attrs)
        with np.errstate(all="ignore"):
            result = kernel.function(np, *inputs, **attrs)
        known = schema(node.domain, node.op, node.since)
        many = known.max_output > 1 if known is not None else type(result) is tuple
        return list(result) if many else [result]

    return evaluate
