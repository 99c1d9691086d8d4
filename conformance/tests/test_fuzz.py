"""A bounded run of the fuzzer, and that it sees what it is there to see."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from sardonyx_conformance.fuzz import run, worker
from sardonyx_conformance.fuzz.__main__ import main
from sardonyx_conformance.fuzz.case import KINDS, FuzzCase, make_case
from sardonyx_conformance.fuzz.corpus import small
from sardonyx_conformance.fuzz.run import BAD, run_cases

CASES = 300


@pytest.fixture(scope="module")
def corpus():
    return small()


def test_bounded_run(corpus):
    """Every case ends with a SardonyxError or an answer."""
    outcomes = run_cases(corpus, range(CASES), ep="cpu", seed=1, workers=2, limit=30)
    assert sorted(o.index for o in outcomes) == list(range(CASES))
    assert not [f"case {o.index}: {o.what}: {o.kind} {o.name}\n{o.detail}" for o in outcomes if o.kind in BAD]
    kinds = {o.kind for o in outcomes}
    assert {"ok", "error"} <= kinds, "mutations should neither break everything nor nothing"


def test_samples_are_valid(corpus):
    for sample in corpus:
        outcome = worker._outcome(
            FuzzCase(0, "sample", sample.name, sample.model, sample.feeds, "bytes", False, sample.files, sample), "cpu"
        )
        assert outcome.kind == "ok", f"{sample.name}: {outcome.detail}"


def test_cases_follow_from_seed_and_number(corpus):
    for kind in KINDS:
        a, b = (make_case(corpus, 3, 7, (kind,)) for _ in range(2))
        assert (a.title, a.model, list(a.feeds)) == (b.title, b.model, list(b.feeds))
    assert len({make_case(corpus, 3, i).model for i in range(40)}) > 30


@pytest.mark.parametrize(
    ("error", "kind"),
    [(KeyError("raw"), "exception"), (MemoryError(), "exception"), (RecursionError(), "exception"), (KeyboardInterrupt(), "exception")],
)
def test_raw_exceptions_are_seen(corpus, monkeypatch, error, kind):
    def broken(*args):
        raise error

    monkeypatch.setattr(worker, "_session_run", broken)
    sample = corpus[0]
    case = FuzzCase(0, "sample", sample.name, sample.model, sample.feeds, "bytes", False, sample.files)
    assert worker._outcome(case, "cpu").kind == kind


def test_wrong_answers_are_seen(corpus, monkeypatch):
    answers = iter([[np.ones(2)], [np.zeros(2)]])
    monkeypatch.setattr(worker, "_session_run", lambda *args: next(answers))
    sample = corpus[0]
    case = FuzzCase(0, "feeds", sample.name, sample.model, sample.feeds, "bytes", False, sample.files, sample)
    assert worker._outcome(case, "cpu").kind == "wrong"


def _serve_badly(conn, *args):
    conn.send("ready")
    while (index := conn.recv()) is not None:
        if index == 1:
            os.abort()
        if index == 2:
            time.sleep(600)
        conn.send(worker.Outcome(index, "ok", "fine"))


def test_dead_and_endless_workers_are_replaced(corpus, monkeypatch):
    # A spawned worker imports this module by the name pytest gave it, which starts at the repository's root.
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    monkeypatch.setattr(run, "serve", _serve_badly)
    outcomes = run_cases(corpus, range(4), ep="cpu", workers=1, limit=2.0)
    assert [(o.index, o.kind) for o in outcomes] == [(0, "ok"), (1, "crash"), (2, "timeout"), (3, "ok")]
    assert outcomes[1].name == "exit status -6"


def test_command(capsys):
    assert main(["--corpus", "small", "--cases", "6", "--kinds", "feeds", "--workers", "1", "--seconds", "30", "--json", "--all"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cases"] == 6 == sum(told["counts"].values())
    assert {"index", "kind", "what"} <= told["outcomes"][0].keys()


def test_another_engine_is_compared(corpus):
    same = run_cases(corpus[:1], range(3), ep="cpu", kinds=("feeds",), workers=1, limit=60, against="cpu")
    assert not [o for o in same if o.kind == "differs"]
    first = worker.Outcome(0, "ok", "", values=[np.ones(2)])
    run._compare(first, worker.Outcome(0, "ok", "", values=[np.zeros(2)]))
    assert first.kind == "differs"
