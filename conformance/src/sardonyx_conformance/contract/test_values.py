"""Inputs are only read, whatever their layout; outputs are the caller's own."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx_conformance.contract.models import SAMPLES, Sample, by_name
from sardonyx_conformance.target import Target

EVERY = pytest.mark.parametrize("sample", SAMPLES, ids=by_name)


def check(got: list[np.ndarray], sample: Sample) -> None:
    """The outputs are right to float32's precision."""
    assert len(got) == len(sample.want)
    for g, w in zip(got, sample.want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)


@EVERY
def test_right_values(sample: Sample, target: Target, variant: str) -> None:
    """The samples themselves are right; where this fails, the other tests of the contract mean little."""
    check(target.run(sample.model, sample.copies(), variant), sample)


@EVERY
def test_inputs_are_not_written(sample: Sample, target: Target, variant: str) -> None:
    """Writable inputs are unchanged after a run."""
    feeds = sample.copies()
    target.run(sample.model, feeds, variant)
    for name, x in feeds.items():
        np.testing.assert_array_equal(x, sample.feeds[name], err_msg=f"the run wrote into input {name!r}")


@EVERY
def test_read_only_inputs(sample: Sample, target: Target, variant: str) -> None:
    """Read-only inputs are as good as others."""
    feeds = sample.copies()
    for x in feeds.values():
        x.flags.writeable = False
    check(target.run(sample.model, feeds, variant), sample)


@EVERY
@pytest.mark.parametrize("layout", ["column-major", "reversed", "every second", "unaligned"])
def test_layouts(sample: Sample, layout: str, target: Target, variant: str) -> None:
    """Inputs with any strides or alignment."""
    feeds = {name: arranged(x, layout) for name, x in sample.feeds.items()}
    for name, x in feeds.items():
        np.testing.assert_array_equal(x, sample.feeds[name])
    check(target.run(sample.model, feeds, variant), sample)


def arranged(x: np.ndarray, layout: str) -> np.ndarray:
    """The same values in another layout."""
    if layout == "column-major":
        return np.asfortranarray(x)
    if layout == "reversed":
        return np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    if layout == "every second":
        wide = np.zeros((*x.shape[:-1], x.shape[-1] * 2), x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    raw = np.zeros(x.nbytes + 1, np.uint8)
    raw[1:] = np.frombuffer(x.tobytes(), np.uint8)
    return raw[1:].view(x.dtype).reshape(x.shape)


@EVERY
def test_outputs_are_the_callers(sample: Sample, target: Target, variant: str) -> None:
    """Outputs are arrays that can be written, share no memory with inputs or with each other, and stay as they are."""
    session = target.session(sample.model, variant)
    feeds = sample.copies()
    first = session.run(None, feeds)
    for i, y in enumerate(first):
        assert type(y) is np.ndarray
        assert y.flags.writeable
        assert y.flags.c_contiguous
        for name, x in feeds.items():
            assert not np.shares_memory(y, x), f"output {i} shares memory with input {name!r}"
        assert not any(np.shares_memory(y, z) for z in first[:i]), f"output {i} shares memory with another output"
    kept = [y.copy() for y in first]
    session.run(None, {k: v + 1 for k, v in feeds.items()})
    for i, (y, k) in enumerate(zip(first, kept, strict=True)):
        np.testing.assert_array_equal(y, k, err_msg=f"output {i} of a run changed during the next")
        y[...] = -1234
    check(session.run(None, feeds), sample)


@EVERY
def test_runs_agree(sample: Sample, target: Target, variant: str) -> None:
    """The same feeds give the same bits, in one session and in another."""
    session = target.session(sample.model, variant)
    first = session.run(None, sample.copies())
    for other in (session, target.session(sample.model, variant)):
        for a, b in zip(first, other.run(None, sample.copies()), strict=True):
            np.testing.assert_array_equal(a, b)
