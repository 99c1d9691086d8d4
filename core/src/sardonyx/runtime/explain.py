"""What session.explain() returns."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sardonyx.runtime.planner import Placed

__all__ = ["Placement"]


class Placement:
    """Where every node of a session runs: `nodes`, `shares` (fraction of nodes per provider), `providers` in order, and
    `passes` as (name, seconds, edits). Printing it gives a table."""

    def __init__(self, nodes: list[Placed], providers: list[str], passes: list[Any]):
        self.nodes, self.providers, self.passes = nodes, providers, passes

    @property
    def shares(self) -> dict[str, float]:
        """Fraction of nodes per provider, largest first."""
        counts = Counter(n.ep for n in self.nodes)
        total = sum(counts.values())
        return {ep: n / total for ep, n in counts.most_common()}

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain data for JSON."""
        return {
            "providers": self.providers,
            "shares": self.shares,
            "passes": [{"name": p[0], "seconds": p[1], "edits": p[2]} for p in self.passes],
            "nodes": [
                {
                    "name": n.node,
                    "op": n.op,
                    "domain": n.domain,
                    "since": n.since,
                    "origins": list(n.origins),
                    "ep": n.ep,
                    "group": n.group,
                    "reasons": n.reasons,
                }
                for n in self.nodes
            ],
        }

    def to_html(self, *, title: str = "") -> str:
        """One self-contained page, which needs no network: the graph with the providers' colours, why they refused nodes, every
        node, the passes, and the memory of the values in the order of execution as far as shapes are known."""
        from sardonyx.tools.page import page

        return page(self, title=title)

    def __str__(self) -> str:
        lines = ["  ".join(f"{ep} {share:.0%}" for ep, share in self.shares.items()) or "no nodes"]
        width = max((len(n.node) for n in self.nodes), default=0)
        for n in self.nodes:
            why = "; ".join(f"not {ep}: {reason}" for ep, reason in n.reasons.items())
            fused = f"  <- {', '.join(n.origins)}" if n.origins and n.origins != (n.node,) else ""
            lines.append(f"  {n.node[:48]:{min(width, 48)}}  {n.op:24}  {n.ep}{fused}{'  (' + why + ')' if why else ''}")
        return "\n".join(lines)
