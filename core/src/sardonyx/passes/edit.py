"""What a rule proposes: new nodes, and the values they replace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.infer import infer_node
from sardonyx.ir.schema import STANDARD, newest
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import TensorType, ValueType

__all__ = ["Edit", "No", "Outcome", "constant", "no"]


@dataclass(frozen=True, slots=True)
class No:
    """Why a rule leaves a node alone."""

    reason: str

    def __bool__(self) -> bool:
        return False


def no(reason: str) -> No:
    """A failed match with its reason, for whoever asks why a rule did not fire."""
    return No(reason)


def constant(array: Any, name: str = "constant") -> Value:
    """A new constant value that holds `array`."""
    tensor = array if isinstance(array, Tensor) else Tensor.of(array)
    return Value(name, TensorType(tensor.dtype, tensor.shape), tensor)


class Edit:
    """A proposed rewrite. Nothing in the graph changes until the framework applies it.

    `matched` are the nodes the pattern covers, the root (the last of them in the graph) first: new nodes take over their
    origins, and those that nobody needs afterwards are removed. Other users of a matched node's output keep it alive.
    """

    __slots__ = ("known", "matched", "moves", "nodes")

    def __init__(self, *matched: Node):
        self.matched: tuple[Node, ...] = matched
        self.nodes: list[Node] = []
        self.moves: list[tuple[Value, Value]] = []
        # Whether the installed onnx has every operator that was added.
        self.known = True

    def add(
        self,
        op: str,
        inputs: Sequence[Value | None],
        attrs: dict[str, Any] | None = None,
        *,
        domain: str = "",
        like: Value | None = None,
        type: ValueType = None,
        outputs: int = 1,
    ) -> Any:
        """A new node of the operator's newest version; returns its output, or a tuple of `outputs` of them.

        The type of the output is `type`, else that of `like`, else the framework infers it.
        """
        if type is None and like is not None:
            type = like.type
        values = (Value("", type),) if outputs == 1 else tuple([Value("", type) for _ in range(outputs)])
        clean = {k: v for k, v in attrs.items() if v is not None} if attrs else {}
        # Uses are entered when the edit is applied, so the node holds its inputs without announcing them yet.
        since = newest(domain, op)
        self.known &= since is not None or domain not in STANDARD
        node = Node(op, (), values, clean, domain=domain, since=since or 1)
        node.inputs = tuple(inputs)
        self.nodes.append(node)
        return values[0] if outputs == 1 else values

    def infer(self) -> None:
        """Infer the types of the new nodes' outputs, for a rule that must know them."""
        for node in self.nodes:
            missing = [v for v in node.outputs if v is not None and v.type is None]
            if missing:
                for v, t in zip(node.outputs, infer_node(node), strict=False):
                    if v in missing:
                        v.type = t  # type: ignore[union-attr]

    def replace(self, old: Value, new: Value) -> Edit:
        """Let every use of `old` be `new`; returns self, so that it can end a rule."""
        self.moves.append((old, new))
        return self


Outcome = Edit | No | None
