"""The report of one run as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import onnx

import sardonyx

__all__ = ["ONNX_KINDS", "OUTCOMES", "Report", "outcome"]

ONNX_KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
OUTCOMES = ("passed", "failed", "xfailed", "not claimed", "skipped")
NOT_CLAIMED = "not claimed: "


def outcome(report: Any) -> tuple[str, str]:
    """One of OUTCOMES and the reason, from a pytest report."""
    if hasattr(report, "wasxfail"):
        return ("xfailed", report.wasxfail) if report.skipped else ("passed", "")
    if report.skipped:
        text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        text = text.removeprefix("Skipped: ")
        return ("not claimed", text.removeprefix(NOT_CLAIMED)) if text.startswith(NOT_CLAIMED) else ("skipped", text)
    if report.passed:
        return "passed", ""
    crash = getattr(report.longrepr, "reprcrash", None)
    return "failed", crash.message if crash is not None else str(report.longrepr)


@dataclass
class Report:
    """`results` has one dict per test and variant: name, kind, variant, operators, outcome, reason, seconds. `kernels` lists
    [domain, operator] of the provider's kernel table; it is empty for a provider that has none."""

    ep: str
    distribution: str
    version: str
    onnx: str
    sardonyx: str
    ledger: str
    results: list[dict[str, Any]] = field(default_factory=list)
    kernels: list[list[str]] = field(default_factory=list)

    @classmethod
    def of(cls, status: Any, results: list[dict[str, Any]], ledger: str) -> Report:
        """The report of a provider's results in this environment."""
        table = status.info.create(status.info.check_options({})).kernels if status.info is not None else None
        kernels = [list(key) for key in sorted({(k.domain, k.op) for k in table or ()})]
        return cls(status.name, status.distribution, status.version, onnx.__version__, sardonyx.__version__, ledger, results, kernels)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**self.__dict__, "counts": {f"{k} {v}".strip(): dict(c) for (k, v), c in self.counts().items()}}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Report:
        """The report that to_dict() was made from."""
        return cls(**{k: v for k, v in data.items() if k != "counts"})

    def counts(self) -> dict[tuple[str, str], Counter[str]]:
        """Outcomes by (kind, variant)."""
        table: dict[tuple[str, str], Counter[str]] = {}
        for r in self.results:
            table.setdefault((r["kind"], r["variant"]), Counter())[r["outcome"]] += 1
        return table

    def domains(self) -> dict[str, Counter[str]]:
        """Outcomes of onnx's cases by the domain of their first operator."""
        table: dict[str, Counter[str]] = {}
        for r in self.results:
            if r["operators"] and r["kind"] in ONNX_KINDS:
                table.setdefault(r["operators"][0][0] or "ai.onnx", Counter())[r["outcome"]] += 1
        return table

    def claimed_cases(self) -> dict[str, int]:
        """How many of onnx's cases are claimed, by variant."""
        table: Counter[str] = Counter()
        for r in self.results:
            if r["kind"] in ONNX_KINDS:
                table[r["variant"]] += r["outcome"] in ("passed", "failed", "xfailed")
        return dict(table)

    def operators(self) -> dict[tuple[str, str], Counter[str]]:
        """Outcomes by (domain, operator): those of onnx's cases that test the operator alone, or, where there are none, of all
        of onnx's cases it occurs in, or else of the suite's own tests."""
        alone: dict[tuple[str, str], Counter[str]] = {}
        among: dict[tuple[str, str], Counter[str]] = {}
        own: dict[tuple[str, str], Counter[str]] = {}
        for r in self.results:
            keys = {(d, op) for d, op, _ in r["operators"]}
            for key in keys:
                table = own if r["kind"] not in ONNX_KINDS else alone if len(keys) == 1 else among
                table.setdefault(key, Counter())[r["outcome"]] += 1
        return {**own, **among, **alone}

    def summary(self) -> list[str]:
        """The table of counts, as lines."""
        rows = [(f"{kind} {variant}".strip(), c) for (kind, variant), c in sorted(self.counts().items(), key=_order)]
        rows += [(f"domain {domain}", c) for domain, c in sorted(self.domains().items())]
        width = max(len(title) for title, _ in rows)
        lines = [f"{'':{width}}  " + "  ".join(f"{o:>11}" for o in ("claimed", *OUTCOMES))]
        for title, c in rows:
            claimed = c["passed"] + c["failed"] + c["xfailed"]
            lines.append(f"{title:{width}}  " + "  ".join(f"{n:>11}" for n in (claimed, *(c[o] for o in OUTCOMES))))
        lines.append(f"ledger: {self.ledger}; onnx {self.onnx}, sardonyx {self.sardonyx}")
        return lines


def _order(row: tuple[tuple[str, str], Counter[str]]) -> tuple[bool, str, str]:
    (kind, variant), _ = row
    return kind not in ONNX_KINDS, kind, variant
