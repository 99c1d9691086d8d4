"""Timing functions fairly: short bursts in turn."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["alternate", "peak_growth", "statistics"]

BURST = 0.2
LEAST = 3
PATIENCE = 4


def alternate(functions: Sequence[Callable[[], Any]], seconds: float, names: Sequence[str]) -> list[list[float]]:
    """Seconds per call, for each function, measured in bursts that take turns until each had `seconds`.

    Every burst has at least three calls; slow functions end it early. A terminal shows a progress bar.
    """
    samples: list[list[float]] = [[] for _ in functions]
    rounds = max(1, round(seconds / BURST))
    with _progress(rounds * len(functions)) as advance:
        for _ in range(rounds):
            for function, times, name in zip(functions, samples, names, strict=True):
                end = time.perf_counter() + min(BURST, seconds)
                count = 0
                while count < LEAST or time.perf_counter() < end:
                    start = time.perf_counter()
                    function()
                    times.append(time.perf_counter() - start)
                    count += 1
                advance(name)
            if len(samples[0]) >= 3 * LEAST and max(map(sum, samples)) > PATIENCE * seconds:
                break
    return samples


def statistics(times: Sequence[float]) -> dict[str, Any]:
    """P50, P90, P99, mean and least of seconds, and how many there are."""
    p50, p90, p99 = np.percentile(times, [50, 90, 99])
    mean = sum(times) / len(times)
    return {"p50": float(p50), "p90": float(p90), "p99": float(p99), "mean": mean, "min": min(times), "runs": len(times)}


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("measuring", total=total)
        yield lambda name: bar.update(task, advance=1, description=name)


@contextlib.contextmanager
def peak_growth() -> Iterator[dict[str, int | None]]:
    """How far the process's resident memory rises at its peak while the block runs: `bytes` of the dict, None where the
    system does not say (it needs Linux's /proc)."""
    out: dict[str, int | None] = {"bytes": None}
    before = None
    with contextlib.suppress(OSError):
        with open("/proc/self/clear_refs", "w", encoding="ascii") as f:
            f.write("5")
        before = _status("VmRSS")
    yield out
    after = _status("VmHWM")
    if before is not None and after is not None:
        out["bytes"] = max(0, after - before)


def _status(field: str) -> int | None:
    try:
        with open("/proc/self/status", encoding="ascii") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field))
    except (OSError, StopIteration, ValueError):
        return None
