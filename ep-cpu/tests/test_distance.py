import numpy as np
import pytest

from sardonyx.errors import InvalidInput
from sardonyx_ep_cpu.ops.distance import cdist


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cdist(dtype):
    a, b = np.array([[0, 0], [3, 4]], dtype), np.array([[0, 0], [0, 4], [6, 8]], dtype)
    squares = cdist(np, a, b)
    assert squares.dtype == dtype
    np.testing.assert_array_equal(squares, [[0, 16, 100], [25, 9, 25]])
    np.testing.assert_array_equal(cdist(np, a, b, metric="euclidean"), [[0, 4, 10], [5, 3, 5]])


@pytest.mark.parametrize(("dtype", "step"), [(np.float32, 2**-10), (np.float64, 2**-30)])
def test_near_neighbours_far_from_the_origin(dtype, step):
    a, b = np.array([[5000, 5000]], dtype), np.array([[5000 + step, 5000]], dtype)
    np.testing.assert_allclose(cdist(np, a, b, metric="euclidean"), [[step]], rtol=1e-2)
    np.testing.assert_array_equal(cdist(np, a, a), [[0]])


def test_no_rows_and_refusals():
    assert cdist(np, np.zeros((0, 2), np.float32), np.zeros((3, 2), np.float32)).shape == (0, 3)
    with pytest.raises(InvalidInput, match="equally long rows"):
        cdist(np, np.zeros((1, 2)), np.zeros((1, 3)))
    with pytest.raises(InvalidInput, match="manhattan"):
        cdist(np, np.zeros((1, 2)), np.zeros((1, 2)), metric="manhattan")
