"""The process in which one engine lives: it loads the model once, then runs it in bursts when asked."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

import numpy as np

__all__ = ["burst", "work"]

WARM = 3
LEAST = 3


def work(pipe: Connection, engine: str, path: str, dims: dict[str, int], max_int: int, threads: int) -> None:
    """Answer on `pipe`: first a dict (load and first-run seconds, peak bytes, outputs; or an error), then for every number of
    seconds received a list of run times, until None comes."""
    try:
        from sardonyx_conformance.bench.engines import prepare
        from sardonyx_conformance.bench.feeds import make_feeds

        build, feeds = prepare(engine), make_feeds(path, dims, max_int=max_int)
        base = _reset_peak()
        run, load = _timed(lambda: build(path, feeds, threads))
        outputs, first = _timed(run)
        for _ in range(WARM):
            run()
        peak = None if base is None else max(0, (_kilobytes("VmHWM") - base) * 1024)
        pipe.send({"load_s": load, "first_s": first, "peak_bytes": peak, "outputs": [np.asarray(y) for y in outputs]})
        while (seconds := pipe.recv()) is not None:
            pipe.send(burst(run, seconds))
    except Exception as e:
        pipe.send({"error": f"{type(e).__name__}: {' '.join(str(e).split())[:300]}"})


def burst(run: Callable[[], Any], seconds: float) -> list[float]:
    """Seconds of each run, for about `seconds` in all, but three runs at least."""
    times: list[float] = []
    end = perf_counter() + seconds
    while perf_counter() < end or len(times) < LEAST:
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return times


def _timed(action: Callable[[], Any]) -> tuple[Any, float]:
    start = perf_counter()
    result = action()
    return result, perf_counter() - start


def _reset_peak() -> int | None:
    """Set the peak of memory in use back to what is in use now, and return that in KB; None where the system cannot."""
    try:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
        return _kilobytes("VmRSS")
    except OSError:
        return None


def _kilobytes(field: str) -> int:
    with open(f"/proc/{os.getpid()}/status") as f:
        return int(next(line.split()[1] for line in f if line.startswith(field)))
