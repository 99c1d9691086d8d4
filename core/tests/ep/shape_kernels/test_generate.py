import ml_dtypes
import numpy as np
import pytest

from sardonyx.ep.shape_kernels import generate as g
from sardonyx.errors import NodeError


def test_shape_and_size():
    x = np.zeros((2, 3, 4))
    assert g.shape_1(np, x).tolist() == [2, 3, 4]
    assert g.shape_15(np, x, start=-2).tolist() == [3, 4]
    assert g.shape_15(np, x, start=-9, end=9).tolist() == [2, 3, 4]
    assert g.shape_15(np, x, start=2, end=-2).tolist() == []
    assert g.shape_15(np, x, end=0).tolist() == []
    assert g.shape_1(np, np.float32(1)).dtype == np.int64
    assert (g.size(np, x), g.size(np, x).dtype) == (24, np.int64)


def test_constant_forms():
    value = np.array([1, 2], ml_dtypes.int4)
    assert g.constant_1(np, value=value) is value
    assert g.constant_11(np, sparse_value=value) is value
    for given, dtype, expected in [
        ({"value_float": 0.5}, np.float32, 0.5),
        ({"value_floats": [0.5]}, np.float32, [0.5]),
        ({"value_int": 0}, np.int64, 0),
        ({"value_ints": []}, np.int64, []),
        ({"value_string": ""}, object, ""),
        ({"value_strings": ["a", "bc"]}, object, ["a", "bc"]),
    ]:
        got = g.constant_12(np, **given)
        assert (got.dtype, got.tolist()) == (dtype, expected)
    with pytest.raises(NodeError):
        g.constant_12(np)


def test_constant_of_shape():
    got = g.constant_of_shape(np, np.array([2, 0]))
    assert (got.shape, got.dtype) == ((2, 0), np.float32)
    got = g.constant_of_shape(np, np.array([], np.int64), value=np.array([7], ml_dtypes.bfloat16))
    assert (got.shape, got.dtype, float(got)) == ((), ml_dtypes.bfloat16, 7)
    assert g.constant_of_shape(np, np.array([2]), value=np.array([True])).tolist() == [True, True]
    with pytest.raises(NodeError):
        g.constant_of_shape(np, np.array([-1]))


@pytest.mark.parametrize(
    ("dtype", "start", "limit", "delta", "expected"),
    [
        (np.int64, 10, 4, -2, [10, 8, 6]),
        (np.int64, 2**62, 2**62 + 3, 2, [2**62, 2**62 + 2]),
        (np.int16, 3, 9, 3, [3, 6]),
        (np.int32, 3, 3, 1, []),
        (np.int32, 3, 9, -1, []),
        (np.float32, 0, 1, 0.25, [0, 0.25, 0.5, 0.75]),
        (np.float64, 1, 2.1, 0.5, [1, 1.5, 2]),
    ],
)
def test_range(dtype, start, limit, delta, expected):
    got = g.range_11(np, *(np.array(v, dtype) for v in (start, limit, delta)))
    assert (got.dtype, got.tolist()) == (dtype, expected)


def test_range_does_not_accumulate_rounding():
    got = g.range_11(np, np.float32(0), np.float32(1000), np.float32(0.1))
    assert got.size == 10000
    np.testing.assert_allclose(got[9999], 9999 * np.float64(np.float32(0.1)), rtol=1e-7)


def test_half_precision_range_is_computed_in_float32():
    start, limit, delta = (np.array(v, ml_dtypes.bfloat16) for v in (0, 400, 1))
    got = g.range_27(np, start, limit, delta)
    np.testing.assert_array_equal(got, np.arange(400, dtype=np.float32).astype(ml_dtypes.bfloat16))


def test_range_with_delta_zero_raises():
    for dtype in (np.int64, np.float32):
        with pytest.raises(NodeError, match="delta"):
            g.range_11(np, *(np.array(v, dtype) for v in (0, 1, 0)))
