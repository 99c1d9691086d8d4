import ml_dtypes
import numpy as np
import pytest

SMALL = [np.int8, np.uint8, np.int16, np.uint16]


def f32(*values):
    return np.array(values, np.float32)


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


def drawn(rng, dtype, *shape):
    return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)


@pytest.fixture
def reals():
    rng = np.random.default_rng(0)
    return lambda *shape: (rng.standard_normal(shape) * 30).astype(np.float32)


@pytest.mark.parametrize("to", SMALL)
@pytest.mark.parametrize("real", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_quantize_linear(run, to, real, reals):
    x = reals(3, 5, 64).astype(real)

    def zero(*shape):
        return np.random.default_rng(1).integers(0, 100, shape).astype(to)

    def scale(*shape):
        return np.random.default_rng(2).uniform(0.1, 2, shape).astype(real)

    run.same("QuantizeLinear", x, scale(), zero())
    run.same("QuantizeLinear", x, scale(5), zero(5))
    run.same("QuantizeLinear", x, scale(64), zero(64), axis=-1)
    run.same("QuantizeLinear", x, scale(3, 5, 4), zero(3, 5, 4), axis=2, block_size=16)
    run.same("QuantizeLinear", x, scale(3, 2, 64), zero(3, 2, 64), axis=1, block_size=3)
    run.same("QuantizeLinear", x, scale(3, 5, 3), zero(3, 5, 3), axis=2, block_size=30)


def test_quantize_rounds_to_even_and_saturates(run):
    x = f32(0.5, 1.5, 2.5, -0.5, -1.5, 300, -300, np.inf, -np.inf, 1e30, 253.5, np.nan)
    assert run("QuantizeLinear", x, scalar(1), scalar(1, np.uint8)).tolist() == [1, 3, 3, 1, 0, 255, 0, 255, 0, 255, 255, 0]
    assert run("QuantizeLinear", x, scalar(1), scalar(-128, np.int8)).tolist()[:5] == [-128, -126, -126, -128, -128]
    assert run("QuantizeLinear", f32(0, 2, 4), scalar(0.5)).dtype == np.uint8
    run.same("QuantizeLinear", np.array([-5, 7, 2**24 + 1], np.int32), scalar(3), scalar(4, np.int8))


@pytest.mark.parametrize("source", [*SMALL, np.int32])
@pytest.mark.parametrize("real", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_dequantize_linear(run, source, real):
    rng = np.random.default_rng(3)
    x = rng.integers(0, 120, (3, 5, 64)).astype(source)

    def zero(*shape):
        return None if source == np.int32 else rng.integers(0, 100, shape).astype(source)

    def scale(*shape):
        return rng.uniform(0.01, 0.1, shape).astype(real)

    run.same("DequantizeLinear", x, scale(), zero())
    run.same("DequantizeLinear", x, scale(5), zero(5), axis=1)
    run.same("DequantizeLinear", x, scale(3, 5, 4), zero(3, 5, 4), axis=2, block_size=16)
    run.same("DequantizeLinear", x, scale(3, 2, 64), zero(3, 2, 64), axis=1, block_size=3)


def test_dynamic_quantize_linear(run, reals):
    for x in [reals(3, 700), f32(1, 2, 3), f32(-1, -2.1, -1.3, -2.5, -3.34, -4), f32(0, 0), np.zeros((0,), np.float32)]:
        run.same("DynamicQuantizeLinear", x, outputs=3)
    assert run("DynamicQuantizeLinear", f32(-1, -4), outputs=3)[2].item() == 255


@pytest.mark.parametrize("left", [np.int8, np.uint8])
@pytest.mark.parametrize("right", [np.int8, np.uint8])
def test_matmul_integer(run, left, right):
    rng = np.random.default_rng(4)
    for a, b in [
        ((5, 7), (7, 9)),
        ((2, 3, 33), (33, 40)),
        ((2, 1, 4, 6), (3, 6, 5)),
        ((8,), (8, 3)),
        ((4, 8), (8,)),
        ((300, 20), (20, 1500)),
    ]:
        x, w = drawn(rng, left, *a), drawn(rng, right, *b)
        want = x.astype(np.int64) @ w.astype(np.int64)
        np.testing.assert_array_equal(run("MatMulInteger", x, w), want)
        zx, zw = drawn(rng, left), drawn(rng, right)
        want = (x.astype(np.int64) - zx) @ (w.astype(np.int64) - zw)
        np.testing.assert_array_equal(run("MatMulInteger", x, w, zx, zw), want)
    x, w, zx, zw = drawn(rng, left, 6, 10), drawn(rng, right, 10, 4), drawn(rng, left, 6), drawn(rng, right, 4)
    np.testing.assert_array_equal(
        run("MatMulInteger", x, w, zx, zw), (x.astype(int) - zx[:, None].astype(int)) @ (w.astype(int) - zw.astype(int))
    )


def test_qlinear_matmul_saturates(run):
    one = scalar(1)
    got = run(
        "QLinearMatMul",
        np.array([[100]], np.int8),
        one,
        scalar(0, np.int8),
        np.array([[100]], np.int8),
        one,
        scalar(0, np.int8),
        scalar(0.2),
        scalar(0, np.int8),
    )
    assert got.item() == 127
    got = run(
        "QLinearMatMul",
        np.array([[-100]], np.int8),
        one,
        scalar(0, np.int8),
        np.array([[100]], np.int8),
        one,
        scalar(0, np.int8),
        scalar(0.5),
        scalar(0, np.int8),
    )
    assert got.item() == -128


@pytest.mark.parametrize("per", ["tensor", "line"])
def test_qlinear_matmul(run, per):
    rng = np.random.default_rng(5)
    for a, b in [((5, 30), (30, 9)), ((2, 5, 30), (2, 30, 9))]:
        x, w = rng.integers(0, 256, a).astype(np.uint8), rng.integers(-128, 128, b).astype(np.int8)
        m, n = ((5,), (9,)) if per == "line" else ((), ())
        sx, sw, sy = rng.uniform(0.01, 0.05, m).astype("f4"), rng.uniform(0.01, 0.05, n).astype("f4"), scalar(0.3)
        run.same(
            "QLinearMatMul",
            x,
            sx,
            rng.integers(0, 200, m).astype(np.uint8),
            w,
            sw,
            rng.integers(-9, 9, n).astype(np.int8),
            sy,
            scalar(20, np.uint8),
        )


CONVS = [
    ((1, 3, 8, 9), (4, 3, 3, 3), {}),
    ((2, 4, 8, 9), (6, 2, 3, 2), {"group": 2, "pads": [1, 0, 2, 1], "strides": [2, 1]}),
    ((2, 4, 11), (4, 1, 3), {"group": 4, "dilations": [2], "auto_pad": "SAME_UPPER"}),
    ((1, 2, 5, 6, 7), (3, 2, 2, 3, 2), {"strides": [1, 2, 2], "auto_pad": "SAME_LOWER"}),
]


@pytest.mark.parametrize(("x", "w", "attrs"), CONVS)
def test_integer_convolutions(run, x, w, attrs):
    rng = np.random.default_rng(6)
    for kind in (np.uint8, np.int8):
        image, weights = drawn(rng, kind, *x), drawn(rng, kind, *w)
        run.same("ConvInteger", image, weights, drawn(rng, kind), drawn(rng, kind), **attrs)
        run.same("ConvInteger", image, weights, drawn(rng, kind), **attrs)
        scales = rng.uniform(0.001, 0.004, w[0]).astype("f4")
        bias = rng.integers(-9999, 9999, w[0]).astype(np.int32)
        run.same(
            "QLinearConv",
            image,
            scalar(0.02),
            drawn(rng, kind),
            weights,
            scales,
            drawn(rng, kind, w[0]),
            scalar(0.5),
            drawn(rng, kind),
            bias,
            **attrs,
        )
        run.same(
            "QLinearConv",
            image,
            scalar(0.02),
            drawn(rng, kind),
            weights,
            scalar(0.01),
            drawn(rng, kind),
            scalar(0.5),
            drawn(rng, kind),
            **attrs,
        )
