"""The host evaluator: one node on constant host arrays, by core's shape kernels or an installed host provider's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sardonyx.ep.kernels import KernelSet
from sardonyx.ep.shape_kernels import shape_kernels
from sardonyx.ir.graph import Node
from sardonyx.passes.evaluate import Evaluate, evaluate_with

__all__ = ["evaluator"]


def evaluator(more: Sequence[KernelSet] = ()) -> Evaluate:
    """A function (node, input arrays) -> output arrays, or None where no table has a deterministic kernel for the node, or
    where it fails: the node then stays as it is, and its error is raised where it belongs."""
    tables = (shape_kernels, *more)

    def evaluate(node: Node, inputs: list[Any]) -> list[Any] | None:
        for table in tables:
            if table.find(node.domain, node.op, node.since) is not None:
                return evaluate_with(table, node, inputs)
        return None

    return evaluate
