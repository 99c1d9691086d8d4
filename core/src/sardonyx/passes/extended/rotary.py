"""RotaryEmbedding from its spellings: rotated halves, rotated pairs, or the two products written out."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.passes.extended.rotary_caches import cache, half
from sardonyx.passes.match import attribute, axis_of, ints, made_by, only_use, same_shape
from sardonyx.passes.rules import Edit, Outcome, no, rule

__all__ = ["ROTARY"]

DTYPES = ("float32", "float16", "bfloat16")


def part(value: Value | None, x: Value | None = None) -> tuple[Value, tuple[int, int, int], Node] | None:
    """(x, (start, step, count) along its last axis, node) where value is such a part of x by Slice or Split."""
    node = made_by(value, "Slice", "Split")
    source = node.inputs[0] if node is not None else None
    if node is None or source is None or source.shape is None or (x is not None and source is not x):
        return None
    rank, size = len(source.shape), source.shape[-1]
    if not isinstance(size, int):
        return None
    if node.op == "Split":
        sizes = ints(node.input(1)) or [size // len(node.outputs)] * len(node.outputs)
        if axis_of(node, "axis", 0, rank) != rank - 1 or sum(sizes) != size:
            return None
        index = node.outputs.index(value)
        return source, (sum(sizes[:index]), 1, sizes[index]), node
    starts, ends, axes = ints(node.inputs[1]), ints(node.inputs[2]), ints(node.input(3))
    steps = ints(node.input(4)) if node.input(4) is not None else [1]
    if starts is None or ends is None or axes is None or steps is None or len(axes) != 1 or axes[0] % rank != rank - 1 or steps[0] <= 0:
        return None
    first, stop, step = slice(starts[0], ends[0], steps[0]).indices(size)
    return source, (first, step, len(range(first, stop, step))), node


def parts(a: Value | None, b: Value | None) -> tuple[Value, bool, list[Node]] | None:
    """(x, interleaved, nodes) where a and b are the first and second half of x, or its even and odd elements."""
    first, second = part(a), part(b)
    if first is None or second is None or first[0] is not second[0]:
        return None
    x = first[0]
    size = x.shape[-1] if x.shape is not None else None
    nodes = [first[2], second[2]]
    if not isinstance(size, int) or size % 2:
        return None
    if first[1] == (0, 1, size // 2) and second[1] == (size // 2, 1, size // 2):
        return x, False, nodes
    if first[1] == (0, 2, size // 2) and second[1] == (1, 2, size // 2):
        return x, True, nodes
    return None


def joined(value: Value | None) -> tuple[Value, Value, bool, list[Node]] | None:
    """(a, b, interleaved, nodes) where value joins a and b along the last axis, one after the other or element by element."""
    node = made_by(value, "Concat", "Reshape")
    nodes: list[Node] = []
    if node is None:
        return None
    nodes.append(node)
    stacked = node.op == "Reshape"
    concat = made_by(node.inputs[0], "Concat") if stacked else node
    if concat is None or len(concat.inputs) != 2:
        return None
    out = concat.outputs[0]
    if out is None or out.rank is None or axis_of(concat, "axis", 0, out.rank) != out.rank - 1:
        return None
    a, b = concat.inputs
    if not stacked:
        return (a, b, False, nodes) if a is not None and b is not None else None
    if out.shape is None or out.shape[-1] != 2:
        return None
    nodes.append(concat)
    columns = []
    for v in (a, b):
        column = made_by(v, "Unsqueeze", "Reshape")
        source = column.inputs[0] if column is not None else None
        if column is None or source is None or source.shape is None or v is None or v.shape != (*source.shape, 1) or None in v.shape:
            return None
        nodes.append(column)
        columns.append(source)
    return columns[0], columns[1], True, nodes


@rule("Add")
def fuse_rotary(node: Node, graph: Graph) -> Outcome:
    """x * cos + rotated(x) * sin, where rotated(x) joins -x₂ and x₁: RotaryEmbedding."""
    out = node.outputs[0]
    for x, turned, cos, sin, nodes in _products(node):
        pair = joined(turned)
        minus = made_by(pair[0], "Neg") if pair is not None else None
        source = parts(pair[1], minus.inputs[0]) if pair is not None and minus is not None else None
        if pair is None or minus is None or source is None or source[0] is not x or source[1] != pair[2] or out is None:
            continue
        if pair[2] and not same_shape(turned, x):
            continue
        edit = Edit(node, *nodes, *pair[3], minus, *source[2])
        interleaved = pair[2]
        halves = [half(edit, v, interleaved) for v in (cos, sin)]
        if halves[0] is None or halves[1] is None:
            return no("the cosines of the two halves are not the same")
        return _rotary(edit, out, x, halves[0], halves[1], interleaved)
    return None


def _products(node: Node) -> Iterator[tuple[Value, Value, Value, Value, list[Node]]]:
    """(x, rotated x, cos, sin, nodes): the ways to read a sum of two products."""
    for i in (0, 1):
        left, right = made_by(node.inputs[i], "Mul"), made_by(node.inputs[1 - i], "Mul")
        if left is None or right is None or not only_use(node.inputs[0]) or not only_use(node.inputs[1]):
            return
        for j in (0, 1):
            turned, sin = right.inputs[j], right.inputs[1 - j]
            if made_by(turned, "Concat", "Reshape") is None:
                continue
            for k in (0, 1):
                x, cos = left.inputs[k], left.inputs[1 - k]
                if x is not None and turned is not None and cos is not None and sin is not None and only_use(turned):
                    yield x, turned, cos, sin, [left, right]


@rule("Concat", "Reshape")
def fuse_rotary_written_out(node: Node, graph: Graph) -> Outcome:
    """x₁ cos - x₂ sin joined with x₁ sin + x₂ cos: RotaryEmbedding."""
    pair, out = joined(node.outputs[0]), node.outputs[0]
    if pair is None or out is None:
        return None
    minus, plus = made_by(pair[0], "Sub"), made_by(pair[1], "Add")
    if minus is None or plus is None:
        return None
    products = [made_by(v, "Mul") for v in (*minus.inputs, *plus.inputs)]
    if any(p is None for p in products):
        return None
    first, second, third, fourth = (p for p in products if p is not None)
    for i in (0, 1):
        x1, cos = first.inputs[i], first.inputs[1 - i]
        for j in (0, 1):
            x2, sin = second.inputs[j], second.inputs[1 - j]
            source = parts(x1, x2)
            if source is None or cos is None or sin is None or source[1] != pair[2] or not same_shape(source[0], out):
                continue
            if {frozenset(third.inputs), frozenset(fourth.inputs)} != {frozenset((x1, sin)), frozenset((x2, cos))}:
                continue
            edit = Edit(node, *pair[3][1:], minus, plus, first, second, third, fourth, *source[2])
            return _rotary(edit, out, source[0], cos, sin, pair[2])
    return None


def _rotary(edit: Edit, out: Value, x: Value, cos: Value, sin: Value, interleaved: bool) -> Outcome:
    """The RotaryEmbedding of x, laid out [batch, heads, sequence, head] or [batch, sequence, heads, head]."""
    if x.dtype is None or x.dtype.name not in DTYPES or x.shape is None or len(x.shape) != 4 or not same_shape(x, out):
        return no("it does not rotate a tensor of rank 4")
    attrs = {"interleaved": 1} if interleaved else {}
    for sequence in (2, 1):
        caches = [cache(edit, v, x, sequence) for v in (cos, sin)]
        if caches[0] is None or caches[1] is None:
            continue
        if sequence == 2:
            return edit.replace(out, edit.add("RotaryEmbedding", [x, caches[0], caches[1]], attrs, like=out))
        turned = edit.add("Transpose", [x], {"perm": [0, 2, 1, 3]})
        rotated = edit.add("RotaryEmbedding", [turned, caches[0], caches[1]], attrs)
        return edit.replace(out, edit.add("Transpose", [rotated], {"perm": [0, 2, 1, 3]}, like=out))
    return no("the cosines do not broadcast over heads alone")


@rule("Concat")
def fuse_partial_rotary(node: Node, graph: Graph) -> Outcome:
    """RotaryEmbedding of the first elements of each head, joined with the others as they are."""
    out = node.outputs[0]
    if len(node.inputs) != 2 or out is None or out.rank != 4 or axis_of(node, "axis", 0, 4) != 3:
        return None
    rotary = made_by(node.inputs[0], "RotaryEmbedding")
    rotated = part(rotary.inputs[0]) if rotary is not None and only_use(node.inputs[0]) else None
    if rotary is None or rotated is None or attribute(rotary, "rotary_embedding_dim", 0):
        return None
    x, (start, step, size), first = rotated
    kept = part(node.inputs[1], x)
    if kept is None or (start, step) != (0, 1) or kept[1] != (size, 1, x.shape[-1] - size):  # type: ignore[index, operator]
        return no("the other part is not the rest of the head")
    edit = Edit(node, rotary, first, kept[2])
    attrs = {**rotary.attrs, "rotary_embedding_dim": size}
    return edit.replace(out, edit.add("RotaryEmbedding", [x, *rotary.inputs[1:]], attrs, like=out))


ROTARY = (fuse_rotary, fuse_rotary_written_out, fuse_partial_rotary)
