"""Running the suite inside this process, as a user would, and what became of its tests."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


class Recorder:
    """A plugin that keeps the outcome of every test."""

    def __init__(self) -> None:
        self.outcomes: dict[str, set[str]] = {"passed": set(), "failed": set(), "skipped": set()}
        self.reasons: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The call counts, and whatever ends a test before it."""
        if report.when == "call" or report.outcome != "passed":
            name = report.nodeid.partition("::")[2]
            self.outcomes[report.outcome].add(name)
            self.reasons[name] = str(report.longrepr)


@pytest.fixture
def run_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """A function that runs `pytest --pyargs sardonyx_conformance` with more arguments. What it returns has the names of the
    tests that `passed`, `failed` and were `skipped`, the `reasons` by name, the exit `status`, and what was said (`text`)."""

    def run(*arguments: str) -> SimpleNamespace:
        for name in [m for m in sys.modules if m.startswith("sardonyx_conformance.") and ".test_" in m]:
            del sys.modules[name]
        recorder = Recorder()
        monkeypatch.chdir(tmp_path)
        packages = [] if any(a.startswith("sardonyx_conformance") for a in arguments) else ["sardonyx_conformance"]
        common = ["--pyargs", *packages, "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "--tb=short"]
        status = pytest.main([*common, *arguments], plugins=[recorder])
        said = capfd.readouterr()
        return SimpleNamespace(**recorder.outcomes, reasons=recorder.reasons, status=status, text=said.out + said.err)

    return run
