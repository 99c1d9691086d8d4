"""Time engines on the same models, side by side.

    python -m sardonyx_conformance.bench MODEL[:dim=n,...] ... --engines onnxruntime,sardonyx:native+cpu,sardonyx:cpu

Each engine has a process of its own, and they run in bursts, in turn. Quote ratios: absolute times drift on a shared machine.
Differences are from the first engine. An engine whose results differ by more than the tolerance is shown in red, and others
are not compared with it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from math import exp, log
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sardonyx.errors import SardonyxError
from sardonyx_conformance.bench.engines import check_engine
from sardonyx_conformance.bench.feeds import make_feeds, parse_model
from sardonyx_conformance.bench.measure import measure, speedups

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: 0 if every engine ran every model within the tolerance, 1 if not, 2 for a mistake in the call."""
    options = _parser().parse_args(arguments)
    engines = options.engines.split(",")
    try:
        models = [parse_model(m) for m in options.models]
        for engine in engines:
            check_engine(engine)
        for path, dims in models:
            make_feeds(path, dims)
    except (SardonyxError, OSError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    console, rows = Console(), []
    for path, dims in models:
        row = measure(
            path, engines, dims=dims, threads=options.threads, rounds=options.rounds, seconds=options.seconds, max_int=options.max_int
        )
        rows.append(row)
        console.print(_table(f"{Path(path).name}, {options.threads} threads", row, options.tolerance))
    for engine in engines if len(models) > 1 else ():
        ratios = speedups(rows, engine, options.tolerance)
        if ratios:
            mean = exp(sum(map(log, ratios)) / len(ratios))
            console.print(
                f"{engine}: {mean:.2f} times the best other engine's speed (geometric mean of {len(ratios)}; worst {min(ratios):.2f})"
            )
    if options.json:
        told = [
            {"model": path, "dims": dims, "threads": options.threads, "engines": row}
            for (path, dims), row in zip(models, rows, strict=True)
        ]
        Path(options.json).write_text(json.dumps(told, indent=1), "utf-8")
    fine = all("error" not in r and r["difference"] <= options.tolerance for row in rows for r in row.values())
    return 0 if fine else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sardonyx_conformance.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", metavar="MODEL", help="a file, with its free dimensions: m.onnx:batch=8,x.2=320,*=1")
    parser.add_argument(
        "--engines",
        default="onnxruntime,sardonyx",
        help="comma-separated: onnxruntime, openvino[:bf16], onnx.reference, native+cpu, ...",
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of each engine (default 1)")
    parser.add_argument("--rounds", type=int, default=6, help="bursts of each engine (default 6)")
    parser.add_argument("--seconds", type=float, default=0.4, help="seconds of a burst (default 0.4)")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="largest relative difference that counts as right (default 1e-4)")
    parser.add_argument("--max-int", type=int, default=100, help="integer inputs lie below this (default 100)")
    parser.add_argument("--json", metavar="FILE", help="write everything there")
    return parser


def _table(title: str, row: dict[str, dict[str, Any]], tolerance: float) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("engine", "median ms", "P90", "P99", "speed", "load ms", "first ms", "peak MB", "difference"):
        table.add_column(heading, justify="left" if heading == "engine" else "right", no_wrap=heading == "engine")
    first = next((r["median_s"] for r in row.values() if "median_s" in r), None)
    for engine, r in row.items():
        if "error" in r:
            table.add_row(engine, f"[red]{r['error']}[/red]")
            continue
        peak = "" if r["peak_bytes"] is None else f"{r['peak_bytes'] / 2**20:.0f}"
        wrong = r["difference"] > tolerance
        table.add_row(
            engine,
            *(f"{r[key] * 1e3:.3f}" for key in ("median_s", "p90_s", "p99_s")),
            f"{first / r['median_s']:.2f}" if first else "",
            *(f"{r[key] * 1e3:.1f}" for key in ("load_s", "first_s")),
            peak,
            f"[red]{r['difference']:.0e}[/red]" if wrong else f"{r['difference']:.0e}",
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
