"""What session.explain() returns."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sardonyx.runtime.planner import Placed

__all__ = ["Placement"]

STYLE = (
    ":root{color-scheme:light dark}body{font:14px/1.4 system-ui,sans-serif;margin:2rem}table{border-collapse:collapse}"
    "th,td{padding:.2rem .6rem;border:1px solid #8884;text-align:left;vertical-align:top}thead th{position:sticky;top:0;background:Canvas}"
)


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

    def to_html(self) -> str:
        """The table as one self-contained page."""
        from html import escape

        head = "".join(f"<th>{h}</th>" for h in ("node", "operator", "runs on", "refused by", "made from"))
        body = []
        for n in self.nodes:
            why = "; ".join(f"{ep}: {reason}" for ep, reason in n.reasons.items())
            cells = (n.node, f"{n.domain}::{n.op}" if n.domain else n.op, n.ep, why, ", ".join(o for o in n.origins if o != n.node))
            body.append("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in cells) + "</tr>")
        shares = ", ".join(f"{escape(ep)} {share:.0%}" for ep, share in self.shares.items())
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Placement</title><style>{STYLE}</style><h1>Placement</h1>'
            f"<p>{len(self.nodes)} nodes: {shares}</p><table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></html>"
        )

    def __str__(self) -> str:
        lines = ["  ".join(f"{ep} {share:.0%}" for ep, share in self.shares.items()) or "no nodes"]
        width = max((len(n.node) for n in self.nodes), default=0)
        for n in self.nodes:
            why = "; ".join(f"not {ep}: {reason}" for ep, reason in n.reasons.items())
            fused = f"  <- {', '.join(n.origins)}" if n.origins and n.origins != (n.node,) else ""
            lines.append(f"  {n.node[:48]:{min(width, 48)}}  {n.op:24}  {n.ep}{fused}{'  (' + why + ')' if why else ''}")
        return "\n".join(lines)
