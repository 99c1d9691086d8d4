"""Parsing of Einsum equations, done once per node."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx.errors import NodeError

__all__ = ["ELLIPSIS", "EinsumPlan", "parse_equation"]

ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class EinsumPlan:
    """The labels of every operand and of the output: letters, and at most one ELLIPSIS each."""

    operands: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]
    equation: str


def parse_equation(equation: str) -> EinsumPlan:
    """Parse an ONNX Einsum equation; raises NodeError where it breaks the specification's rules."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    operands = tuple(_term(term, equation) for term in left.split(","))
    labels = [label for term in operands for label in term if label != ELLIPSIS]
    if arrow:
        output = _term(right, equation)
        for label in output:
            if label != ELLIPSIS and label not in labels:
                raise NodeError(f"Einsum equation {equation!r}: the output's label {label!r} is in no operand")
        if len(set(output)) != len(output):
            raise NodeError(f"Einsum equation {equation!r}: an output label is repeated")
    else:
        dots = (ELLIPSIS,) if any(ELLIPSIS in term for term in operands) else ()
        output = dots + tuple(sorted(label for label in set(labels) if labels.count(label) == 1))
    return EinsumPlan(operands, output, equation)


def _term(term: str, equation: str) -> tuple[str, ...]:
    before, dots, after = term.partition(ELLIPSIS)
    letters = before + after
    if any(not ("a" <= c <= "z" or "A" <= c <= "Z") for c in letters):
        raise NodeError(f"Einsum equation {equation!r}: the term {term!r} may hold letters and one ellipsis only")
    return (*before, *((ELLIPSIS,) if dots else ()), *after)
