"""What a comparison says of one tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sardonyx.tools.difference import Difference

__all__ = ["TensorRow"]


@dataclass(frozen=True)
class TensorRow:
    """One tensor of the model: the node that gives it, how far the two sides are apart, and whether the session gave it in the
    plan that also runs otherwise (`as_run`) or in one that was made to keep it. A tensor in a body of control flow also has the
    control-flow node that it is `within`, and the `iteration` whose values the row is of, outermost loop first, from 0."""

    tensor: str
    node: str
    op: str
    ep: str
    value: str
    as_run: bool
    difference: Difference
    within: str = ""
    iteration: tuple[int, ...] = ()

    @property
    def place(self) -> str:
        """In which body and iteration, for texts; empty in the main graph."""
        turn = f"iteration {'.'.join(map(str, self.iteration))} of " if self.iteration else ""
        return f"{turn}{self.within}" if self.within else ""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        d = self.difference
        numbers = {"ok": d.ok, "largest": d.largest, "relative": d.relative, "wrong": d.wrong, "size": d.size, "where": list(d.where)}
        own = {"tensor": self.tensor, "node": self.node, "op": self.op, "ep": self.ep, "value": self.value, "as_run": self.as_run}
        return {**own, "within": self.within, "iteration": list(self.iteration), **numbers, "text": d.text}
