"""Models that a converter has just made predict what the source framework predicts, on every provider of this environment.

A script of this folder makes cases and calls `main`. Its command line: names of cases to run (all by default), and --json.
The exit status is 0 if every model was converted, ran and predicted right.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
from differences import difference, largest

import sardonyx

PROVIDERS = ("cpu", "native")
Level = sardonyx.GraphOptimizationLevel


@dataclass
class Converted:
    """A model, and `runs` of it: the feeds by name, and what the framework predicts for each output of the model.

    An expected value is an array (floats are compared by TOLERANCES, all else exactly), a list of {class: probability}, or None
    if the framework has nothing to compare that output with.
    """

    model: onnx.ModelProto
    runs: Sequence[tuple[Mapping[str, Any], Sequence[Any]]]


Cases = Mapping[str, Callable[[], Converted]]


def check(case: Converted, provider: str, level: Level) -> dict[str, Any]:
    """Run the case: {"worst": error in units of the tolerance, "placed": share of nodes on the provider} and "failure" if any."""
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 3
    report: dict[str, Any] = {"worst": 0.0, "placed": 0.0}
    scales = [max(map(largest, values)) for values in zip(*(expected for _, expected in case.runs), strict=True)]
    try:
        session = sardonyx.InferenceSession(case.model.SerializeToString(), options, providers=[provider])
        report["placed"] = session.explain().shares.get(provider, 0.0)
        names = [o.name for o in session.get_outputs()]
        for feeds, expected in case.runs:
            for name, got, want, scale in zip(names, session.run(None, dict(feeds)), expected, scales, strict=True):
                worst, text = (0.0, "") if want is None else difference(got, want, scale)
                report["worst"] = max(report["worst"], worst)
                if text:
                    report["failure"] = f"{name}: {text}"
    except Exception as e:
        report["failure"] = f"{type(e).__name__}: {e}"
    return report


def ways() -> dict[str, tuple[str, Level]]:
    """What every model is run under: cpu without optimization, and each provider here with."""
    here = [name for name in PROVIDERS if name in sardonyx.get_available_providers()]
    return {"raw": ("cpu", Level.ORT_DISABLE_ALL)} | {name: (name, Level.ORT_ENABLE_ALL) for name in here}


def report_on(make: Callable[[], Converted]) -> dict[str, Any]:
    """{way: report} and "operators" of the model, "seconds", and "failure" if it was not converted."""
    start = time.perf_counter()
    try:
        case = make()
    except Exception as e:
        return {"failure": f"not converted: {type(e).__name__}: {str(e)[:500]}"}
    found: dict[str, Any] = {"ways": {way: check(case, *how) for way, how in ways().items()}}
    found["operators"] = sorted({n.op_type for n in case.model.graph.node})
    return found | {"seconds": time.perf_counter() - start}


def failures(report: Mapping[str, Any]) -> list[str]:
    """What went wrong, with the way in front."""
    if "failure" in report:
        return [report["failure"]]
    return [f"{way}: {r['failure']}" for way, r in report["ways"].items() if "failure" in r]


def show(name: str, report: Mapping[str, Any]) -> None:
    """A line for the case, and one for each failure."""
    cells = [f"{way} {r['worst']:.2g} ({r['placed']:.0%})" for way, r in report.get("ways", {}).items()]
    print(f"{name:27} {'WRONG' if failures(report) else 'right'} {report.get('seconds', 0):5.1f} s  {'  '.join(cells)}")
    for text in failures(report):
        print(f"    {text}")


def main(cases: Cases) -> None:
    """Check the cases that the command line names, print the reports, and exit."""
    # The reports say how much runs on which provider.
    warnings.filterwarnings("ignore", message=".*not on the providers asked for")
    as_json = "--json" in sys.argv
    wanted = [a for a in sys.argv[1:] if a != "--json"]
    if unknown := sorted(set(wanted) - set(cases)):
        sys.exit(f"no case {', '.join(unknown)}; there are: {', '.join(cases)}")
    if not as_json:
        print("case; worst error in units of the tolerance, and share of nodes on the provider: unoptimized on cpu, then optimized")
    found = {}
    for name in wanted or cases:
        found[name] = report_on(cases[name])
        if not as_json:
            show(name, found[name])
    bad = [name for name, report in found.items() if failures(report)]
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        print(f"{len(found) - len(bad)} of {len(found)} predict what the framework predicts" + (f"; not: {', '.join(bad)}" if bad else ""))
    sys.exit(1 if bad else 0)
