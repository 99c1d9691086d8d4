"""Output types of operators outside onnx.defs: one small function per operator, `(node) -> [type, ...]`."""

from __future__ import annotations

from collections.abc import Callable

from sardonyx.ir.graph import Node
from sardonyx.ir.types import ValueType

__all__ = ["CONTRIB"]

CONTRIB: dict[tuple[str, str], Callable[[Node], list[ValueType]]] = {}
