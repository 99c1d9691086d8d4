import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels


def run(op, since, *inputs, **attributes):
    return kernels.find("", op, since).function(np, *inputs, **attributes)


@pytest.mark.parametrize(
    ("shape", "axis"), [((), None), ((1, 1), None), ((5,), None), ((4, 5), None), ((3, 4), 1), ((2,), 0), ((3,), -3), ((1,), 0)]
)
def test_limited_broadcasting(shape, axis):
    a = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    b = np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape)
    start = {None: 4 - len(shape)}.get(axis, axis) if b.size > 1 else 0
    aligned = b.reshape(b.shape + (1,) * (4 - len(shape) - start % 4)) if b.size > 1 else b.reshape(())
    np.testing.assert_array_equal(run("Add", 6, a, b, axis=axis, broadcast=1), a + aligned)
    np.testing.assert_array_equal(run("Div", 1, a, b, axis=axis, broadcast=1, consumed_inputs=[0, 0]), a / aligned)
    np.testing.assert_array_equal(run("Greater", 1, a, b, axis=axis, broadcast=1), a > aligned)


def test_limited_broadcasting_refuses_what_does_not_fit():
    a = np.zeros((2, 3), np.float32)
    with pytest.raises(NodeError, match="broadcast=0"):
        run("Mul", 6, a, a[0])
    with pytest.raises(NodeError, match="axis=1"):
        run("Mul", 6, a, np.zeros(2, np.float32), axis=1, broadcast=1)
    with pytest.raises(NodeError):
        run("Sub", 6, a[0], a, broadcast=1)


def test_integer_division_of_opset_6_cuts_toward_zero():
    assert run("Div", 6, np.int32([-7, 7]), np.int32([2]), broadcast=1).tolist() == [-3, 3]


def test_clip_by_attributes():
    x = np.array([-np.inf, -1, 2, 1e5, np.nan])
    low, high = ml_dtypes.finfo(np.float16).min, ml_dtypes.finfo(np.float16).max
    np.testing.assert_array_equal(run("Clip", 1, x.astype(np.float16)[:3], max=1.0), np.float16([low, -1, 1]))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(run("Clip", 6, x.astype(np.float16), min=0.0), np.float16([0, 0, 2, np.inf, np.nan]))
    np.testing.assert_array_equal(run("Clip", 6, x, max=3.0), [-3.4028234663852886e38, -1, 2, 3, np.nan])
    assert high == 65504


def test_first_opset_ignores_consumed_inputs():
    x = np.float32([-1, 2])
    assert run("Abs", 1, x, consumed_inputs=[1]).tolist() == [1, 2]
    assert run("Max", 1, x, -x, consumed_inputs=[0, 0]).tolist() == [1, 2]
    np.testing.assert_allclose(run("Selu", 1, x, consumed_inputs=[0]), [1.05069995 * 1.67320001 * np.expm1(-1), 2.1014], rtol=1e-6)


def test_sum_and_mean():
    x = np.float16([60000, 1])
    assert run("Mean", 13, x, x, x).tolist() == [60000, 1]
    assert run("Sum", 13, x[1:], np.float16([[2], [3]]), x[1:]).tolist() == [[4], [5]]
    assert run("Sum", 13, x) is x
    tiny = np.array([1, 2**-9], ml_dtypes.bfloat16)
    assert run("Sum", 13, tiny[:1], tiny[1:], tiny[1:], tiny[1:]).astype(np.float32).tolist() == [1.0078125]
    assert run("Mean", 13, np.float32([1, 2]), np.float32([[3], [5]])).tolist() == [[2, 2.5], [3, 3.5]]
