"""Names while a model is built: what is visible where, and what holds within a graph or function."""

from __future__ import annotations

from typing import Any

from sardonyx.ir.graph import Value
from sardonyx.ir.proto import text

__all__ = ["Context", "Path", "Scope", "domain_of", "function_key"]

# Where a body is in the main graph: (index of the node, of its attribute), outermost first.
Path = tuple[tuple[int, int], ...]


class Scope:
    """Names visible at one level: its own, then the enclosing ones. Values made here are called `prefix` + their name."""

    def __init__(self, parent: Scope | None = None, prefix: str = ""):
        self.parent, self.prefix = parent, prefix
        self.values: dict[str, Value] = {}
        self.pending: set[str] = set()

    def find(self, name: str) -> Value | None:
        """The value of a name; one that a later node of this level gives is made on the way."""
        scope: Scope | None = self
        while scope is not None:
            value = scope.values.get(name)
            if value is not None:
                return value
            if name in scope.pending:
                value = scope.values[name] = Value(scope.prefix + name)
                return value
            scope = scope.parent
        return None


class Context:
    """What holds within one graph or function: operator set versions, attribute references, the prefix of node names, and
    the path to the graph in the file (None within functions)."""

    __slots__ = ("opsets", "path", "prefix", "refs")

    def __init__(self, opsets: dict[str, int], refs: dict[str, Any], prefix: str, path: Path | None = None):
        self.opsets, self.refs, self.prefix, self.path = opsets, refs, prefix, path

    def within(self, name: str, node: int, attribute: int) -> Context:
        """The same in a body of the node with that name and place."""
        return Context(self.opsets, self.refs, f"{name}/", None if self.path is None else (*self.path, (node, attribute)))


def domain_of(domain: str) -> str:
    """The domain as the IR writes it: ONNX's own is empty."""
    return "" if domain == "ai.onnx" else text(domain)


def function_key(f: Any) -> tuple[str, str, str]:
    """(domain, name, overload) of a FunctionProto."""
    return domain_of(f.domain), text(f.name), text(f.overload)
