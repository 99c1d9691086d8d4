"""Types of operators that ONNX does not define: who knows such operators says so while a model is loaded and placed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sardonyx.ir.graph import Node
from sardonyx.ir.types import ValueType

__all__ = ["infer_custom", "inferring"]

Infer = Callable[[Node], list[ValueType] | None]
_infer: ContextVar[Infer | None] = ContextVar("sardonyx_custom_types", default=None)


@contextmanager
def inferring(infer: Infer) -> Iterator[None]:
    """Within it, `infer` gives the output types of nodes whose operator ONNX does not define, or None."""
    token = _infer.set(infer)
    try:
        yield
    finally:
        _infer.reset(token)


def infer_custom(node: Node) -> list[ValueType] | None:
    """The output types of a node whose operator ONNX does not define, or None where nobody knows it."""
    infer = _infer.get()
    return None if infer is None else infer(node)
