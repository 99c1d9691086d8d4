"""The table of derivatives: for each operator, how the gradient of its output becomes gradients of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sardonyx.ir.gradient.tape import Tape
from sardonyx.ir.graph import Node, Value

__all__ = ["Rule", "Rules"]

# One entry per input, which makes the input's gradient when it is wanted; None for an input without influence.
Gradients = Sequence[Callable[[], Value] | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """`function(t, node, g, *inputs, **attrs)` gives Gradients. `g` is the gradient of the only output, or with `several`
    the list of those of all outputs, None for one that has none. With `broadcasts` the gradients have the output's shape
    and are still to be summed to the inputs'."""

    function: Callable[..., Gradients]
    broadcasts: bool = False
    several: bool = False

    def apply(self, t: Tape, node: Node, grads: list[Value | None]) -> Gradients:
        """The gradients of the node's inputs from those of its outputs."""
        if not self.several and any(g is not None for g in grads[1:]):
            t.refuse("only its first output can be differentiated")
        attrs = {k: v for k, v in node.attrs.items() if v is not None}
        return self.function(t, node, grads if self.several else grads[0], *node.inputs, **attrs)


class Rules:
    """Rules by operator, and forward compositions for operators that are differentiated through simpler ones."""

    def __init__(self) -> None:
        self.table: dict[tuple[str, str], Rule] = {}
        self.compositions: dict[tuple[str, str], Callable[..., Sequence[Value]]] = {}

    def add(self, *ops: str, broadcasts: bool = False, several: bool = False) -> Callable[[Callable], Callable]:
        """Register the decorated function as the rule of `ops`."""

        def register(function: Callable) -> Callable:
            self.table.update({("", op): Rule(function, broadcasts, several) for op in ops})
            return function

        return register

    def unary(self, *ops: str) -> Callable[[Callable], Callable]:
        """Register the decorated `function(t, g, x, y, **attrs)`, which gives the gradient of x, as the rule of `ops`; inputs
        after the first have no influence."""

        def register(function: Callable) -> Callable:
            def rule(t: Tape, node: Node, g: Value, x: Value, *rest: Value | None, **attrs: Any) -> Gradients:
                return (lambda: function(t, g, x, node.outputs[0], **attrs),)

            self.add(*ops)(rule)
            return function

        return register

    def compose(self, *ops: str) -> Callable[[Callable], Callable]:
        """Register the decorated `function(t, *inputs, **attrs)`, which gives the outputs of `ops` by other operators."""

        def register(function: Callable) -> Callable:
            self.compositions.update({("", op): function for op in ops})
            return function

        return register

    def include(self, *others: Rules) -> Rules:
        """Take over the rules of other tables; returns self."""
        for other in others:
            self.table |= other.table
            self.compositions |= other.compositions
        return self
