"""claim() answers for every node, changes nothing, and means it; compile() and run() keep to their signatures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sardonyx.ep import Claim, CompileContext, Provider, Refusal, RunContext
from sardonyx.errors import CompileRefused
from sardonyx.ir.extract import clone_graph
from sardonyx.ir.graph import Graph
from sardonyx.ir.load import load
from sardonyx_conformance.cases.backend import load_cases
from sardonyx_conformance.contract.models import SAMPLES, Sample, by_name
from sardonyx_conformance.target import NOT_CLAIMED, Target

EVERY = pytest.mark.parametrize("sample", SAMPLES, ids=by_name)


def make(target: Target) -> Provider:
    """A provider with its default options."""
    info = target.status.info
    assert info is not None
    return info.create(info.check_options({}))


def claimed(provider: Provider, graph: Graph) -> dict[Any, Claim]:
    """The claims of all nodes; skips the test if one is refused."""
    answers = provider.claim(graph)
    claims = {n: a for n in graph.nodes if isinstance(a := answers.get(n), Claim)}
    refused = [n for n in graph.nodes if n not in claims]
    if refused:
        pytest.skip(f"{NOT_CLAIMED}{refused[0].op}")
    return claims


def signature(graph: Graph) -> list[Any]:
    """What a claim must not change."""
    return [
        (n.name, n.op, n.since, [v and v.name for v in n.inputs], [v and v.name for v in n.outputs], sorted(n.attrs)) for n in graph.nodes
    ]


def test_every_node_gets_an_answer(target: Target) -> None:
    """For all of onnx's cases: a Claim whose indices exist, or a Refusal with a reason; twice the same; the graph unchanged."""
    provider = make(target)
    for case in load_cases():
        graph = load(case.model()).graph
        before = signature(graph)
        answers = provider.claim(graph)
        assert signature(graph) == before, f"{case.name}: claim() changed the graph"
        for node in graph.nodes:
            answer = answers.get(node)
            assert isinstance(answer, (Claim, Refusal)), f"{case.name}: no answer for {node!r}"
            if isinstance(answer, Refusal):
                assert answer.reason.strip(), f"{case.name}: {node!r} is refused without a reason"
            else:
                assert all(0 <= i < 64 for i in (*answer.host_inputs, *answer.const_inputs, *answer.host_outputs))
        assert answers == provider.claim(graph), f"{case.name}: a second claim() answers otherwise"


@EVERY
def test_compile_and_run(sample: Sample, target: Target) -> None:
    """An Executable takes its inputs in order, returns a list of its outputs, and takes a RunContext."""
    provider = make(target)
    graph = load(sample.model).graph
    claimed(provider, graph)
    if provider.memory != "host":
        pytest.skip("its values are not host arrays")
    try:
        executable = provider.compile(clone_graph(graph), CompileContext(options=provider.options))
    except CompileRefused as e:
        pytest.skip(f"{NOT_CLAIMED}{e}")
    inputs = list(sample.copies().values())
    for ctx in (None, RunContext(), RunContext(cancelled=lambda: False, record=lambda *_: None)):
        results = executable.run(list(inputs), ctx=ctx)
        assert isinstance(results, list)
        for got, want in zip(results, sample.want, strict=True):
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-4, atol=1e-5)


@EVERY
def test_two_providers_do_not_interfere(sample: Sample, target: Target) -> None:
    """Two instances claim alike and compile apart."""
    graph = load(sample.model).graph
    first, second = make(target), make(target)
    assert claimed(first, graph) == claimed(second, graph)
    assert first is not second


def test_every_node_is_explained(target: Target) -> None:
    """session.explain() has a row for each node, with this provider in it and no reason against it."""
    sample = next(s for s in SAMPLES if s.name == "chain")
    placement = target.session(sample.model, "raw").explain()
    assert {o for n in placement.nodes for o in (n.origins or (n.node,))} == {"chain_0", "chain_1", "chain_2"}
    assert all(target.ep not in n.reasons for n in placement.nodes)
