import ml_dtypes
import numpy as np
import pytest

from sardonyx_ep_cpu.kernels import kernels
from sardonyx_ep_cpu.ops.quantization.integer_product import pieces


def run(op, *inputs, domain="", constant=(), **attributes):
    kernel = kernels.find(domain, op, 99)
    if "prepared" in kernel.filled:
        known = [x if i in constant else None for i, x in enumerate(inputs)]
        attributes["prepared"] = kernel.prepare(np, known, attributes) if constant else None
    return kernel.function(np, *inputs, **attributes)


def integers(dtype, *shape):
    info = np.iinfo(dtype)
    return np.random.default_rng(len(shape) + shape[0]).integers(info.min, info.max + 1, shape).astype(dtype)


def exact(a, b, a_zero=0, b_zero=0):
    return np.matmul(a.astype(np.int64) - a_zero, b.astype(np.int64) - b_zero)


@pytest.mark.parametrize("left", [np.uint8, np.int8])
@pytest.mark.parametrize("right", [np.uint8, np.int8])
@pytest.mark.parametrize(
    ("a", "b"), [((5, 1500), (1500, 4)), ((2, 3, 4, 7), (7, 5)), ((2, 1, 3, 700), (4, 700, 2)), ((700,), (700, 2)), ((3, 9), (9,))]
)
def test_matmul_integer_is_exact(left, right, a, b):
    a, b = integers(left, *a), integers(right, *b)
    a[...] = np.where(a % 2, a, np.iinfo(left).max)
    zeros = np.array(7, left), np.array(np.iinfo(right).min, right)
    for constant in ((), (1, 3)):
        got = run("MatMulInteger", a, b, *zeros, constant=constant)
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, exact(a, b, 7, int(zeros[1])))
        np.testing.assert_array_equal(run("MatMulInteger", a, b, constant=constant[:1]), exact(a, b))
    np.testing.assert_array_equal(run("MatMulInteger", a, b, *zeros, constant=(1,)), exact(a, b, 7, int(zeros[1])))


def test_worst_case_sums_are_exact():
    a, b = np.full((2, 5000), 255, np.uint8), np.full((5000, 2), 255, np.uint8)
    assert run("MatMulInteger", a, b).tolist() == [[5000 * 255 * 255] * 2] * 2
    cuts = pieces(np, b.astype(np.float32))
    assert [c.start for c in cuts[1:]] == [c.stop for c in cuts[:-1]]
    assert (cuts[0].start, cuts[-1].stop) == (0, 5000)
    assert all((c.stop - c.start) * 255 * 255 < 2**24 for c in cuts)


def test_zero_points_per_row_and_column():
    a, b = integers(np.uint8, 3, 6), integers(np.int8, 6, 4)
    rows, columns = np.uint8([1, 2, 3]), np.int8([-1, 0, 5, 100])
    np.testing.assert_array_equal(run("MatMulInteger", a, b, rows, columns), exact(a, b, rows[:, None].astype(int), columns))
    batch = np.stack([a, a])
    got = run("MatMulInteger", batch, np.stack([b, b]), np.stack([rows, rows])[..., None], np.stack([columns, columns])[:, None])
    np.testing.assert_array_equal(got[1], exact(a, b, rows[:, None].astype(int), columns))


def test_empty_inner_dimension():
    assert run("MatMulInteger", np.zeros((2, 0), np.uint8), np.zeros((0, 3), np.int8)).tolist() == [[0] * 3] * 2


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


def test_qlinear_matmul_saturates():
    one, hundred = scalar(1), np.uint8([[100]])
    zero = scalar(0, np.uint8)
    assert run("QLinearMatMul", hundred, one, zero, hundred, one, zero, scalar(0.2), zero).tolist() == [[255]]
    a, b, zero = np.int8([[-100]]), np.int8([[100]]), scalar(0, np.int8)
    assert run("QLinearMatMul", a, one, zero, b, one, zero, scalar(0.5), zero).tolist() == [[-128]]


def test_qlinear_matmul_scales_per_row_and_column():
    a, b = integers(np.uint8, 3, 40), integers(np.uint8, 40, 2)
    rows, columns = np.float32([0.5, 1, 2]), np.float32([0.25, 0.125])
    inputs = (a, rows, np.uint8([1, 2, 3]), b, columns, np.uint8([9, 8]), scalar(1024), scalar(128, np.uint8))
    real = exact(a, b, np.array([[1], [2], [3]]), np.array([9, 8])) * rows[:, None].astype(float) * columns / 1024
    expected = np.clip(np.rint(real) + 128, 0, 255)
    np.testing.assert_array_equal(run("QLinearMatMul", *inputs), expected)
    np.testing.assert_array_equal(run("QLinearMatMul", *inputs, constant=(3, 5)), expected)


def test_qlinear_matmul_of_float8():
    f8 = ml_dtypes.float8_e4m3fn
    a, b = np.array([[1.5, -2]], f8), np.array([[4], [0.5]], f8)
    got = run("QLinearMatMul", a, scalar(2), scalar(0, f8), b, scalar(1), scalar(0, f8), scalar(0.5), scalar(0, f8))
    assert got.dtype == f8
    assert got.astype(np.float32).tolist() == [[20]]


def microsoft(op, *inputs, **attributes):
    return run(op, *inputs, domain="com.microsoft", **attributes)


def test_qgemm():
    a, b = integers(np.uint8, 5, 3), integers(np.int8, 4, 5)
    c = np.int32([10, -20, 30, 0])
    inputs = (a, scalar(0.5), scalar(3, np.uint8), b, np.float32([1, 2, 0.5, 4]), scalar(-2, np.int8), c)
    total = exact(a.T, b.T, 3, -2) + c
    real = microsoft("QGemm", *inputs, transA=1, transB=1, alpha=2.0)
    np.testing.assert_array_equal(real, total * np.float32([1, 2, 0.5, 4]))
    quantized = microsoft("QGemm", *inputs, scalar(512), scalar(100, np.uint8), transA=1, transB=1, alpha=2.0, constant=(3, 5))
    np.testing.assert_array_equal(quantized, np.clip(np.rint(real / 512) + 100, 0, 255))


def test_matmul_integer_to_float():
    a, b = integers(np.uint8, 2, 3, 8), integers(np.int8, 8, 4)
    columns, bias = np.float32([1, 2, 4, 8]), np.float32([1, 2, 3, 4])
    got = microsoft("MatMulIntegerToFloat", a, b, scalar(0.5), columns, scalar(9, np.uint8), np.int8([0, 1, 2, 3]), bias)
    np.testing.assert_array_equal(got, exact(a, b, 9, np.array([0, 1, 2, 3])) * columns * np.float32(0.5) + bias)


def test_dynamic_quantize_matmul():
    a = np.float32([[-1, 0, 1, 3]])
    b = np.int8([[1], [2], [3], [4]])
    got = microsoft("DynamicQuantizeMatMul", a, b, scalar(0.5), None, np.float32([10]))
    scale = np.float32(4 / 255)
    quantized = np.clip(np.rint(a / scale) + 64, 0, 255) - 64
    np.testing.assert_allclose(got, quantized @ b * scale * 0.5 + 10, rtol=1e-6)
    assert abs(got[0, 0] - (a @ b * 0.5 + 10).item()) < 0.05
