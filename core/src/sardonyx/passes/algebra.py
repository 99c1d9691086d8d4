"""Arithmetic that a pattern sees through: products and sums in whatever order an exporter wrote them."""

from __future__ import annotations

from dataclasses import dataclass, field

from sardonyx.ir.graph import Node, Value
from sardonyx.passes.match import made_by, only_use, scalar, scalar_operand

__all__ = ["Affine", "Product", "affine", "others", "power", "product", "scaled"]


@dataclass(slots=True)
class Product:
    """scale * factors[0] * factors[1] * ..., made by `nodes` (the root first)."""

    scale: float = 1.0
    factors: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)


def product(root: Node, limit: int = 4) -> Product | None:
    """The product that `root` (Mul, or Div by a constant) makes, looking through inner Muls that only serve it.

    Scalar constants go into the scale. None if root is neither, or there are more than `limit` factors.
    """
    result = Product()
    stack = [root]
    while stack:
        node = stack.pop()
        result.nodes.append(node)
        operands = node.inputs
        if node.op == "Div":
            c = scalar(operands[1])
            if not c or scalar_operand(node) is None:
                return None
            result.scale /= c
            operands = operands[:1]
        elif node.op != "Mul":
            return None
        for v in operands:
            if v is None:
                return None
            c = scalar(v) if v.const is not None else None
            if c is not None and scalar_operand(node) is not None:
                result.scale *= c
                continue
            inner = None
            if v.producer is not None and only_use(v):
                inner = made_by(v, "Mul", "Div")
                if inner is not None and inner.op == "Div" and (not scalar(inner.inputs[1]) or scalar_operand(inner) is None):
                    inner = None
            if inner is not None:
                stack.append(inner)
            else:
                result.factors.append(v)
        if len(result.factors) > limit:
            return None
    return result


def scaled(value: Value | None) -> tuple[Value, float, list[Node]] | None:
    """(x, scale, nodes) with value = scale * x, looking through Mul and Div by scalar constants, and Neg, that only serve it."""
    scale, nodes = 1.0, []
    while value is not None:
        node = made_by(value, "Mul", "Div", "Neg")
        if node is None or not only_use(value):
            break
        if node.op == "Neg":
            scale, value = -scale, node.inputs[0]
            nodes.append(node)
            continue
        found = scalar_operand(node)
        if found is None or (node.op == "Div" and (found[2] == 0 or found[1] == 0)):
            break
        value = found[0]
        scale = scale * found[1] if node.op == "Mul" else scale / found[1]
        nodes.append(node)
    return None if value is None else (value, scale, nodes)


@dataclass(slots=True)
class Affine:
    """scale * x + bias."""

    x: Value
    scale: float
    bias: float
    nodes: list[Node]


def affine(value: Value | None) -> Affine | None:
    """value as scale * x + bias with scalar constants, looking through nodes that only serve it; scale 1, bias 0 at the least."""
    node = made_by(value, "Add", "Sub")
    found = scalar_operand(node) if node is not None and only_use(value) else None
    if node is None or found is None:
        plain = scaled(value)
        return None if plain is None else Affine(plain[0], plain[1], 0.0, plain[2])
    x, c, index = found
    inner = scaled(x)
    if inner is None:
        return None
    sign = -1.0 if node.op == "Sub" and index == 0 else 1.0
    bias = -c if node.op == "Sub" and index == 1 else c
    return Affine(inner[0], sign * inner[1], bias, [node, *inner[2]])


def power(value: Value | None, exponent: float) -> tuple[Value, Node] | None:
    """(x, node) where value = x**exponent is a Pow, for 2 also x*x, for 0.5 also Sqrt, for -1 also Reciprocal."""
    node = made_by(value, "Pow", "Mul", "Sqrt", "Reciprocal")
    if node is None or node.inputs[0] is None:
        return None
    if node.op == "Pow":
        found = scalar_operand(node)
        matches = found is not None and found[2] == 1 and found[1] == exponent
    elif node.op == "Mul":
        matches = exponent == 2 and node.inputs[0] is node.inputs[1]
    else:
        matches = exponent == (0.5 if node.op == "Sqrt" else -1)
    return (node.inputs[0], node) if matches else None


def others(values: list[Value], one: Value) -> list[Value] | None:
    """`values` without one occurrence of `one`, or None if it is not among them."""
    for i, v in enumerate(values):
        if v is one:
            return values[:i] + values[i + 1 :]
    return None
