import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels
from sardonyx_ep_cpu.ops.indexing.pad import pad_1, pad_2, pad_11, pad_18

X = np.array([[1.0, 1.2], [2.3, 3.4], [4.5, 5.7]], np.float32)


def i64(*values):
    return np.array(values, np.int64)


def test_examples_of_the_specification():
    assert pad_11(np, X, i64(0, 2, 0, 0)).tolist()[0] == [0, 0, *X[0].tolist()]
    np.testing.assert_array_equal(pad_18(np, X, i64(0, 1, 0, 1), mode="reflect"), X[:, [1, 0, 1, 0]])
    np.testing.assert_array_equal(pad_18(np, X, i64(0, 2, 0, 0), mode="edge"), X[:, [0, 0, 0, 1]])
    np.testing.assert_array_equal(pad_18(np, X, i64(2, 1, 1, 1), mode="wrap"), X[[1, 2, 0, 1, 2, 0]][:, [1, 0, 1, 0]])


def test_reflect_needs_more_elements_than_it_adds():
    line = np.arange(5.0)
    for data, pads in ((X, i64(0, 2, 0, 0)), (line, i64(-4, 4)), (line, i64(5, 0)), (line[:0], i64(1, 0)), (line[:1], i64(0, 1))):
        with pytest.raises(NodeError, match="reflect"):
            pad_18(np, data, pads, mode="reflect")
    assert pad_18(np, line, i64(-3, 1), mode="reflect").tolist() == [3, 4, 3]


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 5),
    st.tuples(st.integers(-2, 7), st.integers(-2, 7)),
    st.sampled_from(["constant", "edge", "wrap", "reflect"]),
)
def test_crops_then_pads_as_numpy(size, pads, mode):
    line = np.arange(1, size + 1)
    before, after = pads
    crop = line[max(0, -before) : size - max(0, -after)]
    grow = max(0, before), max(0, after)
    if not crop.size or (mode == "reflect" and max(grow) >= crop.size):
        return
    expected = np.pad(crop, grow, mode=mode)
    np.testing.assert_array_equal(pad_11(np, line, i64(*pads), mode=mode), expected)


def test_fill_values_by_dtype():
    assert pad_11(np, np.array(["a"], object), i64(1, 0)).tolist() == ["", "a"]
    assert pad_11(np, np.array([True]), i64(1, 0)).tolist() == [False, True]
    assert pad_11(np, np.array([3], np.int8), i64(1, 0), np.array([7], np.int8)).tolist() == [7, 3]
    got = pad_18(np, np.array([3], ml_dtypes.bfloat16), i64(0, 1), np.array(0.5, ml_dtypes.bfloat16))
    assert (got.dtype, got.tolist()) == (ml_dtypes.bfloat16, [3, 0.5])


def test_attribute_forms_and_axes():
    assert pad_1(np, X, paddings=[0, 0, 1, 0], value=9.0).tolist()[3] == [9, 9]
    np.testing.assert_array_equal(pad_2(np, X, pads=[-1, 0, 0, 0]), X[1:])
    np.testing.assert_array_equal(pad_18(np, X, i64(1, 0), None, np.array([-1], np.int32)), np.pad(X, ((0, 0), (1, 0))))
    np.testing.assert_array_equal(
        kernels.find("com.microsoft", "Pad", 1).function(np, X, i64(0, 0, 0, 1)[None]), np.pad(X, ((0, 0), (0, 1)))
    )
    assert pad_11(np, np.float32(3), i64()) == 3
    assert pad_11(np, X, i64(-4, 0, 5, 0)).tolist() == [[0, 0]] * 4
    for call in (
        lambda: pad_11(np, X, i64(0, 0)),
        lambda: pad_11(np, X, i64(-4, 0, 0, 0)),
        lambda: pad_11(np, X, i64(-4, 0, 5, 0), mode="edge"),
        lambda: pad_11(np, X, i64(0, 0, 0, 1), mode="symmetric"),
        lambda: pad_11(np, X, i64(0, 0, 0, 1), np.zeros(2, np.float32)),
    ):
        with pytest.raises(NodeError):
            call()
