"""Raise nodes to the newest form of their operator wherever nothing is lost."""

from __future__ import annotations

from sardonyx.ir.graph import Graph

__all__ = ["upgrade"]


def upgrade(graph: Graph) -> None:
    """Upgrade every node of the graph and its bodies in place."""
