"""What `bench` measures: a session and other engines, loaded, warmed up and with what that took."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sardonyx.cli import show
from sardonyx.cli.measure import peak_growth
from sardonyx.cli.options import Choice
from sardonyx.errors import InvalidInput
from sardonyx.tools import engines as tools
from sardonyx.tools.engines import import_engine, known_engine

__all__ = ["Engine", "largest_difference", "open_engine"]


@dataclass
class Engine:
    """A loaded and warmed-up engine: its `run`, its outputs, and `facts`: load and first run in seconds, memory in bytes."""

    name: str
    run: Callable[[], Any]
    feeds: dict[str, Any]
    outputs: list[Any]
    facts: dict[str, Any]

    @staticmethod
    def of_session(name: str, make: Callable[[], Any], warmup: int, feed: Callable[[Any], dict[str, Any]]) -> Engine:
        """An engine of a session made by `make`, fed with `feed(session)` and run `warmup` times."""
        with peak_growth() as peak:
            start = time.perf_counter()
            session = make()
            loaded = time.perf_counter()
            feeds = feed(session)
            fed = time.perf_counter()
            outputs = session.run(None, feeds)
            first = time.perf_counter()
            for _ in range(warmup - 1):
                session.run(None, feeds)
        facts = {"load": loaded - start, "first_run": first - fed, "memory": peak["bytes"]}
        if hasattr(session, "explain"):
            facts["shares"] = session.explain().shares
        run = session.bound(feeds) if isinstance(session, tools.Engine) else lambda: session.run(None, feeds)
        return Engine(name, run, feeds, outputs, facts)


def open_engine(name: str, model: str, choice: Choice, feeds: dict[str, Any], warmup: int) -> Engine:
    """The engine `name` (see `sardonyx.tools.engines`), with the threads of `choice`; providers also with its level."""
    try:
        known_engine(name)
    except InvalidInput as e:
        raise InvalidInput(f"--against {name}: {e}") from e
    import_engine(name)
    o = choice.options()

    def make() -> Any:
        with show.status(f"loading {model} in {name}"):
            return tools.open_engine(name, model, threads=o.threads, level=o.graph_optimization_level, feeds=feeds)

    return Engine.of_session(name, make, warmup, lambda session: feeds)


def largest_difference(reference: list[Any], outputs: list[Any]) -> float:
    """The largest difference of two lists of outputs, relative to the reference's largest value; inf where shapes differ
    or only one side is finite. Outputs that are no tensors of numbers are left out."""
    worst = 0.0
    for a, b in zip(reference, outputs, strict=True):
        if not isinstance(a, np.ndarray) or a.dtype.kind not in "fiub" or not a.size:
            continue
        if not isinstance(b, np.ndarray) or a.shape != b.shape:
            return float("inf")
        x, y = a.astype(np.float64), b.astype(np.float64)
        finite = np.isfinite(x)
        if not np.array_equal(finite, np.isfinite(y)):
            return float("inf")
        if finite.any():
            scale = float(np.abs(x[finite]).max()) or 1.0
            worst = max(worst, float(np.abs(x[finite] - y[finite]).max()) / scale)
    return worst
