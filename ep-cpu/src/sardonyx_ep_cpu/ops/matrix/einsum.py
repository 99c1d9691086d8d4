"""Einsum, by diagonals, sums and batched matrix products."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.matrix.einsum_plan import ELLIPSIS, EinsumPlan, parse_equation
from sardonyx_ep_cpu.ops.matrix.product import product
from sardonyx_ep_cpu.precision import widen

ops = KernelSet()

# An operand: the array and one label per axis, all different.
_Labelled = tuple[Any, tuple[str, ...]]


def _prepare(xp: Any, inputs: list[Any], attrs: dict[str, Any]) -> EinsumPlan:
    return parse_equation(attrs["equation"])


@ops.add("Einsum", since=12, prepare=_prepare)
def einsum(xp: Any, *inputs: Any, equation: str, prepared: EinsumPlan | None = None) -> Any:
    """Products of `inputs` summed over the labels that the equation's output lacks.

    Any numeric dtype, the same for all inputs; half precision is computed in float32, integers wrap. Raises NodeError
    for an equation that does not parse or fit: ellipses must stand for equally many dimensions, equal labels for equal
    sizes, or 1.
    """
    plan = parse_equation(equation) if prepared is None else prepared
    operands, output = _bind(plan, inputs)
    sizes = _sizes(plan, operands)
    parts = [_simplified(xp, x, labels, sizes) for x, labels in operands]
    while len(parts) > 1:
        i, j = _cheapest(parts, output, sizes) if len(parts) > 2 else (0, 1)
        rest = [part for n, part in enumerate(parts) if n not in (i, j)]
        needed = set(output).union(*(labels for _, labels in rest))
        parts = [*rest, _contract(xp, parts[i], parts[j], needed)]
    y = _arrange(xp, *_summed(xp, *parts[0], set(output)), output)
    return y.astype(inputs[0].dtype, copy=False)


def _bind(plan: EinsumPlan, inputs: tuple[Any, ...]) -> tuple[list[_Labelled], tuple[str, ...]]:
    """The widened inputs with one label per axis, and the output's labels; an ellipsis becomes labels "0", "1", ..."""
    if len(inputs) != len(plan.operands):
        raise NodeError(f"Einsum equation {plan.equation!r} has {len(plan.operands)} terms, but there are {len(inputs)} inputs")
    covered = None
    operands = []
    for x, term in zip(inputs, plan.operands, strict=True):
        free = x.ndim - len(term) + (1 if ELLIPSIS in term else 0)
        if free < 0 or (free and ELLIPSIS not in term):
            raise NodeError(f"Einsum equation {plan.equation!r}: the term {''.join(term)!r} does not fit the shape {x.shape}")
        if ELLIPSIS in term:
            if covered not in (None, free):
                raise NodeError(f"Einsum equation {plan.equation!r}: an ellipsis stands for {covered} dimensions, then for {free}")
            covered = free
        operands.append((widen(x), _expanded(term, free)))
    return operands, _expanded(plan.output, covered or 0)


def _expanded(term: tuple[str, ...], count: int) -> tuple[str, ...]:
    if ELLIPSIS not in term:
        return term
    place = term.index(ELLIPSIS)
    return (*term[:place], *(str(n) for n in range(count)), *term[place + 1 :])


def _sizes(plan: EinsumPlan, operands: list[_Labelled]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for x, labels in operands:
        for label, size in zip(labels, x.shape, strict=True):
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                raise NodeError(f"Einsum equation {plan.equation!r}: label {label!r} has sizes {known} and {size}")
    return sizes


def _simplified(xp: Any, x: Any, labels: tuple[str, ...], sizes: dict[str, int]) -> _Labelled:
    """Without axes that only broadcast (size 1 where the label is longer), and with repeated labels as diagonals."""
    index = tuple(0 if size == 1 and sizes[label] != 1 else slice(None) for label, size in zip(labels, x.shape, strict=True))
    if 0 in index:
        x = x[index]
        labels = tuple(label for label, i in zip(labels, index, strict=True) if i != 0)
    while len(set(labels)) < len(labels):
        label = next(label for label in labels if labels.count(label) > 1)
        first = labels.index(label)
        second = labels.index(label, first + 1)
        x = xp.diagonal(x, axis1=first, axis2=second)
        labels = (*(kept for n, kept in enumerate(labels) if n not in (first, second)), label)
    return x, labels


def _cheapest(parts: list[_Labelled], output: tuple[str, ...], sizes: dict[str, int]) -> tuple[int, int]:
    """The pair whose contraction leaves the smallest result."""

    def cost(pair: tuple[int, int]) -> int:
        others = set(output).union(*(labels for n, (_, labels) in enumerate(parts) if n not in pair))
        return math.prod(sizes[label] for label in {*parts[pair[0]][1], *parts[pair[1]][1]} & others)

    return min(combinations(range(len(parts)), 2), key=cost)


def _summed(xp: Any, x: Any, labels: tuple[str, ...], needed: set[str]) -> _Labelled:
    """Summed over the labels that are not needed."""
    axes = tuple(n for n, label in enumerate(labels) if label not in needed)
    if not axes:
        return x, labels
    return xp.sum(x, axis=axes, dtype=x.dtype), tuple(label for label in labels if label in needed)


def _arrange(xp: Any, x: Any, labels: tuple[str, ...], order: tuple[str, ...]) -> Any:
    return xp.transpose(x, [labels.index(label) for label in order]) if labels != order else xp.asarray(x)


def _contract(xp: Any, a: _Labelled, b: _Labelled, needed: set[str]) -> _Labelled:
    """Two operands as one, summed over their common labels that are not needed: a batched matrix product."""
    x, x_labels = _summed(xp, *a, needed | set(b[1]))
    y, y_labels = _summed(xp, *b, needed | set(a[1]))
    batch = tuple(label for label in x_labels if label in y_labels and label in needed)
    inner = tuple(label for label in x_labels if label in y_labels and label not in needed)
    rows = tuple(label for label in x_labels if label not in y_labels)
    columns = tuple(label for label in y_labels if label not in x_labels)
    labels = (*batch, *rows, *columns)
    size = {**dict(zip(x_labels, x.shape, strict=True)), **dict(zip(y_labels, y.shape, strict=True))}
    x = _arrange(xp, x, x_labels, (*batch, *rows, *inner))
    y = _arrange(xp, y, y_labels, (*batch, *inner, *columns))
    if not inner:
        shape = [size[label] for label in (*batch, *rows)]
        x = x.reshape((*shape, *(1,) * len(columns)))
        y = y.reshape((*(size[label] for label in batch), *(1,) * len(rows), *(size[label] for label in columns)))
        return x * y, labels
    counts = [math.prod(size[label] for label in part) for part in (rows, inner, columns)]
    lead = [size[label] for label in batch]
    left, right = x.reshape(*lead, counts[0], counts[1]), y.reshape(*lead, counts[1], counts[2])
    return product(xp, left, right).reshape([size[label] for label in labels]), labels
