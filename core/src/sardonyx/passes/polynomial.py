"""Polynomials in one tensor with scalar coefficients, in whatever way an exporter spelled them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sardonyx.ir.graph import Node, Value
from sardonyx.passes.match import close, made_by, scalar, scalar_operand

__all__ = ["Polynomial", "polynomial"]

MAX_NODES = 8


@dataclass(slots=True)
class Polynomial:
    """coefficients[k] * x**k summed up, computed by `nodes`."""

    coefficients: dict[int, float]
    nodes: list[Node] = field(default_factory=list)

    def equals(self, wanted: dict[int, float], dtype: np.dtype | None) -> bool:
        """Whether the coefficients are those wanted, as closely as exporters write constants in `dtype`."""
        return self.coefficients.keys() == wanted.keys() and all(close(self.coefficients[k], c, dtype) for k, c in wanted.items())


def polynomial(value: Value | None, x: Value) -> Polynomial | None:
    """`value` as a polynomial in x over Add, Sub, Mul, Div, Neg, Pow with scalar constants; None if it is not one."""
    nodes: list[Node] = []
    coefficients = _expand(value, x, nodes)
    return None if coefficients is None else Polynomial(coefficients, nodes)


def _expand(value: Value | None, x: Value, nodes: list[Node]) -> dict[int, float] | None:
    if value is x:
        return {1: 1.0}
    node = made_by(value, "Add", "Sub", "Mul", "Div", "Neg", "Pow")
    if node is None or len(nodes) >= MAX_NODES:
        return None
    nodes.append(node)
    if node.op == "Neg":
        inner = _expand(node.inputs[0], x, nodes)
        return None if inner is None else {k: -c for k, c in inner.items()}
    found = scalar_operand(node)
    if node.op == "Pow":
        if found is None or found[2] != 1 or found[1] not in (2.0, 3.0):
            return None
        base = _expand(node.inputs[0], x, nodes)
        result = base
        for _ in range(int(found[1]) - 1):
            result = _times(result, base)
        return result
    sides: list[dict[int, float] | None] = []
    for i in (0, 1):
        c = scalar(node.inputs[i])
        if c is not None and (found is None or found[2] != i):
            return None
        sides.append({0: c} if c is not None else _expand(node.inputs[i], x, nodes))
    a, b = sides
    if a is None or b is None:
        return None
    if node.op == "Mul":
        return _times(a, b)
    if node.op == "Div":
        return {k: c / b[0] for k, c in a.items()} if b.keys() == {0} and b[0] else None
    sign = 1.0 if node.op == "Add" else -1.0
    return {k: a.get(k, 0.0) + sign * b.get(k, 0.0) for k in {**a, **b}}


def _times(a: dict[int, float] | None, b: dict[int, float] | None) -> dict[int, float] | None:
    if a is None or b is None:
        return None
    result: dict[int, float] = {}
    for i, c in a.items():
        for j, d in b.items():
            result[i + j] = result.get(i + j, 0.0) + c * d
    return result
