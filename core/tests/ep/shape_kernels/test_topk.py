import ml_dtypes
import numpy as np
import pytest

from sardonyx.ep.shape_kernels import topk as t
from sardonyx.errors import NodeError


def by_sorting(x, k, axis, largest):
    """Values and indices by a Python sort of every line: greatest (least) first, then by index."""
    moved = np.moveaxis(x, axis, -1)
    indices = np.empty((*moved.shape[:-1], k), np.int64)
    for place in np.ndindex(*moved.shape[:-1]):
        line = moved[place].tolist()
        indices[place] = sorted(range(len(line)), key=lambda i, line=line: (-line[i] if largest else line[i], i))[:k]
    return np.moveaxis(np.take_along_axis(moved, indices, -1), -1, axis), np.moveaxis(indices, -1, axis)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8, ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize(("shape", "axis", "k"), [((2, 200, 3), 1, 9), ((2, 70), -1, 70), ((3, 128), -1, 1), ((5,), 0, 0)])
@pytest.mark.parametrize("largest", [0, 1])
def test_against_sorting_with_many_ties(dtype, shape, axis, k, largest):
    x = np.random.default_rng(0).integers(0, 20, shape).astype(dtype)
    values, indices = t.topk_11(np, x, np.array([k]), axis=axis, largest=largest)
    expected = by_sorting(x, k, axis, largest)
    assert (values.dtype, indices.dtype) == (dtype, np.int64)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


@pytest.mark.parametrize("n", [4, 100])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16], ids=str)
def test_nan_is_greatest(n, dtype):
    x = np.arange(n).astype(dtype)
    x[1] = np.nan
    assert t.topk_11(np, x, np.array([2]))[1].tolist() == [1, n - 1]
    assert t.topk_11(np, x, np.array([2]), largest=0)[1].tolist() == [0, 2]


def test_versions_and_errors():
    x = np.float32([1, 3, 2])
    assert t.topk_1(np, x, k=2)[1].tolist() == [1, 2]
    assert t.topk_10(np, x, np.array([1]))[0].tolist() == [3]
    for k in ([4], [-1], [1, 2]):
        with pytest.raises(NodeError, match="K"):
            t.topk_11(np, x, np.array(k))
