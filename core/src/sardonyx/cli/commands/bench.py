"""`sardonyx bench`: latency, load time and memory, alone or side by side with another engine."""

from __future__ import annotations

from typing import Any

import click

from sardonyx.cli import show
from sardonyx.cli.ablation import ablation as measure_variants
from sardonyx.cli.engines import Engine, largest_difference, open_engine
from sardonyx.cli.inputs import Inputs, input_options
from sardonyx.cli.measure import alternate, statistics
from sardonyx.cli.options import Choice, Command, FiniteRange, json_option, model_argument, session_options

__all__ = ["command"]

EXAMPLE = """\b
Examples:
  sardonyx bench digits.onnx --dims batch=8 --seconds 1
  sardonyx bench digits.onnx --against onnxruntime --threads 1 --seconds 1
  sardonyx bench digits.onnx --ablation --threads 1 --seconds 0.3
"""


@click.command("bench", cls=Command, epilog=EXAMPLE)
@model_argument
@input_options
@click.option("--against", multiple=True, metavar="ENGINE", help="Also measure onnxruntime, openvino, onnx.reference, or a provider.")
@click.option("--ablation", is_flag=True, help="Measure what levels, threads and the providers' own settings are worth.")
@click.option("--seconds", type=FiniteRange(min=0), default=3.0, metavar="S", help="Time to measure each engine (default 3).")
@click.option("--warmup", type=click.IntRange(min=1), default=5, metavar="N", help="Runs before measuring (default 5).")
@click.option(
    "--max-ratio", type=FiniteRange(min=0), metavar="X", help="Status 1 if the median is over X times that of the first --against."
)
@session_options
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    model: str,
    inputs: Inputs,
    against: tuple[str, ...],
    ablation: bool,
    seconds: float,
    warmup: int,
    max_ratio: float | None,
    choice: Choice,
    as_json: bool,
) -> int:
    """Measure the latency of a model: median and tails, load time, memory.

    Engines are measured in short bursts that alternate, so that a change of the machine's speed meets all of them; quote
    the ratio. All get the same inputs. The difference is that of the outputs, relative to their largest value.
    """
    if ablation:
        if against:
            raise click.UsageError("--ablation compares settings, --against engines: use one of them")
        return _ablation(measure_variants(ctx, choice, seconds), model, as_json)
    if max_ratio is not None and not against:
        raise click.UsageError("--max-ratio needs --against")
    engines = [Engine.of_session("sardonyx", lambda: choice.open(model), warmup, inputs.feeds)]
    feeds = engines[0].feeds
    engines += [open_engine(name, model, choice, feeds, warmup) for name in against]
    names = [e.name for e in engines]
    samples = alternate([e.run for e in engines], seconds, names)
    rows: list[dict[str, Any]] = []
    for engine, times in zip(engines, samples, strict=True):
        row = {"engine": engine.name, **engine.facts, **statistics(times)}
        if engine is not engines[0]:
            row["ratio"] = rows[0]["p50"] / row["p50"]
            row["difference"] = largest_difference(engine.outputs, engines[0].outputs)
        rows.append(row)
    slow = max_ratio is not None and rows[1]["ratio"] > max_ratio
    if as_json:
        show.emit_json({"model": model, "threads": choice.options().threads, "engines": rows, "ok": not slow})
    else:
        _print(rows, choice)
    return 1 if slow else 0


def _ablation(rows: list[dict[str, Any]], model: str, as_json: bool) -> int:
    if as_json:
        show.emit_json({"model": model, "variants": rows})
        return 0
    good = [r for r in rows if "error" not in r]
    cells = [(r["variant"], show.time_text(r["p50"]), show.time_text(r["p99"]), f"{r['ratio']:.2f}") for r in good]
    show.table(("variant", "P50", "P99", "ratio"), cells, right=("P50", "P99", "ratio"))
    for r in rows:
        if "error" in r:
            show.line(f"{r['variant']}: not measured: {r['error']}")
    return 0


def _print(rows: list[dict[str, Any]], choice: Choice) -> None:
    columns = ("engine", "load", "first run", "P50", "P90", "P99", "runs", "memory")
    cells = [
        (r["engine"], *(show.time_text(r[k]) for k in ("load", "first_run", "p50", "p90", "p99")), r["runs"], show.bytes_text(r["memory"]))
        for r in rows
    ]
    show.table(columns, cells, right=columns[1:])
    threads = choice.options().threads
    show.line(f"\n{threads} thread{'s' if threads > 1 else ''}; memory is the growth of the process's peak by loading and running")
    for r in rows[1:]:
        speed = f"{r['ratio']:.2f} times the time of" if r["ratio"] >= 1 else f"{1 / r['ratio']:.2f} times as fast as"
        show.line(f"sardonyx is {speed} {r['engine']}; largest relative difference of the outputs {r['difference']:.1e}")
