"""A count of edits, kept over everything that rewrites a graph: what was done, and no more of it than allowed.

    with budget(limit=10) as done:
        session = InferenceSession("model.onnx")

Core's passes and rules spend it, and providers' rules too, in the order in which they fire.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from sardonyx.ir.graph import Node

__all__ = ["Applied", "Budget", "budget", "current"]


@dataclass(frozen=True, slots=True)
class Applied:
    """One edit: the rule or pass that made it, the step of the pipeline it belonged to ("" for a provider's rule), the node
    it matched, that node's operator, and the nodes of the loaded model it is about. A pass over the whole graph counts as one
    edit at no node."""

    rule: str
    step: str = ""
    node: str = ""
    op: str = ""
    origins: tuple[str, ...] = ()


@dataclass
class Budget:
    """`limit` edits may be made (None: any number); `edits` are those made so far, `step` the pass under way."""

    limit: int | None = None
    edits: list[Applied] = field(default_factory=list)
    step: str = ""

    @property
    def spent(self) -> bool:
        """Whether no further edit is allowed."""
        return self.limit is not None and len(self.edits) >= self.limit

    def note(self, rule: str, matched: tuple[Node, ...] = ()) -> None:
        """Count one edit."""
        origins = tuple(dict.fromkeys(o for n in matched for o in (n.origins or (n.name,))))
        root = matched[0] if matched else None
        self.edits.append(Applied(rule, self.step, root.name if root else "", root.title if root else "", origins))


_current: ContextVar[Budget | None] = ContextVar("sardonyx_budget", default=None)


def current() -> Budget | None:
    """The budget in force in this thread, or None."""
    return _current.get()


@contextlib.contextmanager
def budget(limit: int | None = None) -> Iterator[Budget]:
    """Count the edits that are made in the block, in this thread, and stop at `limit`."""
    made = Budget(limit)
    token = _current.set(made)
    try:
        yield made
    finally:
        _current.reset(token)
