"""Recurrent operators and loops."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx.ir.upgrade.steps import Steps

__all__ = ["steps"]

steps = Steps()


@steps.add("GRU", to=3)
def gru_3(node: Node) -> bool:
    """GRU-1 misspells its default direction."""
    if node.attrs.get("direction") == "foward":
        node.attrs["direction"] = "forward"
    return True


@steps.add("GRU", "LSTM", "RNN", to=7)
def recurrent_7(node: Node) -> bool:
    """`output_sequence` went; an output is wanted if it has a name."""
    node.attrs.pop("output_sequence", None)
    return True


@steps.add("Scan", to=9)
def scan_9(node: Node) -> bool:
    """Scan-8 runs over a batch, with a length for each of its sequences; newer ones know no batch."""
    return False
