"""`sardonyx bench --ablation`: what single settings are worth, each measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import click

from sardonyx.cli import show
from sardonyx.cli.options import Choice
from sardonyx.errors import SardonyxError
from sardonyx.runtime import discovery

__all__ = ["ablation"]

ROUNDS = 3
OWN = ("ablation", "as_json", "seconds", "against", "max_ratio", "ep_option", "level", "threads")


def ablation(ctx: click.Context, choice: Choice, seconds: float) -> list[dict[str, Any]]:
    """A row per variant: its name, median and P99 in seconds, and the ratio of its median to that of the settings as they
    are given; or `error`. Variants take turns, so that a change of the machine's speed meets all of them."""
    common = [*_arguments(ctx), "--json", "--seconds", str(seconds / ROUNDS)]
    variants = list(_variants(choice))
    rows: list[dict[str, Any]] = [{"variant": name, "p50": [], "p99": []} for name, _ in variants]
    for _ in range(ROUNDS):
        for row, (name, extra) in zip(rows, variants, strict=True):
            if "error" not in row:
                with show.status(f"measuring: {name}"):
                    _measure(row, [*common, *extra])
    for row in rows:
        if "error" not in row:
            row["p50"], row["p99"] = min(row["p50"]), min(row["p99"])
    first = rows[0]
    if "error" in first:
        raise SardonyxError(first["error"])
    return [
        row | {"ratio": row["p50"] / first["p50"]} if "error" not in row else {"variant": row["variant"], "error": row["error"]}
        for row in rows
    ]


def _variants(choice: Choice) -> Iterator[tuple[str, list[str]]]:
    """Names and extra arguments; the first is what was asked for."""
    given = [part for text in choice.ep_option for part in ("--ep-option", text)]
    threads = choice.options().threads
    settings = ["--threads", str(threads), "--level", choice.level]
    yield "as asked for", [*given, *settings]
    if threads > 1:
        yield "one thread", [*given, "--threads", "1", "--level", choice.level]
    for level in ("extended", "basic", "none"):
        if level != choice.level:
            yield f"level {level}", [*given, "--threads", str(threads), "--level", level]
    for name in choice.names or discovery.available():
        info = discovery.find(name)[0].info
        for label, options in (info.variants if info is not None else {}).items():
            own = [f"{name}.{k}" for k in options]
            kept = [text for text in choice.ep_option if text.partition("=")[0] not in own]
            set_here = [f"{name}.{k}={v}" for k, v in options.items()]
            yield f"{name}: {label}", [*(p for text in (*kept, *set_here) for p in ("--ep-option", text)), *settings]


def _arguments(ctx: click.Context) -> list[str]:
    """The command line that gave `ctx` its parameters, without those that the variants set."""
    out: list[str] = []
    for p in ctx.command.params:
        value = ctx.params.get(p.name or "")
        if p.name in OWN or value in (None, (), False, "") or value == p.default:
            continue
        if isinstance(p, click.Argument):
            out.append(str(value))
        elif value is True:
            out.append(p.opts[0])
        else:
            for one in value if isinstance(value, tuple) else (value,):
                out += [p.opts[0], str(one)]
    return out


def _measure(row: dict[str, Any], arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "sardonyx", "bench", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        row["error"] = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1][:300]
        return
    result = json.loads(done.stdout)["engines"][0]
    row["p50"].append(result["p50"])
    row["p99"].append(result["p99"])
