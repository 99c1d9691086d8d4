"""What is kept of an operator's schema."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sardonyx.ir.dtypes import from_name

__all__ = ["Formal", "Schema", "dtypes_of"]


@dataclass(frozen=True, slots=True)
class Formal:
    """A formal input or output: its name, type variable (or fixed type string), and whether optional or variadic."""

    name: str
    type: str
    optional: bool
    variadic: bool


@dataclass(frozen=True, slots=True)
class Schema:
    """What onnx.defs says about one version of one operator.

    `types` maps a type variable (or fixed type string) to the dtypes its tensors may have, `type_strings` to all its types
    as ONNX writes them; `attributes` a name to its default (None if it has none), `attribute_types` to its
    AttributeProto.AttributeType; `required` names the attributes without which a node is invalid.
    """

    domain: str
    op: str
    since: int
    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]
    min_input: int
    max_input: int
    max_output: int
    types: dict[str, frozenset[np.dtype]]
    type_strings: dict[str, frozenset[str]]
    attributes: dict[str, Any]
    attribute_types: dict[str, int]
    required: frozenset[str]
    deprecated: bool
    has_function: bool

    def input(self, index: int) -> Formal | None:
        """The formal of the index-th actual input, the last variadic one repeated."""
        return _formal(self.inputs, index)

    def output(self, index: int) -> Formal | None:
        """The formal of the index-th actual output, the last variadic one repeated."""
        return _formal(self.outputs, index)


def _formal(formals: tuple[Formal, ...], index: int) -> Formal | None:
    if index < len(formals):
        return formals[index]
    return formals[-1] if formals and formals[-1].variadic else None


@cache
def dtypes_of(allowed: frozenset[str]) -> frozenset[np.dtype]:
    """The dtypes of the tensors among ONNX's type strings."""
    return frozenset(from_name(t[7:-1]) for t in allowed if t.startswith("tensor("))
