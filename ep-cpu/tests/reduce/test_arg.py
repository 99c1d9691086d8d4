import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.reduce.arg import arg_max_1, arg_max_12, arg_min_1, arg_min_12, cum_prod

DTYPES = [np.float32, np.float16, ml_dtypes.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_nan_wins(dtype):
    x = np.array([2, np.nan, 7, 4, 1, np.nan], dtype)
    for kernel in (arg_max_12, arg_min_12):
        assert kernel(np, x).tolist() == [1]
        assert kernel(np, x, select_last_index=1).tolist() == [5]
        assert kernel(np, np.full(3, np.nan, dtype)).tolist() == [0]


@pytest.mark.parametrize("dtype", [*DTYPES, np.int8, np.uint8], ids=str)
def test_ties_axes_and_keepdims(dtype):
    x = np.array([[2, 2, 1], [1, 1, 2]], dtype)
    assert arg_max_1(np, x, axis=1).tolist() == [[0], [2]]
    assert arg_max_12(np, x, axis=-1, keepdims=0, select_last_index=1).tolist() == [1, 2]
    assert arg_min_1(np, x, axis=0, keepdims=0).tolist() == [1, 1, 0]
    assert arg_min_12(np, x, axis=1, keepdims=0, select_last_index=1).tolist() == [2, 1]
    assert arg_max_1(np, x).dtype == np.int64


def test_empty_and_scalar():
    assert arg_max_1(np, np.zeros((0, 3)), axis=1).shape == (0, 1)
    assert arg_max_1(np, np.zeros((0, 0)), axis=1, keepdims=0).shape == (0,)
    assert arg_max_1(np, np.float32(3)) == 0
    with pytest.raises(NodeError, match="empty"):
        arg_min_1(np, np.zeros((3, 0)), axis=1)


@pytest.mark.parametrize(("exclusive", "reverse", "expected"), [(0, 0, [1, 2, 6]), (1, 0, [1, 1, 2]), (0, 1, [6, 6, 3]), (1, 1, [6, 3, 1])])
def test_cum_prod(exclusive, reverse, expected):
    for dtype in (np.int32, np.float32, ml_dtypes.bfloat16):
        got = cum_prod(np, np.array([1, 2, 3], dtype), np.array(0), exclusive=exclusive, reverse=reverse)
        assert (got.dtype, got.tolist()) == (dtype, expected)
