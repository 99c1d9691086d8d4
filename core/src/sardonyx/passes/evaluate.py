"""Constant evaluation of single nodes with core's own shape kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sardonyx.ep.kernels import KernelSet, named_outputs
from sardonyx.ir.graph import Graph, Node
from sardonyx.ir.schema import schema

__all__ = ["Evaluate", "evaluate_with", "evaluator"]

Evaluate = Callable[[Node, list[Any]], list[Any] | None]


def evaluator(kernels: KernelSet) -> Evaluate:
    """A function `(node, inputs) -> outputs | None` over a kernel table; None for a node it has no kernel for, or that fails."""
    return lambda node, inputs: evaluate_with(kernels, node, inputs)


def evaluate_with(kernels: KernelSet, node: Node, inputs: list[Any]) -> list[Any] | None:
    """The outputs of one node for host arrays (None: an absent input), or None if that is not possible."""
    kernel = kernels.find(node.domain, node.op, node.since)
    if kernel is None or "rng" in kernel.filled or any(isinstance(a, Graph) for a in node.attrs.values()):
        return None
    filled: dict[str, Any] = {}
    if "n_outputs" in kernel.filled:
        filled["n_outputs"] = named_outputs(node)
    try:
        with np.errstate(all="ignore"):
            if "prepared" in kernel.filled and kernel.prepare is not None:
                filled["prepared"] = kernel.prepare(np, inputs, node.attrs)
            result = kernel.function(np, *inputs, **node.attrs, **filled)
    except Exception:
        # A node that cannot run reports why when it runs, with its place in the model.
        return None
    known = schema(node.domain, node.op, node.since)
    several = known.max_output > 1 if known is not None else isinstance(result, tuple)
    return list(result) if several else [result]
