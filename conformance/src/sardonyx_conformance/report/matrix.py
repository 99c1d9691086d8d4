"""Operators against providers: one table from the reports of several, as HTML or Markdown."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence

import onnx

from sardonyx_conformance.report.data import Report

__all__ = ["to_html", "to_markdown"]

STYLE = """
:root{color-scheme:light dark}body{font:14px/1.4 system-ui,sans-serif;margin:2rem}table{border-collapse:collapse}
th,td{padding:.2rem .6rem;border:1px solid #8884;text-align:left}thead th{position:sticky;top:0;background:Canvas}
.passed{background:#2a02}.failed{background:#d003}.partial{background:#fa03}.none{opacity:.5}
input{font:inherit;padding:.3rem;margin:.5rem 0}
"""
SCRIPT = """
const box=document.querySelector('input');box.oninput=()=>{const t=box.value.toLowerCase();
for(const r of document.querySelectorAll('tbody tr'))r.hidden=!r.dataset.name.includes(t)}
"""


def _rows(reports: Sequence[Report]) -> list[tuple[str, str, list[Counter[str]]]]:
    """(domain, operator, counts per report) for every operator of onnx, of the reports, and of the providers' kernels."""
    tables = [r.operators() for r in reports]
    keys = {(s.domain, s.name) for s in onnx.defs.get_all_schemas()}
    keys.update(*tables, *_kernels(reports))
    return [(domain, op, [t.get((domain, op), Counter()) for t in tables]) for domain, op in sorted(keys)]


def _cell(c: Counter[str], kernel: bool) -> tuple[str, str]:
    """The class and text of one cell; `kernel`: the provider's table has the operator."""
    claimed = c["passed"] + c["failed"] + c["xfailed"]
    if not claimed:
        return ("none", "not claimed") if c["not claimed"] else ("none", "kernel, no case" if kernel else "no case")
    total = claimed + c["not claimed"]
    text = f"{c['passed']}/{total}"
    if c["failed"]:
        return "failed", f"{text}, {c['failed']} failed"
    if c["passed"] < total:
        return "partial", text + (f", {c['xfailed']} expected" if c["xfailed"] else "")
    return "passed", text


def _kernels(reports: Sequence[Report]) -> list[set[tuple[str, str]]]:
    return [{(domain, op) for domain, op in r.kernels} for r in reports]


def _head(report: Report) -> str:
    passed = sum(r["outcome"] == "passed" for r in report.results)
    return f"{report.ep} {report.version} ({passed} of {len(report.results)} tests)"


def to_html(reports: Sequence[Report]) -> str:
    """One self-contained page; reasons appear as tooltips."""
    head = "".join(f"<th>{html.escape(_head(r))}</th>" for r in reports)
    reasons = [_reasons(r) for r in reports]
    tables = _kernels(reports)
    body = []
    for domain, op, counts in _rows(reports):
        name = f"{domain or 'ai.onnx'} {op}"
        cells = []
        for c, why, kernels in zip(counts, reasons, tables, strict=True):
            kind, text = _cell(c, (domain, op) in kernels)
            title = html.escape(why.get((domain, op), ""), quote=True)
            cells.append(f'<td class="{kind}" title="{title}">{text}</td>')
        body.append(
            f'<tr data-name="{html.escape(name.lower(), quote=True)}"><td>{domain or "ai.onnx"}</td><th>{op}</th>{"".join(cells)}</tr>'
        )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Operators and providers</title><style>{STYLE}</style>'
        f"<h1>Operators and providers</h1><p>Cases of onnx {html.escape(', '.join(sorted({r.onnx for r in reports})))} that pass, "
        "optimizations on and off.</p><input placeholder='filter' aria-label='filter'>"
        f"<table><thead><tr><th>domain</th><th>operator</th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        f"<script>{SCRIPT}</script></html>"
    )


def _reasons(report: Report) -> dict[tuple[str, str], str]:
    """The first reasons for what did not pass, by operator."""
    found: dict[tuple[str, str], list[str]] = {}
    for r in report.results:
        if r["outcome"] != "passed" and r["reason"]:
            for key in {(d, op) for d, op, _ in r["operators"]}:
                found.setdefault(key, []).append(f"{r['name']} ({r['variant']}): {r['outcome']}: {r['reason'][:200]}")
    return {k: "\n".join(v[:5]) for k, v in found.items()}


def to_markdown(reports: Sequence[Report]) -> str:
    """A page for the documentation: per operator and provider, the cases passed of all there are."""
    versions = ", ".join(sorted({r.onnx for r in reports}))
    lines = [
        "# Operators and providers",
        "",
        f"Made by `python -m sardonyx_conformance.report`: per operator and provider, how many of onnx {versions}'s backend tests",
        "with that operator pass, with optimizations on and off; for operators that onnx has no test of, how many of the suite's own.",
        '"Expected" are failures that the provider\'s ledger explains; "kernel, no case" is an operator that the provider has a kernel',
        "of and the suite no test (tests of the provider's own package may have).",
        "",
    ]
    lines += ["| domain | operator | " + " | ".join(r.ep for r in reports) + " |", "| --- | --- |" + " ---: |" * len(reports)]
    tables = _kernels(reports)
    for domain, op, counts in _rows(reports):
        cells = (_cell(c, (domain, op) in kernels)[1] for c, kernels in zip(counts, tables, strict=True))
        lines.append(f"| {domain or 'ai.onnx'} | {op} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
