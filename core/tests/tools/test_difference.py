import math

import ml_dtypes
import numpy as np
import pytest

from sardonyx.tools.difference import Tolerance, difference

EXACT = Tolerance(0, 0)


def test_equal_values():
    for value in (np.arange(3), np.array([np.nan, np.inf]), np.array(["a", "b"], object), [np.ones(2)], {1: 2.0}, None, np.empty((0, 2))):
        assert difference(value, value, EXACT).ok


@pytest.mark.parametrize(
    ("got", "want", "words"),
    [
        (np.ones(2), np.ones(3), "shape is [2], not [3]"),
        (np.ones(2, np.float32), np.ones(2), "type is float, not double"),
        (np.array([1, 2]), np.array([1, 3]), "1 of 2 elements differ"),
        (np.array(["a", "c"], object), np.array(["a", "b"], object), "at [1] 'c', not 'b'"),
        (np.array([1, np.nan]), np.array([1, 2.0]), "at [1] nan, not 2.0"),
        (np.array([1, 2.0]), np.array([1, np.nan]), "1 of 2 elements differ"),
        ([np.ones(2)], [np.ones(2), np.ones(2)], "list of 1, not list of 2"),
        ([np.ones(2), np.zeros(2)], [np.ones(2), np.ones(2)], "2 of 2 elements differ"),
        ({1: 1.0}, {1: 2.0}, "1 of 1 elements differ"),
        (None, np.ones(2), "absent, not double[2]"),
    ],
    ids=str,
)
def test_what_differs_is_said(got, want, words):
    d = difference(got, want, Tolerance())
    assert not d.ok
    assert words in d.text


def test_the_tolerance_is_relative_to_the_largest_value():
    want = np.array([1000, 1e-6], np.float32)
    got = want + np.array([0, 0.05], np.float32)
    assert difference(got, want, Tolerance()).ok
    assert not difference(got, want, Tolerance(atol=0)).ok
    assert math.isclose(difference(got, want, Tolerance()).relative, 5e-5, rel_tol=1e-3)


def test_narrow_types_have_wider_tolerances():
    one = np.ones(4)
    assert difference((one * 1.03).astype(ml_dtypes.bfloat16), one.astype(ml_dtypes.bfloat16), Tolerance()).ok
    assert difference((one * 1.005).astype(np.float16), one.astype(np.float16), Tolerance()).ok
    assert not difference((one * 1.005).astype(np.float32), one.astype(np.float32), Tolerance()).ok


def test_integers_are_equal_unless_atol_says_otherwise():
    a, b = np.array([10, 20], np.uint8), np.array([11, 19], np.uint8)
    assert not difference(a, b, Tolerance()).ok
    assert difference(a, b, Tolerance(atol=1)).ok


def test_the_worst_element_is_named():
    want = np.zeros((2, 3), np.float32)
    got = want.copy()
    got[1, 2] = 5
    d = difference(got, want, EXACT)
    assert (d.where, d.wrong, d.size, d.largest) == ((1, 2), 1, 6, 5.0)
