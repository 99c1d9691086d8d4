"""Comparison: what counts as the same, and messages for what does not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from sardonyx_conformance.compare import assert_same, assert_similar

F = np.float32


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (np.array([1, np.nan, np.inf], F), np.array([1.0005, np.nan, np.inf], F)),
        (np.array([2**63 + 5], np.uint64), np.array([2**63 + 5], np.uint64)),
        (np.array(["a", "ä"], object), np.array(["a", "ä"])),
        ([np.array([1], F)], [np.array([1], F)]),
        (None, None),
        ({"a": 1.0}, {"a": 1.0}),
        (np.array([1, 2]).astype(ml_dtypes.bfloat16), np.array([1.0078125, 2]).astype(ml_dtypes.bfloat16)),
        (np.zeros((0, 3), F), np.zeros((0, 3), F)),
        (np.array(1 + 2j), np.array(1 + 2j)),
        (np.array([1, 2]).astype(ml_dtypes.int4), np.array([1, 2]).astype(ml_dtypes.int4)),
    ],
)
def test_alike(got, want):
    """Within tolerance, NaN with NaN, infinity with its own sign."""
    assert_similar([got], [want], 1e-3, 1e-7)


@pytest.mark.parametrize(
    ("got", "want", "word"),
    [
        (np.array([1], F), np.array([1.002], F), "1 of 1"),
        (np.array([1], F), np.array([1], np.float64), "float64"),
        (np.array([1], F), np.array([[1]], F), "shape"),
        (np.array([np.inf], F), np.array([-np.inf], F), "wrong"),
        (np.array([np.inf], F), np.array([1e30], F), "wrong"),
        (np.array([1e30], F), np.array([np.inf], F), "wrong"),
        (np.array([np.nan], F), np.array([0], F), "wrong"),
        (np.array([127], np.int8), np.array([126], np.int8), "wrong"),
        (np.array(["a"], object), np.array(["b"], object), "'b'"),
        ([np.array([1], F)], [np.array([1], F)] * 2, "sequence of 2"),
        (np.array([1], F), None, "absent"),
        (None, np.array([1], F), "absent"),
        ({"a": 1.0}, {"b": 1.0}, "keys"),
        (1.0, np.array(1.0), "array"),
        (np.array([1]).astype(ml_dtypes.bfloat16), np.array([1.05]).astype(ml_dtypes.bfloat16), "bfloat16"),
    ],
)
def test_different(got, want, word):
    """Each difference is named."""
    with pytest.raises(AssertionError, match=word):
        assert_similar([got], [want], 1e-3, 1e-7)


def test_tolerances_of_the_ledger():
    """The wider of the case's and the ledger's, by the dtype wanted."""
    got, want = np.array([1.01], np.float16), np.array([1], np.float16)
    with pytest.raises(AssertionError):
        assert_similar([got], [want], 1e-3, 1e-7)
    assert_similar([got], [want], 1e-3, 1e-7, {"float16": (0.02, 0)})
    with pytest.raises(AssertionError):
        assert_similar([got.astype(F)], [want.astype(F)], 1e-3, 1e-7, {"float16": (0.02, 0)})


def test_same_bits():
    """No tolerance at all, not even bfloat16's."""
    one, two = (np.array([x]).astype(ml_dtypes.bfloat16) for x in (1, 1.0078125))
    assert_same([one, np.array([np.nan], F)], [one, np.array([np.nan], F)])
    with pytest.raises(AssertionError):
        assert_same([one], [two])


def test_number_of_outputs():
    """Too few."""
    with pytest.raises(AssertionError, match="0 outputs, not 1"):
        assert_similar([], [np.array(1)], 0, 0)
