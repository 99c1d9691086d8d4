"""Rewrite rules for providers: the machinery of core's passes, for rules that run inside a provider's own subgraphs."""

from __future__ import annotations

from sardonyx.passes.edit import Edit, No, Outcome, constant, no
from sardonyx.passes.match import broadcasts_into, ints, made_by, only_use, same_shape, scalar, scalar_operand, static
from sardonyx.passes.rules import Rule, apply_rules, rule

__all__ = [
    "Edit",
    "No",
    "Outcome",
    "Rule",
    "apply_rules",
    "broadcasts_into",
    "constant",
    "ints",
    "made_by",
    "no",
    "only_use",
    "rule",
    "same_shape",
    "scalar",
    "scalar_operand",
    "static",
]
