"""Fold what is computed from shapes, carry it into the targets of Reshape, and sharpen the types that follow from it."""

from __future__ import annotations

import contextlib

import numpy as np

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.infer import infer_node
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import Shape, TensorType, ValueType
from sardonyx.passes.basic.quick_types import quick_type
from sardonyx.passes.basic.roots import Roots
from sardonyx.passes.basic.shape_contents import CONTENTS, Contents
from sardonyx.passes.dims import broadcast_dims, reshape_dims, reshape_target
from sardonyx.passes.edit import constant
from sardonyx.passes.match import ints
from sardonyx.passes.rules import sharper

__all__ = ["fold_shapes"]

SMALL = 64
DTYPES = (np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.bool_))
GIVEN = ("Reshape", "Expand", "Range", "ConstantOfShape")
LEARNT = frozenset([*CONTENTS, "Split"])
SHAPED = frozenset(["Slice", "Range", "ConstantOfShape", "Tile", "Resize", "Pad", "Split", "TopK", "OneHot", "Unsqueeze", "Squeeze"])


def fold_shapes(graph: Graph, sharpened: set[Value] | None = None, *, at_roots: bool = True) -> int:
    """Fold shape computations of known result and sharpen types, in bodies too; returns how many nodes it changed, and adds to
    `sharpened` the values whose types it changed. `at_roots`: read the sizes of inputs' dims at the inputs (see Roots)."""
    shapes = _Shapes(graph, sharpened if sharpened is not None else set(), at_roots)
    count = shapes.run(graph)
    for node in shapes.roots.new:
        node.graph = graph
    graph.nodes[:0] = shapes.roots.new
    return count


class _Shapes:
    def __init__(self, graph: Graph, sharpened: set[Value], at_roots: bool) -> None:
        self.roots = Roots(graph)
        self.at_roots = at_roots
        self.sharpened = sharpened
        self.results = {v for level in graph.walk_graphs() for v in level.outputs}
        self.contents: dict[Value, Contents] = {}
        self.touched: set[Value] = set()

    def get(self, value: Value | None) -> Contents | None:
        if value is None:
            return None
        found = self.contents.get(value)
        if found is None and value.const is not None:
            tensor = value.const
            if tensor.size <= SMALL and tensor.dtype.kind in "iub" and len(tensor.shape) < 2:
                found = self.contents[value] = [int(i) for i in tensor.numpy().reshape(-1)]
        return found

    def run(self, graph: Graph) -> int:
        count = 0
        folded: list[Node] = []
        for node in graph.nodes:
            for body in node.bodies:
                count += self.run(body)
            if node.domain != "" or not node.outputs or node.outputs[0] is None:
                continue
            known = node.op in LEARNT and self._learn(node)
            if known or (self.at_roots and node.outputs[0] in self.contents and self._read_at_root(node)):
                folded.append(node)
                continue
            self._sharpen(node)
            for v in node.outputs:
                if _name_dims(v):
                    self.sharpened.add(v)  # type: ignore[arg-type]
            if node.op == "Reshape":
                count += self._aim(node)
        if folded:
            graph.remove(folded)
        return count + len(folded)

    def _learn(self, node: Node) -> bool:
        """Find the contents of the node's output; True if they are all numbers and it became a constant."""
        out = node.outputs[0]
        assert out is not None
        if node.op == "Split":
            self._split(node)
        contents = CONTENTS.get(node.op)
        if contents is None or out.dtype not in DTYPES or out.rank is None or out.rank > 1:
            return False
        assert out.dtype is not None
        found = None
        with contextlib.suppress(IndexError, OverflowError, ValueError):
            found = contents(node, self.get)
        if found is None or len(found) > SMALL or (out.rank == 0 and len(found) != 1):
            return False
        limit = 2 ** (8 * out.dtype.itemsize - 1)
        if out.dtype.kind == "b":
            found = [int(bool(d)) if isinstance(d, int) else None for d in found]
        elif any(isinstance(d, int) and not -limit <= d < limit for d in found):
            return False
        self.contents[out] = found
        if not all(isinstance(d, int) for d in found):
            return False
        out.const = Tensor.of(np.array(found, np.int64).astype(out.dtype).reshape(() if out.rank == 0 else -1))
        out.type = TensorType(out.dtype, out.const.shape)
        out.producer = None
        self.touched.add(out)
        return True

    def _read_at_root(self, node: Node) -> bool:
        """Whether the size of an input's dim took the place of what the node computes."""
        out = node.outputs[0]
        assert out is not None
        other = self.roots.stand_in(node, self.contents[out]) if out not in self.results else None
        if other is None:
            return False
        for user in {n: None for n, _ in out.uses}:
            user.set_inputs(other if v is out else v for v in user.inputs)
        self.contents[other] = self.contents[out]
        self.touched.add(other)
        return True

    def _split(self, node: Node) -> None:
        data, sizes = self.get(node.inputs[0]), ints(node.input(1))
        if data is None or sizes is None or len(sizes) != len(node.outputs) or sum(sizes) != len(data):
            return
        at = 0
        for v, n in zip(node.outputs, sizes, strict=True):
            if v is not None:
                self.contents[v] = data[at : at + n]
            at += n

    def _sharpen(self, node: Node) -> None:
        """Infer the outputs again where an input became better known, or where something is missing."""
        if node.op in GIVEN and self._follow(node):
            return
        renewed = bool(self.touched) and not self.touched.isdisjoint(node.inputs)  # type: ignore[arg-type]
        if not renewed and not _vague(node):
            return
        quick = quick_type(node)
        types: list[ValueType] = [quick]
        if quick is None:
            known = node.op in SHAPED and all(v is None or v.const is not None for v in node.inputs[1:])
            types = infer_node(node) if renewed or known else []
        for v, t in zip(node.outputs, types, strict=False):
            if v is not None and t is not None:
                self._set(v, sharper(t, v.type))

    def _follow(self, node: Node) -> bool:
        """Whether the shape of what has its shape given is known, which it then gets."""
        x, out = node.inputs[0], node.outputs[0]
        target = self.get(x if node.op == "ConstantOfShape" else node.inputs[1])
        if x is None or target is None or out is None or out.dtype is None:
            return False
        shape: Shape = tuple(target)
        if node.op == "Range":
            if self.get(x) != [0] or self.get(node.inputs[2]) != [1] or len(target) != 1 or not isinstance(target[0], str):
                return False
        elif node.op == "Reshape":
            shape = reshape_dims(x.shape, target, node.attrs.get("allowzero") or 0)
        elif node.op == "Expand":
            shape = broadcast_dims(x.shape, shape)
        if shape is None or any(isinstance(d, int) and d < 0 for d in shape):
            return False
        self._set(out, sharper(TensorType(out.dtype, shape), out.type))
        return True

    def _set(self, value: Value, new: ValueType) -> None:
        if new != value.type:
            value.type = new
            self.touched.add(value)
            self.sharpened.add(value)

    def _aim(self, node: Node) -> int:
        """Give a Reshape a constant target where numbers, copied dims and one -1 say it."""
        x, target, out = node.inputs[0], node.inputs[1], node.outputs[0]
        if x is None or out is None or target is None or target.const is not None or self.get(target) is None:
            return 0
        aim = reshape_target(x.shape, out.shape)
        if aim is None:
            return 0
        node.set_inputs((x, constant(np.array(aim, np.int64), target.name)))
        node.attrs.pop("allowzero", None)
        return 1


def _name_dims(value: Value | None) -> bool:
    """Give unknown dims a symbol of their own, so that equal ones can be told; whether there were any."""
    shape = value.shape if value is not None else None
    if value is None or shape is None or None not in shape:
        return False
    value.type = TensorType(value.dtype, tuple([f"{value.name}.{i}" if d is None else d for i, d in enumerate(shape)]))
    return True


def _vague(node: Node) -> bool:
    """Whether a shape is not fully known although the values that it depends on are."""
    for v in node.inputs[1:]:
        if v is None or v.const is None:
            return False
    return any(v is not None and ((shape := v.shape) is None or None in shape) for v in node.outputs)
