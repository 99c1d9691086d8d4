"""The plugin's options, the ledger's xfails, what is said at the end, and that other test runs do not notice it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sardonyx
from sardonyx_conformance.cases.build import op_model
from sardonyx_conformance.report.__main__ import main as merge
from sardonyx_conformance.report.data import Report
from sardonyx_conformance.report.matrix import to_html, to_markdown
from sardonyx_conformance.target import Target

CASES = "sardonyx_conformance.test_onnx"


def test_needs_a_provider(run_suite):
    """Without --ep, and with one nobody installed: a sentence, and pytest's status for wrong usage."""
    run = run_suite("sardonyx_conformance.contract")
    assert run.status == pytest.ExitCode.USAGE_ERROR
    assert "needs --ep NAME" in run.text
    run = run_suite("sardonyx_conformance.contract", "--ep", "nobody")
    assert run.status == pytest.ExitCode.USAGE_ERROR
    assert "no provider is called 'nobody'" in run.text
    assert "Traceback" not in run.text


def test_expected_failures(suite, tmp_path):
    """A failure that the ledger names does not fail the run; one that passes does."""
    ledger = tmp_path / "ledger.toml"
    ledger.write_text('[xfail]\ntest_relu = "leaks"\n')
    assert suite("WrongResults", CASES, "--ledger", str(ledger)).status == 0
    fixed = suite("Good", CASES, "--ledger", str(ledger))
    assert fixed.status == 1
    assert fixed.failed == {"test_case[test_relu-raw]", "test_case[test_relu-optimized]"}


def test_stale_expectation(suite, tmp_path):
    """An expected failure of a case that does not exist fails a whole run."""
    ledger = tmp_path / "ledger.toml"
    ledger.write_text('[xfail]\ntest_gone = "was removed"\n')
    assert suite("Good", CASES, "--ledger", str(ledger)).status == 1
    assert suite("Good", CASES, "-k", "test_relu", "--ledger", str(ledger)).status == 0


def test_wrong_ledger(suite, tmp_path):
    """An unknown key is named."""
    ledger = tmp_path / "ledger.toml"
    ledger.write_text("[surprises]\n")
    run = suite("Good", CASES, "--ledger", str(ledger))
    assert run.status == pytest.ExitCode.USAGE_ERROR
    assert "surprises" in run.text


def test_variant(suite):
    """--variant leaves one of the two out."""
    run = suite("Good", CASES, "--variant", "raw")
    assert all(n.endswith("-raw]") for n in run.passed)
    assert len(run.passed) == 4


def test_reports(suite, tmp_path):
    """JSON that can be merged, and matrices with a row per operator and a column per provider."""
    suite("WrongResults", CASES, "--report", str(tmp_path), "--report-json", str(tmp_path / "a.json"))
    data = json.loads((tmp_path / "a.json").read_text())
    assert data["ep"] == "broken"
    assert data["counts"]["node raw"] == {"passed": 3, "failed": 1, "not claimed": 1}
    assert (tmp_path / "broken.html").read_text().startswith("<!doctype html>")
    assert "| ai.onnx | Relu | 0/2, 2 failed |" in (tmp_path / "broken.md").read_text()
    other = dict(data, ep="other")
    (tmp_path / "b.json").write_text(json.dumps(other))
    assert merge([str(tmp_path / "a.json"), str(tmp_path / "b.json"), "-o", str(tmp_path / "m.md")]) == 0
    text = (tmp_path / "m.md").read_text()
    assert "| broken | other |" in text
    assert "| ai.onnx | Add | 4/4 | 4/4 |" in text
    assert "| ai.onnx | Softmax | not claimed | not claimed |" in text
    assert "| ai.onnx | Conv | no case | no case |" in text
    assert merge([str(tmp_path / "m.md"), "-o", str(tmp_path / "x.html")]) == 2
    assert merge([str(tmp_path / "a.json"), "-o", str(tmp_path / "x.txt")]) == 2


def test_matrix_of_operators_that_onnx_has_no_test_of():
    """The suite's own cases stand in where onnx has none; a kernel without any case is told."""

    def result(kind, op):
        return {"name": op, "kind": kind, "variant": "raw", "operators": [["", op, 1]], "outcome": "passed", "reason": "", "seconds": 0}

    results = [result("spec", "Conv"), result("spec", "Relu"), result("node", "Relu"), result("node", "Relu")]
    report = Report("a", "a", "1", "1.0", "1", "", results, [["com.microsoft", "BiasGelu"], ["", "Relu"]])
    text = to_markdown([Report.from_dict(report.to_dict())])
    assert "| ai.onnx | Conv | 1/1 |" in text
    assert "| ai.onnx | Relu | 2/2 |" in text
    assert "| com.microsoft | BiasGelu | kernel, no case |" in text
    assert "| ai.onnx | Abs | no case |" in text
    assert "kernel, no case" in to_html([report])


def test_operators_of_the_suites_own_tests_are_noted(suite, tmp_path):
    """A test that runs operators by run_op says which."""
    suite("Good", "sardonyx_conformance.spec.test_math", "--report-json", str(tmp_path / "a.json"))
    results = json.loads((tmp_path / "a.json").read_text())["results"]
    assert any(r["operators"] for r in results)


def test_placement_is_checked():
    """A node that ran elsewhere is a failure, not a success."""
    pytest.importorskip("sardonyx_ep_cpu")
    target = Target("cpu")
    session = sardonyx.InferenceSession(op_model("Relu", [np.ones(2, np.float32)]), providers=["cpu"])
    target.check_placement(session)
    target.ep = "another"
    with pytest.raises(AssertionError, match="'the_node' on 'cpu'"):
        target.check_placement(session)


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest in a fresh process, which also imports from the folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=180, check=False, env={**os.environ, "PYTHONPATH": str(folder)}
    )


def test_other_runs_do_not_load_the_suite(tmp_path):
    """In a run without the suite's tests the plugin imports neither onnx nor sardonyx."""
    (tmp_path / "test_it.py").write_text(
        "import sys\n\n"
        "def test_it():\n"
        "    assert 'sardonyx_conformance.plugin' in sys.modules\n"
        "    assert not {'onnx', 'sardonyx', 'sardonyx_conformance.target'} & set(sys.modules)\n"
    )
    done = pytest_in(tmp_path)
    assert done.returncode == 0, done.stdout


def test_the_command_runs_the_suite_without_warnings(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "sardonyx", "conformance", "cpu", "-k", "test_relu and raw and not spec", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
    assert "warning" not in (done.stdout + done.stderr).lower()


PLUGIN = '''
from sardonyx.ep import KernelSet, Provider, ProviderInfo, hook

kernels = KernelSet()


@kernels.add("Relu", since=6)
def relu(xp, x):
    return xp.maximum(x, 0)


class Tiny(Provider):
    """One operator."""
    kernels = kernels


def probe():
    import os
    import threading
    from sardonyx.ep import Device
    {misdeed}
    return [Device("cpu", "tiny")]


@hook
def sardonyx_provider():
    return ProviderInfo(name="tiny", create=Tiny, probe=probe, description="one operator")
'''


@pytest.mark.parametrize(
    ("misdeed", "failures"),
    [
        ("pass", 0),
        ("os.environ['TINY'] = '1'", 1),
        ("threading.Thread(target=threading.Event().wait, daemon=True).start()", 1),
        ("import onnx", 1),
    ],
    ids=["none", "environment", "thread", "onnx"],
)
def test_probing_in_a_fresh_process(tmp_path, misdeed, failures):
    """A plug-in with an entry point of its own, whose probe misbehaves."""
    (tmp_path / "tiny_ep.py").write_text(PLUGIN.format(misdeed=misdeed))
    info = tmp_path / "tiny_ep-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-ep\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sardonyx.providers]\ntiny = tiny_ep\n")
    done = pytest_in(tmp_path, "--pyargs", "sardonyx_conformance.contract.test_provider_info", "--ep", "tiny", "-k", "side_effects")
    assert done.returncode == failures, done.stdout
    assert ("1 failed" if failures else "1 passed") in done.stdout
