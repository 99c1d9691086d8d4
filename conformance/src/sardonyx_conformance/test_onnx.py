"""Every backend test of the installed onnx, strict on the provider under test."""

from __future__ import annotations

import pytest

from sardonyx_conformance.cases.backend import load_cases
from sardonyx_conformance.cases.case import Case
from sardonyx_conformance.compare import assert_similar
from sardonyx_conformance.plugin import variants
from sardonyx_conformance.target import Target


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per case and variant, named after both."""
    pairs = [(case, variant) for variant in variants(metafunc.config) for case in load_cases()]
    metafunc.parametrize(("case", "variant"), pairs, ids=[f"{case.name}-{variant}" for case, variant in pairs])


def test_case(case: Case, variant: str, target: Target) -> None:
    """The outputs are those onnx gives for the case."""
    session = target.session(case.model(), variant)
    for inputs, want in case.data():
        got = session.run(None, case.feeds(inputs))
        assert_similar(got, want, case.rtol, case.atol, target.ledger.tolerances)
