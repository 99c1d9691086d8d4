"""The tape that derivatives are written on: new nodes with inferred types, and the few idioms that all rules share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, NoReturn

import numpy as np

from sardonyx.errors import NotSupported
from sardonyx.ir.dtypes import is_float
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.infer import infer_missing, infer_node
from sardonyx.ir.schema import newest
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import TensorType

__all__ = ["MAX_NODES", "Tape"]

MAX_NODES = 1 << 17


class Tape:
    """Appends nodes to `graph` on behalf of one Gradient node.

    Calling it adds a node of ONNX's newest operator: `t("Mul", g, 2.0)`. A float operand becomes a scalar of the element
    type of the first tensor of floats among the operands, an int or a list of ints a constant of int64, None is absent.
    """

    def __init__(self, gradient: Node):
        self.gradient = gradient
        self.graph = Graph()
        self.at = gradient
        self.shapes: dict[tuple[Value, int, int | None], Value] = {}

    def __call__(self, op: str, *operands: Any, outputs: int = 1, **attrs: Any) -> Any:
        """The output of a new node, or the tuple of several `outputs`."""
        dtype = next((v.dtype for v in operands if isinstance(v, Value) and v.dtype is not None and is_float(v.dtype)), None)
        inputs = [v if v is None or isinstance(v, Value) else self.constant(v, dtype) for v in operands]
        return self._node(op, inputs, outputs, attrs, newest("", op) or 1)

    def again(self, node: Node, inputs: Sequence[Value | None], outputs: int = 1, **attrs: Any) -> Any:
        """`node` with other inputs, and `attrs` in place of some of its own."""
        return self._node(node.op, inputs, outputs, node.attrs | attrs, node.since, node.domain)

    def _node(self, op: str, inputs: Sequence[Value | None], outputs: int, attrs: dict[str, Any], since: int, domain: str = "") -> Any:
        name = f"{self.gradient.name}/{self.at.name}/{op}" if self.at is not self.gradient else f"{self.gradient.name}/{op}"
        values = [Value(f"{name}_{i}" if i else name) for i in range(outputs)]
        node = self.append(Node(op, inputs, values, attrs, domain=domain, since=since, name=name, origins=self.origins()))
        for v, found in zip(values, infer_node(node), strict=False):
            v.type = found
        return values[0] if outputs == 1 else tuple(values)

    def origins(self) -> tuple[str, ...]:
        """Whence a node comes that is made now: from the Gradient, and the node that is being differentiated."""
        return tuple(dict.fromkeys((*self.gradient.origins, *self.at.origins)))

    @contextmanager
    def aside(self) -> Iterator[list[Node]]:
        """Nodes made within are collected in a list and not yet on the tape."""
        tape, self.graph = self.graph, Graph()
        try:
            yield self.graph.nodes
        finally:
            self.graph = tape

    def append(self, node: Node) -> Node:
        """Add a node that was made elsewhere."""
        if len(self.graph.nodes) >= MAX_NODES:
            raise NotSupported(f"node {self.gradient.name!r} (Gradient) needs more than {MAX_NODES} nodes")
        return self.graph.append(node)

    def infer(self, node: Node) -> None:
        """Fill in the types of a node's outputs and of its bodies."""
        infer_missing(Graph(nodes=[node]))
        node.graph = self.graph

    def refuse(self, reason: str) -> NoReturn:
        """NotSupported: the node that is being differentiated cannot be."""
        at, gradient = self.at, self.gradient
        message = f"node {gradient.name!r} (Gradient) cannot differentiate node {at.name!r} ({at.title}-{at.since}): {reason}"
        raise NotSupported(message, {name: {"Gradient": reason} for name in at.origins or (at.name,)})

    def constant(self, number: Any, dtype: np.dtype | None = None) -> Value:
        """A constant: floats of `dtype`, ints of int64."""
        if not isinstance(number, float):
            dtype = np.dtype(np.int64)
        elif dtype is None:
            self.refuse("the element type of a value is not known")
        tensor = Tensor.of(np.asarray(number, dtype))
        return Value(f"{self.gradient.name}/constant", TensorType(tensor.dtype, tensor.shape), tensor)

    def shape(self, x: Value, start: int = 0, end: int | None = None) -> Value:
        """Dims [start:end] of `x` as a tensor of int64, a constant where they are known."""
        dims = None if x.shape is None else x.shape[start:end]
        if dims is not None and all(isinstance(d, int) for d in dims):
            return self.constant(list(dims))
        key = (x, start, end)
        if key not in self.shapes:
            attrs = {k: v for k, v in (("start", start), ("end", end)) if v}
            self.shapes[key] = self("Shape", x, **attrs)
        return self.shapes[key]

    def ints(self, *parts: Any) -> Value:
        """A list of ints from lists of ints and tensors of int64 of rank 1, a constant where all are known."""
        values = [p if isinstance(p, Value) else self.constant(p) for p in parts]
        known = [v.const.numpy() for v in values if v.const is not None]
        return self("Concat", *values, axis=0) if len(known) < len(values) else self.constant(np.concatenate(known).tolist())

    def size(self, x: Value) -> Value:
        """The number of elements of `x`, a scalar of int64."""
        known = x.type.is_static if isinstance(x.type, TensorType) else False
        return self.constant(prod(d for d in x.shape or () if isinstance(d, int))) if known else self("Size", x)

    def rank(self, x: Value) -> int:
        """The rank of `x`; refuses where it is not known."""
        if x.rank is None:
            self.refuse(f"the rank of {x.name!r} is not known")
        return x.rank

    def full(self, number: float, like: Value) -> Value:
        """A tensor of the shape and element type of `like`."""
        scalar = self.constant(number, like.dtype)
        return scalar if like.shape == () else self("Expand", scalar, self.shape(like))

    def cast(self, x: Value, like: Value) -> Value:
        """`x` as the element type of `like`."""
        return x if x.dtype == like.dtype and x.dtype is not None else self("CastLike", x, like)

    def reshape(self, x: Value, shape: Value) -> Value:
        """`x` in another shape, in which a dim of 0 means 0."""
        dims = shape.const.numpy() if shape.const is not None else None
        return self("Reshape", x, shape, **({} if dims is not None and (dims > 0).all() else {"allowzero": 1}))

    def reshape_like(self, x: Value, like: Value) -> Value:
        """`x` in the shape of `like`."""
        return x if _same(x, like) else self.reshape(x, self.shape(like))

    def reduce_to(self, g: Value, x: Value) -> Value:
        """`g` summed over the axes along which `x` was broadcast to its shape."""
        if _same(g, x):
            return g
        if g.shape is None or x.shape is None or any(d != 1 and d != e for d, e in _pairs(x, g) if not isinstance(d, int)):
            return self._reduce_at_run(g, x)
        lead = len(g.shape) - len(x.shape)
        ones = [i for i, (d, e) in enumerate(_pairs(x, g), lead) if d == 1 and e != 1]
        if ones:
            g = self("ReduceSum", g, ones, keepdims=1)
        return self("ReduceSum", g, list(range(lead)), keepdims=0) if lead else g

    def _reduce_at_run(self, g: Value, x: Value) -> Value:
        dims, rank = self.shape(x), self("Size", self.shape(g))
        lead = self("Expand", 1, self("Reshape", self("Sub", rank, self("Size", dims)), [1]))
        axes = self("Reshape", self("NonZero", self("Equal", self("Concat", lead, dims, axis=0), 1)), [-1])
        return self.reshape(self("ReduceSum", g, axes, keepdims=1, noop_with_empty_axes=1), dims)


def _same(a: Value, b: Value) -> bool:
    return a.shape is not None and a.shape == b.shape and None not in a.shape


def _pairs(x: Value, g: Value) -> list[tuple[Any, Any]]:
    """Dims of `x` with those of `g` they lie on."""
    inner, outer = x.shape or (), g.shape or ()
    return list(zip(inner, outer[len(outer) - len(inner) :], strict=True))
