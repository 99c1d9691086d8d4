"""onnx's own test runner over sardonyx.backend, strict on one provider: `python -m sardonyx_conformance.onnx_runner --ep NAME`.

It counts what passes among the tests onnx generates for a CPU, by kind; the suite's own count must be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import unittest
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

__all__ = ["main", "run"]


class Results(unittest.TestResult):
    """Outcomes by (category, outcome), and the first line of each failure by test."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, Counter[str]] = {}
        self.reasons: dict[str, str] = {}

    def _add(self, test: unittest.TestCase, outcome: str, reason: str = "") -> None:
        kind = type(test).__name__.removeprefix("OnnxBackend").removesuffix("ModelTest")
        self.counts.setdefault(kind, Counter())[outcome] += 1
        if reason:
            self.reasons[test.id().rpartition(".")[2]] = reason

    def addSuccess(self, test: unittest.TestCase) -> None:
        """One that passed."""
        self._add(test, "passed")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        """One whose outputs are wrong."""
        self._add(test, "failed", _line(err))

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        """One that raised: not claimed, or broken."""
        from sardonyx.errors import NotSupported

        self._add(test, "not claimed" if issubclass(err[0], NotSupported) else "failed", _line(err))

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        """One that onnx's runner leaves out, such as those for another device."""


def _line(err: Any) -> str:
    text = str(err[1]).strip() or "without a message"
    return f"{err[0].__name__}: {' '.join(text.split())[:200]}"


def run(ep: str) -> Results:
    """Run every CPU test of the installed onnx, strict on the provider `ep`, with optimizations on."""
    import onnx.backend.test

    from sardonyx.backend import SardonyxBackend

    class Runner(onnx.backend.test.BackendTest):
        """onnx's runner; its own comparison asks a scalar in a sequence for its length, so that no answer could pass."""

        @classmethod
        def assert_similar_outputs(cls, ref_outputs: Any, outputs: Any, rtol: float, atol: float, model_dir: str | None = None) -> None:
            """As onnx does it, with the elements of a sequence as outputs of their own."""
            if all(getattr(x, "shape", None) == () for x in (ref_outputs, outputs)):
                ref_outputs, outputs = [ref_outputs], [outputs]
            super().assert_similar_outputs(ref_outputs, outputs, rtol, atol, model_dir)

    class Strict(SardonyxBackend):
        """Nothing but the provider asked for."""

        providers: ClassVar = [ep]
        strict = True

        @classmethod
        def supports_device(cls, device: str) -> bool:
            """Only the tests for a CPU are run, on whatever device the provider has."""
            return device == "CPU"

        @classmethod
        def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
            """Let prepare() say what it does not claim."""
            return True

    results = Results()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.environ["ONNX_MODELS"] = folder
        suite = Runner(Strict, __name__).test_suite
        suite.run(results)
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: 0 if everything claimed passes but what the provider's ledger expects to fail, else 1."""
    parser = argparse.ArgumentParser(prog="python -m sardonyx_conformance.onnx_runner", description=__doc__)
    parser.add_argument("--ep", required=True, metavar="NAME", help="the execution provider to test")
    parser.add_argument("--ledger", metavar="PATH", help="its ledger (default: conformance.toml in its package)")
    parser.add_argument("--json", metavar="FILE", help="write counts and reasons there")
    options = parser.parse_args(arguments)
    from sardonyx.errors import SardonyxError
    from sardonyx_conformance.ledger import LedgerError
    from sardonyx_conformance.target import Target

    try:
        target = Target(options.ep, options.ledger)
    except (SardonyxError, LedgerError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    results = run(target.ep)
    total: Counter[str] = sum(results.counts.values(), Counter())
    for kind, counts in sorted(results.counts.items()):
        print(f"{kind:20} " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items(), reverse=True)))
    print(f"{'all':20} {total['passed']} of {sum(total.values())} passed")
    unexpected = {}
    for name, reason in results.reasons.items():
        expected = target.ledger.xfail.get(name.removesuffix("_cpu"))
        print(f"{name}: {'expected: ' + expected if expected else reason}")
        if not expected and "NotSupported" not in reason:
            unexpected[name] = reason
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump({"ep": target.ep, "counts": results.counts, "reasons": results.reasons}, f, indent=1)
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
