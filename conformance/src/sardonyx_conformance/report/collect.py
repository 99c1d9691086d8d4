"""Collecting results while the suite runs, and what is said at its end."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sardonyx_conformance.plugin import PROPERTY
from sardonyx_conformance.report.data import Report, outcome
from sardonyx_conformance.report.matrix import to_html, to_markdown

__all__ = ["Collector"]

ONNX_KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")


class Collector:
    """Keeps every result; at the end checks the ledger's promise and writes the reports."""

    def __init__(self, config: pytest.Config):
        self.config = config
        self.results: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.complaints: list[str] = []
        self.collected = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in one phase of one test; the worst of its phases counts."""
        facts: Any = dict(report.user_properties).get(PROPERTY)
        if facts is None:
            return
        state, reason = outcome(report)
        if report.when == "call" or state in ("failed", "skipped", "xfailed"):
            key = (facts["kind"], facts["name"], facts["variant"])
            seconds = round(report.duration, 4)
            self.results[key] = {**facts, "outcome": state, "reason": reason, "seconds": seconds}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a whole run that claims less than the ledger promises, and write the report files."""
        if not self.results:
            return
        report = self.report()
        if self._is_whole(session):
            self.complaints = broken_promises(report, self._target().ledger)
            if self.complaints and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._write(report)

    def report(self) -> Report:
        """The report of what was collected so far."""
        return Report.of(self._target().status, list(self.results.values()), self._target().ledger.source)

    def _target(self) -> Any:
        from sardonyx_conformance.plugin import make_target

        return make_target(self.config)

    def _is_whole(self, session: pytest.Session) -> bool:
        """Whether every onnx case ran: nothing was deselected by name or mark, and the run was not cut short."""
        from sardonyx_conformance.cases.backend import load_cases

        ran = Counter(r["variant"] for r in self.results.values() if r["kind"] in ONNX_KINDS)
        return bool(ran) and all(n == len(load_cases()) for n in ran.values())

    def _write(self, report: Report) -> None:
        folder, file = self.config.getoption("--report"), self.config.getoption("--report-json")
        text = json.dumps(report.to_dict(), indent=1)
        if file:
            Path(file).write_text(text, "utf-8")
        if folder:
            place = Path(folder)
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{report.ep}.json").write_text(text, "utf-8")
            (place / f"{report.ep}.md").write_text(to_markdown([report]), "utf-8")
            (place / f"{report.ep}.html").write_text(to_html([report]), "utf-8")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The table of counts, and broken promises of the ledger."""
        if not self.results:
            return
        terminalreporter.section(f"conformance of {self._target().ep!r}")
        for line in self.report().summary():
            terminalreporter.write_line(line)
        for line in self.complaints:
            terminalreporter.write_line(f"FAILED {line}", red=True)


def broken_promises(report: Report, ledger: Any) -> list[str]:
    """What the ledger promises and a whole run does not keep."""
    complaints = []
    promised = ledger.claimed.get(report.onnx)
    for variant, count in report.claimed_cases().items():
        if promised is not None and count < promised:
            complaints.append(f"ledger: {count} of onnx {report.onnx}'s cases are claimed ({variant}), {ledger.source} promises {promised}")
    known = {r["name"] for r in report.results}
    complaints += [f"ledger: xfail {name!r} names no case of this run" for name in ledger.xfail if name not in known]
    return complaints
