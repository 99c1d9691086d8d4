"""`sardonyx profile`: the time of every operator and node."""

from __future__ import annotations

from pathlib import Path

import click

from sardonyx.cli import show
from sardonyx.cli.inputs import Inputs, input_options
from sardonyx.cli.options import Choice, json_option, model_argument, session_options

__all__ = ["command"]

EXAMPLE = """\b
Examples:
  sardonyx profile digits.onnx --dims batch=8 --trace trace.json
  sardonyx profile digits.onnx -i image=digits.npy --html profile.html
"""


@click.command("profile", epilog=EXAMPLE)
@model_argument
@input_options
@click.option("--runs", type=click.IntRange(min=1), default=10, metavar="N", help="Runs to measure (default 10).")
@click.option("--warmup", type=click.IntRange(min=0), default=2, metavar="N", help="Runs before those (default 2).")
@click.option("--top", type=click.IntRange(min=0), default=20, metavar="N", help="Nodes to list (default 20; 0: all).")
@click.option("--trace", metavar="FILE", help="Write a Chrome trace (chrome://tracing, ui.perfetto.dev).")
@click.option("--html", metavar="FILE", help="Write a page: timeline, memory, graph with times, reasons.")
@session_options
@json_option
def command(
    model: str, inputs: Inputs, runs: int, warmup: int, top: int, trace: str | None, html: str | None, choice: Choice, as_json: bool
) -> int:
    """Run a model several times and show where the time goes: by operator, then by node."""
    session = choice.open(model)
    feeds = inputs.feeds(session)
    with show.status(f"running {runs} times"):
        profile = session.profile(feeds, runs=runs, warmup=warmup)
    if trace:
        profile.save(trace)
    if html:
        Path(html).write_text(profile.to_html(title=Path(model).name), "utf-8")
    if as_json:
        show.emit_json({"model": model, "load_seconds": dict(session.load_report), **profile.to_dict()})
        return 0
    show.heading("loading")
    show.table(("phase", "time"), [(phase, show.time_text(seconds)) for phase, seconds in session.load_report], right=("time",))
    show.line()
    show.heading(f"operators, {runs} runs")
    rows = [(r["op"], r["ep"], r["nodes"], f"{r['total_us'] / runs:.1f}", f"{r['share']:.1%}") for r in profile.by_op()]
    show.table(("operator", "runs on", "nodes", "us per run", "share"), rows, right=("nodes", "us per run", "share"))
    show.line()
    nodes = profile.rows()
    shown = nodes[: top or None]
    show.heading(f"nodes{f', the {len(shown)} slowest of {len(nodes)}' if len(shown) < len(nodes) else ''}")
    show.table(
        ("node", "operator", "runs on", "us per run", "share", "outputs"),
        [(r["node"], r["op"], r["ep"], f"{r['total_us'] / runs:.1f}", f"{r['share']:.1%}", ", ".join(r["shapes"])) for r in shown],
        right=("us per run", "share"),
    )
    if trace or html:
        show.line(f"\nwrote {' and '.join(f for f in (trace, html) if f)}")
    return 0
