"""`sardonyx explain`: where every node runs, and why not elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from sardonyx.cli import show
from sardonyx.cli.options import Choice, Command, json_option, model_argument, session_options
from sardonyx.cli.write_files import write_page
from sardonyx.runtime.explain import Placement

__all__ = ["command", "shares_text"]

EXAMPLE = """\b
Examples:
  sardonyx explain digits.onnx
  sardonyx explain digits.onnx --ep cpu --html placement.html
"""


@click.command("explain", cls=Command, epilog=EXAMPLE)
@model_argument
@click.option("--on", metavar="EP", help="Only nodes that run on this provider.")
@click.option("--passes", is_flag=True, help="Also what each optimization did.")
@click.option("--html", metavar="FILE", help="Write a page: graph, reasons, passes, memory.")
@session_options
@json_option
def command(model: str, on: str | None, passes: bool, html: str | None, choice: Choice, as_json: bool) -> int:
    """Show where every node of the optimized model runs, what it was made from, and why providers before that refused it."""
    placement = choice.open(model).explain()
    if html:
        write_page(html, placement.to_html(title=Path(model).name))
    if as_json:
        show.emit_json(placement.to_dict())
        return 0
    show.heading(shares_text(placement))
    rows = [
        (n.node, n.op, n.ep, "; ".join(f"{ep}: {why}" for ep, why in n.reasons.items()), ", ".join(o for o in n.origins if o != n.node))
        for n in placement.nodes
        if on is None or n.ep == on
    ]
    show.table(("node", "operator", "runs on", "refused by", "made from"), rows)
    if passes:
        show.line()
        show.table(("pass", "ms", "edits"), [(p[0], f"{p[1] * 1e3:.1f}", p[2]) for p in placement.passes], right=("ms", "edits"))
    return 0


def shares_text(placement: Placement) -> str:
    """`12 nodes: cpu 92%, host 8%`."""
    parts = ", ".join(f"{ep} {share:.0%}" for ep, share in placement.shares.items())
    return f"{len(placement.nodes)} nodes{': ' + parts if parts else ''}"
