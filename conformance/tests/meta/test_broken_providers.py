"""A provider that is broken in one way fails the tests that are about it, and no others."""

from __future__ import annotations

import re

import onnx
import pytest

CASES, CONTRACT = "sardonyx_conformance.test_onnx", "sardonyx_conformance.contract"
MEMORY = f"{CONTRACT}.test_memory"
PLAIN = (CASES, CONTRACT, "-k", "not memory and not fork")
USES_RELU = {"relu", "chain", "branches", "same_twice", "constant", "input_is_output"}


def functions_of(names: set[str]) -> set[str]:
    """The test functions among test names."""
    return {n.partition("[")[0] for n in names}


def samples_of(names: set[str]) -> set[str]:
    """The samples among the parameters of test names."""
    return {part for n in names for part in re.split(r"[\[\]-]", n)[1:] if part in USES_RELU or part in ("add", "matmul", "transpose")}


def test_good_provider(suite):
    """Nothing fails; what the provider has no kernel for is skipped."""
    run = suite("Good", *PLAIN)
    assert not run.failed
    assert "test_case[test_relu-raw]" in run.passed
    assert "test_case[test_relu-optimized]" in run.passed
    assert any("softmax" in n for n in run.skipped)
    assert run.status == 0


def test_wrong_results(suite):
    """onnx's own case fails in both variants, and the contract's samples with that operator; others pass."""
    run = suite("WrongResults", *PLAIN)
    assert {n for n in run.failed if n.startswith("test_case[")} == {"test_case[test_relu-raw]", "test_case[test_relu-optimized]"}
    assert samples_of(run.failed) == USES_RELU
    assert "test_right_values" in functions_of(run.failed)
    assert "test_inputs_are_not_written" not in functions_of(run.failed)
    assert run.status == 1


def test_writes_inputs(suite):
    """Results are right; the tests about inputs fail."""
    run = suite("WritesInputs", *PLAIN)
    assert not any(n.startswith("test_case[") for n in run.failed)
    assert "test_right_values[raw-relu]" in run.passed
    assert {"test_inputs_are_not_written", "test_read_only_inputs", "test_contract"} <= functions_of(run.failed)
    assert samples_of(run.failed) <= USES_RELU
    assert "test_contract[test_relu]" in run.failed
    assert "test_contract[test_add]" in run.passed


def test_noise(suite):
    """Within every tolerance, but not the same bits twice."""
    run = suite("Noisy", *PLAIN)
    assert functions_of(run.failed) == {"test_runs_agree", "test_contract", "test_one_session_many_threads"}
    assert samples_of(run.failed) == USES_RELU


def test_raw_exceptions(suite):
    """Only the tests about errors fail: a run raised something that is no SardonyxError, or that names no node."""
    run = suite("RawExceptions", *PLAIN)
    assert functions_of(run.failed) == {"test_node_error"}


def test_one_buffer(suite):
    """Outputs of one run change with the next."""
    run = suite("OneBuffer", *PLAIN)
    assert "test_outputs_are_the_callers" in functions_of(run.failed)
    assert "test_case[test_relu-raw]" in run.passed


def test_not_reentrant(suite):
    """Only threads see it."""
    run = suite("NotReentrant", *PLAIN)
    assert functions_of(run.failed) == {"test_one_session_many_threads"}


def test_leaks(suite):
    """Only the tests about memory see it."""
    run = suite("Leaks", MEMORY, f"{CONTRACT}.test_values", "-k", "leak or right_values")
    assert {"test_runs_do_not_leak", "test_changing_shapes_do_not_leak"} <= functions_of(run.failed)
    assert "test_right_values" in functions_of(run.passed)


def test_leaks_of_a_good_provider(suite):
    """The same tests pass where nothing leaks."""
    assert not suite("Good", MEMORY).failed


def test_claims_and_refuses(suite, tmp_path):
    """A claim that compile() takes back counts as not claimed, which the ledger sees."""
    ledger = tmp_path / "ledger.toml"
    ledger.write_text(f'[claimed]\n"{onnx.__version__}" = 4\n')
    run = suite("ClaimsAndRefuses", CASES, "--ledger", str(ledger))
    assert {n for n in run.skipped if "softmax" not in n} == {"test_case[test_neg-raw]", "test_case[test_neg-optimized]"}
    assert not run.failed
    assert run.status == 1
    assert suite("Good", CASES, "--ledger", str(ledger)).status == 0


@pytest.mark.parametrize(
    ("name", "test"),
    [("NoReasons", "test_every_node_gets_an_answer"), ("ChangesGraph", "test_every_node_gets_an_answer"), ("BadOptions", "test_options")],
)
def test_manners(suite, name, test):
    """Refusals without reasons, claims that write, options nobody can read."""
    about = (f"{CONTRACT}.test_claims", f"{CONTRACT}.test_provider_info", "-k", "not fork")
    assert test in functions_of(suite(name, *about).failed)
    assert not suite("Good", *about).failed
