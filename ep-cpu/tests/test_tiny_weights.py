import numpy as np
import pytest

from sardonyx_ep_cpu.tiny_weights import CHUNK, without_tiny

ORDINARY = np.array([1.0, -0.5, 0.0, 2.0**-120, -(2.0**-119), np.inf, np.nan], np.float32)


@pytest.mark.parametrize("at", [0, 5, CHUNK + 3])
def test_what_cannot_be_seen_is_zero(at):
    weights = np.ones((2, CHUNK), np.float32)
    weights.flat[at] = -1e-40
    expected = weights.copy()
    expected.flat[at] = 0
    np.testing.assert_array_equal(without_tiny(np, weights), expected)
    assert weights.flat[at] != 0


@pytest.mark.parametrize(
    "weights",
    [ORDINARY, np.zeros((0, 3), np.float32), np.full(4, 1e-40, np.float32), np.array([1e-300, 1.0]), np.ones((2, 3), np.float32).T],
    ids=["ordinary", "empty", "all_tiny", "float64", "not_contiguous"],
)
def test_all_else_stays(weights):
    assert without_tiny(np, weights) is weights
