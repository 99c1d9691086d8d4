"""The channel-blocked layout: convolution nets keep it from end to end.

A whole-graph pass: it walks the nodes in order, gives outputs of convolutions and of what follows them the blocked layout,
and puts ConvertLayout before whatever needs plain tensors. The engine's convolution operators take both layouts, so a
plain input is converted once for all of its users or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from sardonyx.ep.rules import constant, ints
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.names import fresh_name
from sardonyx_ep_native.describe import BLOCKED
from sardonyx_ep_native.rules.activation import activation

__all__ = ["block_layout"]

# In the order of the engine's MapOp.
_MAP = {"Add": 1, "Sub": 2, "Mul": 4, "Div": 5, "Max": 7, "Min": 8}
_AFFINE = 9
_ANY = frozenset({("", "Conv"), ("sx", "Conv"), ("", "ConvTranspose"), ("sx", "ConvTranspose")})
_FEW, _BLOCK = 4, 16  # as plan_few of the engine takes them
_POOLS = frozenset({"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"})


def block_layout(graph: Graph) -> None:
    """Assign layouts in place."""
    if not any(n.key in _ANY for n in graph.nodes):
        return
    _Layout(graph).run()


class _Layout:
    def __init__(self, graph: Graph):
        self.graph = graph
        self.blocked: set[Value] = set()
        self.twins: dict[Value, Value] = {}  # of values: the same in the other layout
        self.done: list[Node] = []
        self.names = {n.name for n in graph.nodes}

    def run(self) -> None:
        for node in list(self.graph.nodes):
            kind = self._kind(node)
            if kind is None:
                self._plain(node)
                continue
            kind(node)
        outputs = set(self.graph.outputs)
        for v in outputs & self.blocked:
            self._give_plain(v)
        self.graph.nodes = self.done
        self.graph.sort()

    def _kind(self, node: Node) -> Callable[[Node], None] | None:
        """How to do the node in the blocked layout, or None."""
        if node.key in _ANY:
            return self._conv if node.inputs[0] is not None and node.inputs[0].dtype == np.float32 else None
        first = node.inputs[0] if node.inputs else None
        if node.domain == "sx":
            return self._keep if node.op in ("BlockShuffle", "BlockNorm") and first in self.blocked else None
        if node.domain != "" or not any(v in self.blocked for v in node.inputs):
            return None
        if node.op in _POOLS and first in self.blocked:
            return self._keep
        if node.op == "BatchNormalization":
            terms = _statistics(node)
            return None if terms is None else partial(self._batch_norm, terms=terms)
        if node.op in _MAP and len(node.inputs) == 2 and self._broadcasts(node):
            return self._binary
        if node.op == "Concat" and self._joins_channels(node):
            return self._concat
        if node.op == "Resize" and _resizes(node):
            return self._resize
        act = activation(node) if first in self.blocked else None
        return None if act is None else partial(self._unary, act=act)

    # What is done in the blocked layout.

    def _conv(self, node: Node) -> None:
        if _makes_few(node):
            self.done.append(node)
        else:
            self._emit(node)

    def _keep(self, node: Node) -> None:
        self._emit(node)

    def _unary(self, node: Node, act: dict[str, object]) -> None:
        self._replace(node, "BlockMap", node.inputs[:1], act)

    def _binary(self, node: Node) -> None:
        self._replace(node, "BlockMap", node.inputs, {"map": _MAP[node.op]})

    def _batch_norm(self, node: Node, terms: tuple[np.ndarray, np.ndarray]) -> None:
        scale, shift = (constant(t.astype(np.float32), f"{node.name}/{name}") for t, name in zip(terms, ("scale", "shift"), strict=True))
        self._replace(node, "BlockMap", [node.inputs[0], scale, shift], {"map": _AFFINE})

    def _concat(self, node: Node) -> None:
        self._replace(node, "BlockConcat", node.inputs, {})

    def _resize(self, node: Node) -> None:
        self._replace(node, "BlockResize", node.inputs, dict(node.attrs))

    # Whether a node can be.

    def _broadcasts(self, node: Node) -> bool:
        a, b = node.inputs
        out = node.outputs[0]
        if a is None or b is None or out is None or a.rank is None or b.rank is None or out.dtype != np.float32:
            return False
        big = max(a.rank, b.rank)
        return all(v not in self.blocked or v.rank == big for v in (a, b)) and 3 <= big <= 4

    def _joins_channels(self, node: Node) -> bool:
        rank = node.inputs[0].rank if node.inputs[0] is not None else None
        if rank is None or node.attrs["axis"] % rank != 1:
            return False
        known = all(v is not None and v.shape is not None and isinstance(v.shape[1], int) for v in node.inputs)
        return known and 2 * sum(v in self.blocked for v in node.inputs) >= len(node.inputs)

    # The machinery.

    def _emit(self, node: Node) -> None:
        node.attrs[BLOCKED] = tuple(int(i == 0) for i in range(len(node.outputs)))
        out = node.outputs[0]
        assert out is not None
        self.blocked.add(out)
        self.done.append(node)

    def _replace(self, node: Node, op: str, inputs: Sequence[Value | None], attrs: dict[str, object]) -> None:
        out = node.outputs[0]
        node.set_inputs(())
        node.outputs = ()
        new = Node(op, inputs, [out], dict(attrs), domain="sx", name=node.name, origins=node.origins)
        new.graph = self.graph
        self._emit(new)

    def _plain(self, node: Node) -> None:
        inputs = [self._plain_twin(v) if v in self.blocked else v for v in node.inputs]
        if inputs != list(node.inputs):
            node.set_inputs(inputs)
        self.done.append(node)

    def _plain_twin(self, value: Value | None) -> Value:
        assert value is not None
        if value not in self.twins:
            self.twins[value] = self._convert(value, Value(value.name + "/plain", value.type))
        return self.twins[value]

    def _convert(self, value: Value, to: Value) -> Value:
        origins = value.producer.origins if value.producer is not None else ()
        name = fresh_name(f"{value.name}/ConvertLayout", self.names)
        node = Node("ConvertLayout", [value], [to], {BLOCKED: (0,)}, domain="sx", name=name, origins=origins)
        node.graph = self.graph
        self.done.append(node)
        return to

    def _give_plain(self, value: Value) -> None:
        """A graph's output that is made blocked: its producer makes another value, and the conversion this one."""
        producer = value.producer
        assert producer is not None
        inner = Value(value.name + "/blocked", value.type)
        inner.producer = producer
        producer.outputs = tuple(inner if v is value else v for v in producer.outputs)
        value.producer = None
        for node in {n: None for n, _ in value.uses}:
            node.set_inputs(inner if v is value else v for v in node.inputs)
        self._convert(inner, value)


def _makes_few(node: Node) -> bool:
    """Whether a Conv makes at most four channels of whole blocks: these are padding for the most part in the blocked layout."""
    x, weights = node.inputs[0], node.const(1)
    if node.op != "Conv" or weights is None or x is None or x.shape is None or not 3 <= len(x.shape) <= 4 or len(node.inputs) > 3:
        return False
    outputs = weights.shape[1 if node.attrs.get("weights_turned") else 0]
    return outputs <= _FEW and node.attrs.get("group", 1) == 1 and isinstance(x.shape[1], int) and x.shape[1] % _BLOCK == 0


def _statistics(node: Node) -> tuple[np.ndarray, np.ndarray] | None:
    """(scale, shift) per channel of an inference BatchNormalization with constant statistics."""
    values = [node.const(i) for i in range(1, 5)]
    if node.attrs.get("training_mode") or any(v is None for v in values) or any(v is not None and v.uses for v in node.outputs[1:]):
        return None
    gamma, beta, mean, variance = (v.astype(np.float64) for v in values if v is not None)
    scale = gamma / np.sqrt(variance + node.attrs.get("epsilon", 1e-5))
    return scale, beta - mean * scale


def _resizes(node: Node) -> bool:
    """Whether a Resize of a rank-4 tensor is one of the engine's: nearest or linear, of height and width alone."""
    attrs, x = node.attrs, node.inputs[0]
    if (
        x is None
        or x.rank != 4
        or x.dtype != np.float32
        or attrs.get("mode", "nearest") not in ("nearest", "linear")
        or attrs.get("antialias")
    ):
        return False
    if attrs.get("coordinate_transformation_mode", "half_pixel") not in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
        return False
    if attrs.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        return False
    axes = attrs.get("axes")
    if axes is not None:
        return all(a % 4 >= 2 for a in axes)
    scales, sizes = node.const(2), ints(node.input(3))
    if sizes:
        return x.shape is not None and tuple(sizes[:2]) == x.shape[:2]
    return scales is not None and scales.size == 4 and scales[0] == scales[1] == 1
