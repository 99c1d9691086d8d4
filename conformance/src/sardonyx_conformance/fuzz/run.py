"""Workers and their time limits: a case that ends a worker, or does not end, costs that worker only."""

from __future__ import annotations

import multiprocessing
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from sardonyx_conformance.compare import assert_similar
from sardonyx_conformance.fuzz.case import KINDS, make_case
from sardonyx_conformance.fuzz.corpus import Sample, write
from sardonyx_conformance.fuzz.worker import Outcome, serve

__all__ = ["BAD", "MEMORY", "run_cases"]

BAD = ("exception", "internal", "wrong", "crash", "timeout")
MEMORY = 4 << 30
START = 120.0
RTOL, ATOL = 1e-2, 1e-4


class Worker:
    """A process that runs one case at a time; it is replaced when it dies or is too late."""

    def __init__(self, log: Path, arguments: tuple[Any, ...]):
        self._log, self._arguments = log, arguments
        self._process: Any = None
        self._conn: Any = None

    def run(self, index: int, limit: float) -> Outcome:
        """The outcome of a case within `limit` seconds."""
        if self._process is None:
            self._start()
        self._conn.send(index)
        try:
            if self._conn.poll(limit):
                outcome: Outcome = self._conn.recv()
                return outcome
        except (EOFError, ConnectionError):
            self._process.join()
            return self._lost(index, "crash", f"exit status {self._process.exitcode}")
        return self._lost(index, "timeout", f"more than {limit:g} s")

    def _lost(self, index: int, kind: str, name: str) -> Outcome:
        self.stop()
        return Outcome(index, kind, "", name, self._log.read_text(errors="replace").strip("\0")[-3000:])

    def _start(self) -> None:
        self._log.touch()
        context = multiprocessing.get_context("spawn")
        self._conn, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, self._log, *self._arguments), daemon=True)
        self._process.start()
        theirs.close()
        if not self._conn.poll(START) or self._conn.recv() != "ready":
            raise RuntimeError("a worker did not start")

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._conn.close()
            self._process = None


def run_cases(
    samples: list[Sample],
    indices: Iterable[int],
    *,
    ep: str,
    seed: int = 0,
    kinds: tuple[str, ...] = KINDS,
    limit: float = 10.0,
    memory: int = MEMORY,
    workers: int = 2,
    against: str | None = None,
    done: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """The outcomes of the cases, in the order in which they ended. `done` is called with each.

    `against` is "onnxruntime", or another provider: where both have an answer, a difference makes the outcome `differs`.
    """
    todo: SimpleQueue[int] = SimpleQueue()
    for i in indices:
        todo.put(i)
    outcomes: list[Outcome] = []
    lock = threading.Lock()

    def work(worker: Worker, oracle: Worker | None) -> None:
        while True:
            try:
                outcome = worker.run(todo.get_nowait(), limit)
            except Empty:
                return
            if oracle is not None and outcome.kind == "ok" and outcome.values is not None:
                _compare(outcome, oracle.run(outcome.index, limit))
            outcome.values = None
            outcome.what = outcome.what or make_case(samples, seed, outcome.index, kinds).title
            with lock:
                outcomes.append(outcome)
                done(outcome)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.pickle"
        write(samples, path)
        common = (kinds, memory, limit, against is not None)
        with (
            _pool(workers, Path(folder), (path, seed, ep, *common)) as pool,
            _pool(workers if against else 0, Path(folder), (path, seed, against, *common)) as oracles,
            ThreadPoolExecutor(workers) as threads,
        ):
            list(threads.map(work, *zip(*zip_longest(pool, oracles), strict=True)))
    return outcomes


def _compare(outcome: Outcome, other: Outcome) -> None:
    """Let the outcome be `differs` if the other engine gave another answer."""
    if other.kind != "ok" or other.values is None or outcome.values is None:
        return
    try:
        assert_similar(outcome.values, other.values, RTOL, ATOL)
    except Exception as e:
        outcome.kind, outcome.name, outcome.detail = "differs", "AssertionError", str(e)


@contextmanager
def _pool(count: int, folder: Path, arguments: tuple[Any, ...]) -> Iterator[list[Worker]]:
    pool = [Worker(folder / f"stacks-{arguments[2]}-{i}.txt", arguments) for i in range(count)]
    try:
        yield pool
    finally:
        for worker in pool:
            worker.stop()
