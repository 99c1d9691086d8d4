"""Chains of float32 elementwise operators as one program each, which reads and writes memory once.

A whole-graph pass: from the last operator of a chain it goes up to every producer whose result only the chain reads and
has the chain's shape. The engine runs the program (attribute `program`) block by block; its operands are numbered, inputs
first, then the results of its instructions: "Mul 0 1;Add 3 2;Relu 4".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx.ep.rules import constant, same_shape, scalar
from sardonyx.ir.graph import Graph, Node, Value

__all__ = ["fuse_elementwise_chains"]

_BINARY = frozenset({"Add", "Sub", "Mul", "Div", "Min", "Max", "PRelu"})
_SMOOTH = frozenset({"Exp", "Log", "Sin", "Cos", "Tan", "Erf", "Tanh", "Sigmoid", "Softplus", "Softsign", "Mish", "HardSwish"})
_PLAIN = _SMOOTH | {"Neg", "Abs", "Sqrt", "Reciprocal", "Relu", "Floor", "Ceil", "Round", "Sign"}
# Attributes with their defaults, in the order of the engine's two numbers.
_ATTRIBUTES: dict[str, tuple[tuple[str, float], ...]] = {
    "LeakyRelu": (("alpha", 0.01),),
    "Elu": (("alpha", 1.0),),
    "Selu": (("alpha", 1.6732631921768188), ("gamma", 1.0507010221481323)),
    "Celu": (("alpha", 1.0),),
    "HardSigmoid": (("alpha", 0.2), ("beta", 0.5)),
    "Swish": (("alpha", 1.0),),
    "ThresholdedRelu": (("alpha", 1.0),),
    "Shrink": (("bias", 0.0), ("lambd", 0.5)),
}
_POWERS = {2.0: "Square", 3.0: "Cube", 0.5: "PowHalf", -1.0: "Reciprocal"}
_FLOAT_MAX = float(np.finfo(np.float32).max)
_MOST_INPUTS = 8
_MOST_INSTRUCTIONS = 16


@dataclass(frozen=True, slots=True)
class _Step:
    """One instruction: a loop of the engine, its operands, its two numbers."""

    loop: str
    operands: tuple[Value, ...]
    numbers: tuple[float, float] = (0.0, 0.0)


def fuse_elementwise_chains(graph: Graph) -> int:
    """Replace chains of two and more operators in place; returns how many there were."""
    results = set(graph.outputs)
    taken: set[Node] = set()
    fused: dict[Node, Node] = {}
    for root in reversed(graph.nodes):
        if root in taken or not (steps := _steps(root)):
            continue
        members = _members(root, steps, results)
        if len(members) > 1:
            taken.update(members)
            fused[root] = _chain(root, members)
    if fused:
        graph.nodes = [fused.get(n, n) for n in graph.nodes if n in fused or n not in taken]
    return len(fused)


def _steps(node: Node) -> list[_Step]:
    """The instructions that do the work of a node, each taking the result of the one before as its first operand; none
    if the engine's programs have no such operator."""
    inputs = [v for v in node.inputs if v is not None]
    if node.domain or not inputs or any(v is None or v.dtype != np.float32 for v in (*inputs, *node.outputs)):
        return []
    first = inputs[0]
    if node.op in _BINARY and len(inputs) == 2:
        return [_Step(node.op, (first, inputs[1]))]
    if node.op in _PLAIN:
        return [_Step(node.op, (first,))]
    if node.op == "Gelu":
        return [_Step("GeluTanh" if node.attrs.get("approximate") == "tanh" else "Gelu", (first,))]
    if node.op in _ATTRIBUTES:
        numbers = [float(node.attrs.get(name, default)) for name, default in _ATTRIBUTES[node.op]]
        return [_Step(node.op, (first,), (numbers[0], numbers[1] if len(numbers) > 1 else 0.0))]
    if node.op == "Clip":
        low, high = (otherwise if v is None else scalar(v) for v, otherwise in ((node.input(1), -_FLOAT_MAX), (node.input(2), _FLOAT_MAX)))
        return (
            [] if low is None or high is None or np.isnan(low) or np.isnan(high) else [_Step("Clip", (first,), (float(low), float(high)))]
        )
    if node.op == "Pow":
        loop = _POWERS.get(float(power)) if (power := scalar(inputs[1])) is not None else None
        return [] if loop is None else [_Step(loop, (first,))]
    return _batch_normalization(node)


def _batch_normalization(node: Node) -> list[_Step]:
    """BatchNormalization with constant statistics: a factor and an offset by channel."""
    x = node.inputs[0]
    if node.op != "BatchNormalization" or node.attrs.get("training_mode") or x is None or not x.rank:
        return []
    values = [node.const(i) for i in range(1, 5)]
    if any(v is None for v in values):
        return []
    scale, bias, mean, variance = (v.astype(np.float64) for v in values if v is not None)
    factor = scale / np.sqrt(variance + node.attrs.get("epsilon", 1e-5))
    shape = (-1, *(1,) * (x.rank - 2))
    by_channel = [
        constant(v.astype(np.float32).reshape(shape), f"{node.name}/{name}")
        for v, name in ((factor, "factor"), (bias - mean * factor, "offset"))
    ]
    return [_Step("Mul", (x, by_channel[0])), _Step("Add", (x, by_channel[1]))]


def _members(root: Node, steps: list[_Step], results: set[Value]) -> dict[Node, list[_Step]]:
    """The nodes of the chain that ends in `root`, with their instructions."""
    members = {root: steps}
    outside = _operands(steps)
    queue = list(outside)
    while queue:
        value = queue.pop()
        node = value.producer
        if node is None or node in members or value in results or not _inside(value, members, root):
            continue
        more = _steps(node)
        inputs = {v: None for v in outside | _operands(more) if v is not value}
        count = sum(len(s) for s in members.values()) + len(more)
        if not more or len(inputs) > _MOST_INPUTS or count > _MOST_INSTRUCTIONS:
            continue
        members[node] = more
        outside = inputs
        queue += _operands(more)
    return members


def _operands(steps: list[_Step]) -> dict[Value, None]:
    return {v: None for s in steps for v in s.operands}


def _inside(value: Value, members: dict[Node, list[_Step]], root: Node) -> bool:
    """Whether only the chain reads the value, and it has the chain's shape."""
    out = root.outputs[0]
    return out is not None and all(n in members for n, _ in value.uses) and same_shape(value, out)


def _chain(root: Node, members: dict[Node, list[_Step]]) -> Node:
    graph = root.graph
    assert graph is not None
    order = _in_order(root, members)
    made = {n.outputs[0] for n in order}
    inputs = list(dict.fromkeys(v for n in order for s in members[n] for v in s.operands if v not in made))
    number = {v: i for i, v in enumerate(inputs)}
    program: list[str] = []
    params: list[float] = []
    for node in order:
        before: int | None = None
        for step in members[node]:
            operands = [number[v] for v in step.operands]
            if before is not None:
                operands[0] = before
            before = len(inputs) + len(program)
            program.append(" ".join([step.loop, *map(str, operands)]))
            params += step.numbers
        out = node.outputs[0]
        assert out is not None
        assert before is not None
        number[out] = before
    result = root.outputs[0]
    for node in order:
        node.set_inputs(())
        node.graph = None
    origins = tuple(dict.fromkeys(name for n in order for name in n.origins))
    attrs = {"program": ";".join(program), "params": tuple(params)}
    chain = Node("Chain", inputs, [result], attrs, domain="sx", name=root.name, origins=origins)
    chain.graph = graph
    return chain


def _in_order(root: Node, members: dict[Node, list[_Step]]) -> list[Node]:
    """Members with producers first."""
    order: dict[Node, None] = {}

    def visit(node: Node) -> None:
        for v in node.inputs:
            if v is not None and v.producer in members and v.producer not in order:
                visit(v.producer)
        order[node] = None

    visit(root)
    return list(order)
