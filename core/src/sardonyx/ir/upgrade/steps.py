"""The table of upgrade steps, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.infer import infer_node
from sardonyx.ir.names import fresh_name
from sardonyx.ir.schema import newest, since_version
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import TensorType, ValueType

__all__ = ["Step", "Steps", "constant", "fresh_names", "int64s", "is_used", "new_node", "rename"]

Step = Callable[[Node], bool | list[Node]]


class Steps:
    """Upgrade steps by operator.

    A step `to` a version takes a node of any version below it. It returns True after rewriting the node in place to the
    form of version `to`, a list of nodes (already in their newest forms) that replace it, or False if the node has to keep
    a version below `to`; it must then have left the node as it was. With `whole` the step deals with every change of form
    before `to`, so a node that it leaves keeps its version.
    """

    def __init__(self) -> None:
        self.table: dict[tuple[str, str], list[tuple[int, Step, bool]]] = {}

    def add(self, *ops: str, to: int, domain: str = "", whole: bool = False) -> Callable[[Step], Step]:
        """Register the decorated function as the step of `ops` to version `to`."""

        def register(step: Step) -> Step:
            for op in ops:
                chain = self.table.setdefault((domain, op), [])
                chain.append((to, step, whole))
                chain.sort(key=lambda s: s[0])
            return step

        return register

    def include(self, *others: Steps) -> Steps:
        """Take over the steps of other tables; returns self."""
        for other in others:
            for key, chain in other.table.items():
                self.table[key] = sorted(self.table.get(key, []) + chain, key=lambda s: s[0])
        return self

    def raise_node(self, node: Node) -> list[Node] | None:
        """Raise a node as far as its steps go: None if it stays in place, else what replaces it."""
        top = newest(node.domain, node.op)
        if top is None:
            return None
        for to, step, whole in self.table.get(node.key, ()):
            if node.since >= to:
                continue
            outcome = step(node)
            if outcome is False:
                node.since = node.since if whole else since_version(node.domain, node.op, to - 1) or node.since
                return None
            if outcome is not True:
                return outcome
            node.since = to
        node.since = max(node.since, top)
        return None


def constant(name: str, array: np.ndarray) -> Value:
    """A constant value that holds `array`."""
    tensor = Tensor.of(array)
    return Value(name, TensorType(tensor.dtype, tensor.shape), tensor)


def int64s(name: str, values: Iterable[int] | int) -> Value:
    """A constant of int64: a list gives rank 1, a number rank 0."""
    return constant(name, np.array(values if isinstance(values, int) else list(values), np.int64))


def new_node(like: Node, op: str, inputs: Iterable[Value | None], outputs: Iterable[Value | None] | None = None, **attrs: Any) -> Node:
    """A node of ONNX's newest `op` with the origins of `like`; without `outputs` it gets one new value of inferred type."""
    made = outputs is None
    values = [Value(f"{like.name}/{op}")] if outputs is None else outputs
    node = Node(op, inputs, values, attrs, since=newest("", op) or 1, name=f"{like.name}/{op}", origins=like.origins)
    if made:
        types: list[ValueType] = infer_node(node)
        node.outputs[0].type = types[0] if types else None  # type: ignore[union-attr]
    return node


def rename(node: Node, op: str, inputs: Iterable[Value | None], attrs: dict[str, Any]) -> list[Node]:
    """A node of another operator of ONNX that gives the outputs of `node` and keeps its name."""
    return [Node(op, inputs, node.outputs, attrs, since=newest("", op) or 1, name=node.name, origins=node.origins)]


def is_used(value: Value | None) -> bool:
    """Whether a node reads the value, or a graph gives it as an output."""
    if value is None:
        return False
    if value.uses:
        return True
    graph = value.producer.graph if value.producer is not None else None
    return graph is not None and any(value in g.outputs for g in graph.walk_graphs())


def fresh_names(new: list[Node], old: Node, taken: set[str]) -> None:
    """Give the nodes that replace `old` names that nothing has; one may keep the name of `old`."""
    taken.discard(old.name)
    for node in new:
        node.name = fresh_name(node.name, taken)
