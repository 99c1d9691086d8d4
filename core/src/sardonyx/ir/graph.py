"""Graph, Node and Value: the model as passes and providers see it.

A Value knows its producer and its uses; a Node knows its graph. The bodies of If, Loop and Scan are Graphs in the node's
attributes, and they refer to values of the enclosing graphs directly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import Shape, TensorType, ValueType

__all__ = ["BODIED", "Graph", "Model", "Node", "Value"]

# ONNX's own operators that have graphs among their attributes; those of other domains may have, too.
BODIED = frozenset({"If", "Loop", "Scan", "SequenceMap"})


class Value:
    """One value: a graph input, a constant, or an output of a node. `const` is the Tensor of a constant, else None."""

    __slots__ = ("const", "name", "producer", "type", "uses")

    def __init__(self, name: str, type: ValueType = None, const: Tensor | None = None):
        self.name, self.type, self.const = name, type, const
        self.producer: Node | None = None
        self.uses: list[tuple[Node, int]] = []

    @property
    def dtype(self) -> np.dtype | None:
        """Element type of a tensor, or None."""
        return self.type.dtype if isinstance(self.type, TensorType) else None

    @property
    def shape(self) -> Shape:
        """Shape of a tensor, or None."""
        return self.type.shape if isinstance(self.type, TensorType) else None

    @property
    def rank(self) -> int | None:
        """Rank of a tensor, or None."""
        shape = self.shape
        return None if shape is None else len(shape)

    def __repr__(self) -> str:
        return f"%{self.name}"


class Node:
    """One operator application. `since` is the since_version of the operator's schema, `origins` the user's node names."""

    __slots__ = ("attrs", "domain", "graph", "inputs", "name", "op", "origins", "outputs", "since")

    def __init__(
        self,
        op: str,
        inputs: Iterable[Value | None],
        outputs: Iterable[Value | None],
        attrs: dict[str, Any] | None = None,
        *,
        domain: str = "",
        since: int = 1,
        name: str = "",
        origins: tuple[str, ...] = (),
    ):
        self.op, self.domain, self.since, self.name, self.origins = op, domain, since, name, origins
        self.attrs: dict[str, Any] = attrs or {}
        self.graph: Graph | None = None
        self.inputs: tuple[Value | None, ...] = ()
        self.outputs: tuple[Value | None, ...] = tuple(outputs)
        for out in self.outputs:
            if out is not None:
                out.producer = self
        self.set_inputs(inputs)

    def set_inputs(self, inputs: Iterable[Value | None]) -> None:
        """Replace all inputs, keeping the uses of the values true."""
        if self.inputs:
            for i, v in enumerate(self.inputs):
                if v is not None:
                    v.uses.remove((self, i))
        self.inputs = tuple(inputs)
        for i, v in enumerate(self.inputs):
            if v is not None:
                v.uses.append((self, i))

    def input(self, index: int) -> Value | None:
        """The input at `index`, None where it is absent."""
        return self.inputs[index] if index < len(self.inputs) else None

    def const(self, index: int) -> np.ndarray | None:
        """The value of a constant input, or None."""
        v = self.input(index)
        return v.const.numpy() if v is not None and v.const is not None else None

    @property
    def bodies(self) -> list[Graph]:
        """The graphs among the attributes."""
        if self.op not in BODIED and not self.domain:
            return []
        return [a for a in self.attrs.values() if isinstance(a, Graph)]

    @property
    def key(self) -> tuple[str, str]:
        """(domain, operator)."""
        return self.domain, self.op

    @property
    def title(self) -> str:
        """`domain::Op` for messages, without the domain where it is ONNX's own."""
        return f"{self.domain}::{self.op}" if self.domain else self.op

    def __repr__(self) -> str:
        return f"<{self.title}-{self.since} {self.name!r}>"


class Graph:
    """Nodes in topological order, with inputs, outputs and (for a body) values captured from outside."""

    def __init__(self, name: str = "", inputs: Iterable[Value] = (), outputs: Iterable[Value] = (), nodes: Iterable[Node] = ()):
        self.name = name
        self.inputs: list[Value] = list(inputs)
        self.outputs: list[Value] = list(outputs)
        self.nodes: list[Node] = []
        for node in nodes:
            self.append(node)

    def append(self, node: Node) -> Node:
        """Add a node at the end."""
        node.graph = self
        self.nodes.append(node)
        return node

    def insert_before(self, anchor: Node, nodes: Iterable[Node]) -> None:
        """Add nodes just before `anchor`."""
        at = self.nodes.index(anchor)
        new = list(nodes)
        for node in new:
            node.graph = self
        self.nodes[at:at] = new

    def remove(self, nodes: Iterable[Node]) -> None:
        """Remove nodes whose outputs nobody uses any more."""
        gone = set(nodes)
        for node in gone:
            node.set_inputs(())
            for body in node.bodies:
                body.remove(list(body.nodes))
        self.nodes = [n for n in self.nodes if n not in gone]

    def replace_uses(self, old: Value, new: Value) -> None:
        """Let every use of `old`, in this graph and in bodies, and every graph output that is `old`, be `new`."""
        graphs = {self}
        for node, _ in list(old.uses):
            node.set_inputs(new if v is old else v for v in node.inputs)
            if node.graph is not None:
                graphs.add(node.graph)
        for graph in self.walk_graphs():
            graph.outputs = [new if v is old else v for v in graph.outputs]

    def walk_graphs(self) -> Iterator[Graph]:
        """This graph and every body in it, outermost first."""
        yield self
        for node in [n for n in self.nodes if n.op in BODIED or n.domain]:
            for body in node.bodies:
                yield from body.walk_graphs()

    def walk_nodes(self) -> Iterator[Node]:
        """Every node, those of bodies included, a node before its bodies."""
        for node in self.nodes:
            yield node
            for body in node.bodies:
                yield from body.walk_nodes()

    def constants(self) -> list[Value]:
        """The distinct constants that nodes or outputs of this graph (not of bodies) refer to."""
        used = [v for node in self.nodes for v in node.inputs if v is not None] + self.outputs
        return list(dict.fromkeys(v for v in used if v.const is not None))

    def captures(self) -> list[Value]:
        """Values of enclosing graphs that this graph or its bodies use, constants included, in order of first use."""
        own = set(self.inputs)
        seen: dict[Value, None] = {}
        for node in self.nodes:
            own.update(v for v in node.outputs if v is not None)
        for node in self.nodes:
            used = [v for v in node.inputs if v is not None]
            for body in node.bodies:
                used += body.captures()
            for v in used:
                if v not in own:
                    seen[v] = None
        for v in self.outputs:
            if v not in own:
                seen[v] = None
        return list(seen)

    def sort(self) -> Node | None:
        """Put the nodes in topological order, keeping the given order where it is free; or give a node that lies on a cycle."""
        placed: list[Node] = []
        done: set[Node] = set()
        members = set(self.nodes)

        def needs(node: Node) -> Iterator[Node]:
            values = [v for v in node.inputs if v is not None]
            for body in node.bodies:
                values += body.captures()
            for v in values:
                if v.producer is not None and v.producer in members:
                    yield v.producer

        for root in self.nodes:
            if root in done:
                continue
            stack: list[tuple[Node, Iterator[Node]]] = [(root, needs(root))]
            open_nodes = {root}
            while stack:
                node, it = stack[-1]
                for dep in it:
                    if dep in done:
                        continue
                    if dep in open_nodes:
                        return dep
                    open_nodes.add(dep)
                    stack.append((dep, needs(dep)))
                    break
                else:
                    stack.pop()
                    open_nodes.discard(node)
                    done.add(node)
                    placed.append(node)
        self.nodes = placed
        return None


@dataclass
class Model:
    """A loaded model: its graph and what the file says about itself.

    `overridable` holds the default of each graph input that has an initializer; `output_types` what the file declares
    for each output: (name, type); `warnings` what the file says wrongly and the loader overruled, `cautions` what may make its
    results others than its author's; `fixed` which symbolic dimensions and denotations the loader was told the sizes of, and found.
    """

    graph: Graph
    ir_version: int = 0
    opsets: dict[str, int] = field(default_factory=dict)
    producer_name: str = ""
    producer_version: str = ""
    domain: str = ""
    version: int | None = None
    doc: str = ""
    graph_doc: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    overridable: dict[str, Tensor] = field(default_factory=dict)
    output_types: list[tuple[str, ValueType]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)
    fixed: set[str] = field(default_factory=set)
