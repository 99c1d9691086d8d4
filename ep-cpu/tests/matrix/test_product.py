import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

BF16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(0)


def run(op, *inputs, since=99, domain="", **attributes):
    return kernels.find(domain, op, since).function(np, *inputs, **attributes)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


SHAPES = [
    ((4,), (4,)),
    ((4,), (4, 3)),
    ((2, 4), (4,)),
    ((1, 4), (4, 3)),
    ((2, 4), (4, 3)),
    ((3, 4), (4, 300)),
    ((5, 4), (4, 3)),
    ((2, 3, 4), (4, 3)),
    ((1, 1, 4), (4, 3)),
    ((2, 1, 4), (4, 3)),
    ((2, 3, 4), (2, 4, 3)),
    ((2, 1, 3, 4), (5, 4, 3)),
    ((4, 3), (2, 3, 2)),
    ((0, 4), (4, 3)),
    ((2, 0, 4), (4, 3)),
    ((2, 3, 0), (0, 3)),
    ((2, 3, 4), (4, 0)),
    ((4,), (2, 4, 3)),
]


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-5), (np.float64, 1e-13), (np.float16, 1e-3), (BF16, 8e-3)])
def test_matmul_is_numpys(a, b, dtype, rtol):
    x, y = normal(*a, dtype=dtype), normal(*b, dtype=dtype)
    exact = x.astype(np.float64) @ y.astype(np.float64)
    got = run("MatMul", x, y)
    assert isinstance(got, np.ndarray)
    assert got.dtype == dtype
    assert got.shape == np.shape(exact)
    scale = np.abs(x.astype(np.float64)) @ np.abs(y.astype(np.float64))
    assert (np.abs(got.astype(np.float64) - exact) <= rtol * scale).all()


def test_half_precision_sums_in_float32():
    x = np.full((1, 4096), 1, np.float16)
    assert run("MatMul", x, x.T)[0, 0] == 4096
    assert run("MatMul", x.astype(BF16), x.T.astype(BF16))[0, 0] == 4096


def test_views_are_multiplied_as_they_lie():
    x, w = normal(2, 6, 5, 8), normal(16, 8)
    np.testing.assert_allclose(run("MatMul", x.swapaxes(1, 2), w.T), x.swapaxes(1, 2) @ w.T, rtol=1e-5, atol=1e-5)
    q = normal(2, 7, 3, 4).transpose(0, 2, 1, 3)
    np.testing.assert_allclose(run("MatMul", q, q.swapaxes(2, 3)), np.einsum("bhqd,bhkd->bhqk", q, q), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("size", [4, 64])
def test_integers_are_exact(dtype, size):
    info = np.iinfo(dtype)
    for low, high in ((-9 if info.min else 0, 9), (-(2**20) if info.min else 0, 2**20), (info.min, info.max)):
        a = RNG.integers(low, high, (size, size), dtype=dtype, endpoint=True)
        b = RNG.integers(low, high, (size, size), dtype=dtype, endpoint=True)
        exact = np.array([[sum(map(int.__mul__, row, column)) for column in b.T.tolist()] for row in a.tolist()], object)
        wrapped = np.array([int(v) % 2**info.bits for v in exact.flat], np.uint64).astype(f"u{info.bits // 8}").view(dtype)
        np.testing.assert_array_equal(run("MatMul", a, b), wrapped.reshape(exact.shape))


def test_shapes_that_do_not_fit_raise():
    for a, b in (((2, 3), (4, 3)), ((2, 2, 3), (4, 3)), ((2, 2, 3), (3, 3, 3)), ((), (3, 3))):
        with pytest.raises(ValueError, match=r"matmul|broadcast"):
            run("MatMul", normal(*a), normal(*b))


def test_prepared_weights_give_the_same():
    a, b, c = normal(3, 4, dtype=np.float16), normal(4, 5, dtype=np.float16), normal(5, dtype=np.float16)
    for op, inputs in (("MatMul", (a, b)), ("Gemm", (a, b, c))):
        kernel = kernels.find("", op, 13)
        prepared = kernel.prepare(np, [None, *inputs[1:]], {})
        assert prepared[1].dtype == np.float32
        np.testing.assert_array_equal(kernel.function(np, *inputs, prepared=prepared), kernel.function(np, *inputs))
    assert kernels.find("", "MatMul", 13).prepare(np, [None, normal(4, 5)], {}) is None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_matmul_property(data):
    batch = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3))
    m, k, n = (data.draw(st.integers(1, 5)) for _ in range(3))
    a = data.draw(hnp.arrays(np.float64, (*batch.input_shapes[0], m, k), elements=st.integers(-8, 8).map(float)))
    b = data.draw(hnp.arrays(np.float64, (*batch.input_shapes[1], k, n), elements=st.integers(-8, 8).map(float)))
    np.testing.assert_array_equal(run("MatMul", a, b), np.einsum("...mk,...kn->...mn", a, b))


@pytest.mark.parametrize("c_shape", [None, (), (1,), (3,), (1, 3), (2, 1), (2, 3)])
def test_gemm(c_shape):
    a, b = normal(4, 2), normal(3, 4)
    c = None if c_shape is None else normal(*c_shape)
    inputs = (a, b) if c is None else (a, b, c)
    before = [x.copy() for x in inputs]
    exact = 0.5 * a.T.astype(float) @ b.T.astype(float) + (0 if c is None else 2.0 * c.astype(float))
    np.testing.assert_allclose(run("Gemm", *inputs, alpha=0.5, beta=2.0, transA=1, transB=1), exact, rtol=1e-5, atol=1e-6)
    for x, old in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(x, old)


@pytest.mark.parametrize("dtype", [np.int32, np.uint64])
def test_integer_gemm(dtype):
    a, b, c = (np.arange(n, dtype=dtype).reshape(s) for n, s in ((6, (2, 3)), (12, (3, 4)), (4, (4,))))
    big = np.array([2**24 + 1], dtype)
    np.testing.assert_array_equal(run("Gemm", a, b, c, alpha=3.0, beta=2.0), 3 * (a @ b) + 2 * c)
    np.testing.assert_array_equal(run("Gemm", a, b, big, beta=1.0), a @ b + big)
    np.testing.assert_array_equal(run("Gemm", a, b, alpha=0.5), ((a @ b) * 0.5).astype(dtype))


def test_gemm_rejects_what_does_not_fit():
    for c in ((2,), (4,), (3, 3), (1, 2, 3)):
        with pytest.raises(NodeError, match="does not broadcast"):
            run("Gemm", normal(2, 4), normal(4, 3), normal(*c))
    with pytest.raises(NodeError, match="takes matrices"):
        run("Gemm", normal(2, 3, 4), normal(4, 3))
    with pytest.raises(NodeError, match="broadcast=1"):
        run("Gemm", normal(2, 4), normal(4, 3), normal(3), since=6)
    assert run("Gemm", normal(2, 4), normal(4, 3), normal(3), since=6, broadcast=1).shape == (2, 3)
