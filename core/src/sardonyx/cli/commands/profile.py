"""`sardonyx profile`: the time of every operator and node."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
import numpy as np

from sardonyx.cli import show
from sardonyx.cli.inputs import Inputs, input_options
from sardonyx.cli.options import Choice, Command, json_option, model_argument, session_options
from sardonyx.cli.write_files import write_page
from sardonyx.ir.replacing import refusing
from sardonyx.runtime.session import InferenceSession
from sardonyx.runtime.work import Rates, measure_rates

__all__ = ["command"]

SIZE = 768

EXAMPLE = """\b
Examples:
  sardonyx profile digits.onnx --dims batch=8 --trace trace.json
  sardonyx profile digits.onnx -i image=digits.npy --html profile.html
"""


@click.command("profile", cls=Command, epilog=EXAMPLE)
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
    """Run a model several times and show where the time goes: by operator, then by node.

    The rates of a node are those of its arithmetic (of products and convolutions, as they are written: an algorithm that
    needs fewer operations can pass 100 %) and of its memory traffic; the share is that of the better one in what the same
    providers reach in a large product, or the memory in a copy.
    """
    session = choice.open(model)
    feeds = inputs.feeds(session)
    with show.status(f"running {runs} times"):
        profile = session.profile(feeds, runs=runs, warmup=warmup)
    with show.status("measuring the machine"):
        rates = measure(choice)
    if trace:
        with refusing(trace, "--trace"):
            profile.save(trace)
    if html:
        write_page(html, profile.to_html(title=Path(model).name))
    if as_json:
        show.emit_json({"model": model, "load_seconds": dict(session.load_report), "machine": asdict(rates), **profile.to_dict()})
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
        ("node", "operator", "runs on", "us per run", "share", "GFLOP/s", "GB/s", "of peak", "outputs"),
        [
            (
                r["node"],
                r["op"],
                r["ep"],
                f"{r['total_us'] / runs:.1f}",
                f"{r['share']:.1%}",
                "" if r["gflops"] is None else f"{r['gflops']:.1f}",
                "" if r["gbytes"] is None else f"{r['gbytes']:.1f}",
                "" if (work := profile.work(r["node"])) is None else f"{rates.share(work, r['mean_us'] / 1e6):.0%}",
                ", ".join(r["shapes"]),
            )
            for r in shown
        ],
        right=("us per run", "share", "GFLOP/s", "GB/s", "of peak"),
    )
    show.line(f"\npeak: {rates.flops / 1e9:.1f} GFLOP/s in a large product, {rates.bytes / 1e9:.1f} GB/s in a copy")
    if trace or html:
        show.line(f"\nwrote {' and '.join(f for f in (trace, html) if f)}")
    return 0


def measure(choice: Choice) -> Rates:
    """The rates of the providers that `choice` names, in a product of theirs."""
    from onnx import TensorProto, helper, numpy_helper

    weights = np.random.default_rng(0).standard_normal((SIZE, SIZE)).astype(np.float32)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [SIZE, SIZE]) for name in "xy")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product", [x], [y], [numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = choice.options()
    options.strict = False
    session = InferenceSession(model.SerializeToString(), options, choice.providers())
    return measure_rates(lambda a: session.run(None, {"x": a}), SIZE, weights.size)
