"""Timing several engines on one model: a process for each, bursts in turn, and what the times say."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from sardonyx_conformance.bench.worker import work

__all__ = ["difference", "measure", "speedups"]

PAUSE = 0.05
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def measure(
    path: str,
    engines: Sequence[str],
    *,
    dims: Mapping[str, int] | None = None,
    threads: int = 1,
    rounds: int = 6,
    seconds: float = 0.4,
    max_int: int = 100,
) -> dict[str, dict[str, Any]]:
    """What each engine does with the model at `path`, by engine: load_s, first_s, peak_bytes, median_s, p90_s, p99_s, runs
    and difference (of its outputs from the first engine's, relative to their largest value); or error.

    Engines run in bursts of `seconds`, in turn, `rounds` times, so that a machine's slow moments meet them all.
    """
    results: dict[str, dict[str, Any]] = {}
    with _workers(path, engines, dict(dims or {}), max_int, threads) as pipes:
        reference = None
        for engine, pipe in list(pipes.items()):
            answer = _receive(pipe)
            outputs = answer.pop("outputs", None)
            if outputs is None:
                del pipes[engine]
            else:
                reference = outputs if reference is None else reference
                answer["difference"] = difference(reference, outputs)
            results[engine] = answer
        times: dict[str, list[float]] = {engine: [] for engine in pipes}
        for _ in range(rounds):
            for engine in list(pipes):
                more = _ask(pipes[engine], seconds)
                if isinstance(more, list):
                    times[engine] += more
                else:
                    results[engine] = more
                    del pipes[engine]
                time.sleep(PAUSE)
        for engine in pipes:
            results[engine] |= _summary(times[engine])
    return results


@contextmanager
def _workers(path: str, engines: Sequence[str], dims: dict[str, int], max_int: int, threads: int) -> Iterator[dict[str, Any]]:
    """A process per engine, and the pipe to it."""
    context = multiprocessing.get_context("spawn")
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    pipes, processes = {}, []
    try:
        for engine in engines:
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(theirs, engine, path, dims, max_int, threads), daemon=True)
            process.start()
            theirs.close()
            pipes[engine] = ours
            processes.append(process)
        everyone = list(pipes.values())
        yield pipes
        for pipe in everyone:
            try:
                pipe.send(None)
            except OSError:
                continue
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for process in processes:
            process.join(timeout=5)
            if process.is_alive():
                process.terminate()


def _receive(pipe: Any) -> Any:
    try:
        return pipe.recv()
    except (EOFError, OSError):
        return {"error": "its process died"}


def _ask(pipe: Any, seconds: float) -> Any:
    try:
        pipe.send(seconds)
    except OSError:
        return {"error": "its process died"}
    return _receive(pipe)


def _summary(times: Sequence[float]) -> dict[str, Any]:
    return {
        "median_s": statistics.median(times),
        "p90_s": float(np.percentile(times, 90)),
        "p99_s": float(np.percentile(times, 99)),
        "runs": len(times),
    }


def difference(reference: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> float:
    """The largest difference of any output, relative to its reference's largest value; infinity where shapes differ, or where
    one is finite and the other is not."""
    worst = 0.0
    if len(reference) != len(outputs):
        return float("inf")
    for a, b in zip(reference, outputs, strict=True):
        if a.shape != b.shape:
            return float("inf")
        if a.dtype.kind in "OUS":
            worst = max(worst, 0.0 if a.tolist() == b.tolist() else float("inf"))
        elif a.size:
            wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
            same = (wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b))
            with np.errstate(all="ignore"):
                gap = np.where(same, 0, np.abs(wide_a - wide_b))
            scale = np.abs(wide_a[np.isfinite(wide_a)]).max(initial=0) or 1.0
            worst = max(worst, float(np.nan_to_num(gap, nan=np.inf).max()) / float(scale))
    return worst


def speedups(rows: Sequence[Mapping[str, Mapping[str, Any]]], engine: str, tolerance: float) -> list[float]:
    """By model, how many times faster `engine` is than the fastest other engine whose results are within `tolerance`."""
    found = []
    for row in rows:
        mine = row.get(engine, {}).get("median_s")
        others = [r["median_s"] for name, r in row.items() if name != engine and "median_s" in r and r["difference"] <= tolerance]
        if mine and others:
            found.append(min(others) / mine)
    return found
