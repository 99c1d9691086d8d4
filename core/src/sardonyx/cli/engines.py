"""What `bench` measures: sessions of Sardonyx and of onnxruntime behind one face."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sardonyx.cli import show
from sardonyx.cli.measure import peak_growth
from sardonyx.cli.options import Choice
from sardonyx.errors import InvalidInput, SardonyxError
from sardonyx.runtime import discovery

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
        return Engine(name, lambda: session.run(None, feeds), feeds, outputs, facts)


def open_engine(name: str, model: str, choice: Choice, feeds: dict[str, Any], warmup: int) -> Engine:
    """The engine `name`: onnxruntime, or a provider of Sardonyx, with the threads of `choice`."""
    if name == "onnxruntime":
        return Engine.of_session(name, lambda: _onnxruntime(model, choice.options().threads), warmup, lambda session: feeds)
    try:
        discovery.find(name)
    except InvalidInput as e:
        raise InvalidInput(f"--against {name}: it is neither onnxruntime nor a provider; {e}") from e
    other = replace(choice, ep=name, ep_option=(), strict=False)
    return Engine.of_session(name, lambda: other.open(model), warmup, lambda session: feeds)


def _onnxruntime(model: str, threads: int) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise InvalidInput("--against onnxruntime: it is not installed: pip install onnxruntime") from None
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    with show.status(f"loading {model} in onnxruntime"):
        try:
            return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as e:
            raise SardonyxError(f"onnxruntime cannot load {model}: {e}") from e


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
