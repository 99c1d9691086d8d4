"""Executables are re-entrant: many threads run one session, and several sessions run at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sardonyx_conformance.contract.models import SAMPLES, Sample, by_name
from sardonyx_conformance.target import Target

THREADS, RUNS = 8, 25


@pytest.mark.parametrize("sample", SAMPLES, ids=by_name)
def test_one_session_many_threads(sample: Sample, target: Target) -> None:
    """Eight threads with inputs of their own, all started at once: every answer belongs to its input."""
    session = target.session(sample.model)
    feeds = [{k: (v * (1 + i)).astype(v.dtype) for k, v in sample.feeds.items()} for i in range(THREADS)]
    want = [session.run(None, f) for f in feeds]
    gate = threading.Barrier(THREADS)

    def work(i: int) -> None:
        gate.wait()
        for _ in range(RUNS):
            for got, right in zip(session.run(None, feeds[i]), want[i], strict=True):
                np.testing.assert_array_equal(got, right, err_msg="an answer changed while other threads ran the session")

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(work, i) for i in range(THREADS)]:
            done.result()


def test_sessions_made_in_threads(target: Target) -> None:
    """Sessions are made and run in several threads at once."""
    samples = [s for s in SAMPLES if s.name in ("relu", "add", "matmul", "chain")]
    target.session(samples[0].model)

    def work(i: int) -> None:
        sample = samples[i % len(samples)]
        for got, want in zip(target.session(sample.model).run(None, sample.copies()), sample.want, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, i) for i in range(12)]:
            done.result()
