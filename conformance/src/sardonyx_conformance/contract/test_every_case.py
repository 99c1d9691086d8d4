"""The contract for every operator: each of onnx's cases with read-only inputs of unusual layout, twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sardonyx_conformance.cases.backend import load_cases
from sardonyx_conformance.cases.case import Case, determined
from sardonyx_conformance.compare import assert_same
from sardonyx_conformance.target import Target

CASES = [c for c in load_cases() if c.kind != "real"]


def strange(x: Any) -> Any:
    """The same values, read-only, with gaps between them and the last axis backwards."""
    if isinstance(x, list):
        return [strange(e) for e in x]
    if not isinstance(x, np.ndarray):
        return x
    if x.ndim and x.size:
        wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        wide[..., ::2] = x[..., ::-1]
        x = wide[..., ::2][..., ::-1]
    else:
        x = x.copy()
    x.flags.writeable = False
    return x


def bits(values: list[Any]) -> list[Any]:
    """What must not change: copies of all arrays."""
    return [bits(v) if isinstance(v, list) else v.copy() if isinstance(v, np.ndarray) else v for v in values]


def arrays(values: list[Any]) -> list[np.ndarray]:
    """All arrays among the values and in their sequences."""
    return [a for v in values for a in (arrays(v) if isinstance(v, list) else [v] if isinstance(v, np.ndarray) else [])]


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_contract(case: Case, target: Target) -> None:
    """Nothing is written into the inputs, outputs are writable and nobody else's, and a second run gives the same bits."""
    session = target.session(case.model(), "raw")
    plain = case.data()[0][0]
    want = session.run(None, case.feeds(plain))
    inputs = [strange(x) for x in plain]
    kept = bits(inputs)
    got = session.run(None, case.feeds(inputs))
    assert_same(inputs, kept)
    for y in arrays(got):
        assert y.flags.writeable
        assert not any(np.shares_memory(y, x) for x in arrays(inputs))
    if determined(case.model()):
        assert_same(session.run(None, case.feeds(inputs)), got)
        assert len(got) == len(want)
        for g, w in zip(arrays(got), arrays(want), strict=True):
            assert g.shape == w.shape
            assert g.dtype == w.dtype
