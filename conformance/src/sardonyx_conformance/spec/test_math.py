"""Elementwise mathematics at the edges: cancellation, overflow, NaN, integer division."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

NAN = float("nan")
INF = float("inf")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softplus(run_op: Any, dtype: Any) -> None:
    """Far below zero it is exp(x), far above x; neither cancels nor overflows."""
    x = np.array([-12.3392, -80, 0, 20, 100, 1e4], dtype)
    want = [4.37676e-6, np.exp(np.float64(-80)), np.log(2), 20 + 2.0611536e-9, 100, 1e4]
    np.testing.assert_allclose(run_op("Softplus", x), want, rtol=2e-5)


@pytest.mark.parametrize(
    ("op", "attrs", "x", "want"),
    [
        ("Sigmoid", {}, [-1000, -20, 0, 1000], [0, 2.0611537e-9, 0.5, 1]),
        ("Tanh", {}, [-1000, 1e-6, 1000], [-1, 1e-6, 1]),
        ("Elu", {}, [-1000, -1e-6, 1000], [-1, -1e-6, 1000]),
        ("Celu", {"alpha": 2.0}, [-1000, 1000], [-2, 1000]),
        ("Selu", {}, [-1000], [-1.7580993408473766]),
        ("Mish", {}, [-1000, 0, 1000], [0, 0, 1000]),
        ("Softsign", {}, [-1e30, 0, 1e30], [-1, 0, 1]),
        ("Gelu", {}, [-1000, 0, 1000], [0, 0, 1000]),
        ("Gelu", {"approximate": "tanh"}, [-1000, 0, 1000], [0, 0, 1000]),
        ("HardSwish", {}, [-1000, -3, 0, 3, 1000], [0, 0, 0, 3, 1000]),
        ("Exp", {}, [-INF, INF, 0], [0, INF, 1]),
        ("Log", {}, [0, 1, INF], [-INF, 0, INF]),
        ("Sqrt", {}, [0, 4, INF], [0, 2, INF]),
        ("Reciprocal", {}, [INF, -INF, 4], [0, -0.0, 0.25]),
        ("Erf", {}, [-INF, 0, 0.5, INF], [-1, 0, 0.5204998778130465, 1]),
        ("Round", {}, [0.5, 1.5, 2.5, -0.5, -2.5], [0, 2, 2, -0.0, -2]),
        ("Sign", {}, [-3, 0, 3], [-1, 0, 1]),
        ("Atanh", {}, [1, -1, 0], [INF, -INF, 0]),
    ],
)
def test_unary_limits(run_op: Any, op: str, attrs: dict[str, Any], x: list[float], want: list[float]) -> None:
    """Values at the ends of the range."""
    np.testing.assert_allclose(run_op(op, np.array(x, np.float32), **attrs), want, rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize(("a", "b", "want"), [(18542495, 32, 31), (2147483647, 32, 31), (-7, 3, 2), (7, -3, -2), (-(2**31), -1, 0)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_mod_integers(run_op: Any, dtype: Any, a: int, b: int, want: int) -> None:
    """The result has the divisor's sign; the smallest integer modulo -1 is 0 and no trap."""
    assert run_op("Mod", np.array([a], dtype), np.array([b], dtype)).tolist() == [want]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_smallest_integer(run_op: Any, dtype: Any) -> None:
    """Mod and Div by -1 and Abs of the smallest integer end, with the exact or the wrapped result."""
    low = np.array([np.iinfo(dtype).min], dtype)
    minus = np.array([-1], dtype)
    assert run_op("Mod", low, minus).tolist() == [0]
    assert run_op("Mod", low, minus, fmod=1).tolist() == [0]
    assert run_op("Div", low, minus).tolist() == low.tolist()
    assert run_op("Abs", low).tolist() == low.tolist()
    assert run_op("Neg", low).tolist() == low.tolist()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_fmod(run_op: Any, dtype: Any) -> None:
    """fmod=1 is C's fmod: the dividend's sign."""
    a, b = np.array([-7.5, 7.5, -7.5, 0, 1], dtype), np.array([3, -3, -3, 5, np.inf], dtype)
    assert run_op("Mod", a, b, fmod=1).tolist() == [-1.5, 1.5, -1.5, 0, 1]


def test_mod_floats_floored(run_op: Any) -> None:
    """Since opset 28 floats may be divided with fmod=0, as in Python."""
    a, b = np.array([-7.5, 7.5, 5.25], np.float32), np.array([3, -3, 2], np.float32)
    assert run_op("Mod", a, b, opset=28).tolist() == [1.5, -1.5, 1.25]


def test_integer_division_truncates(run_op: Any) -> None:
    """Div of integers rounds towards zero."""
    assert run_op("Div", np.array([-7, 7, -8, 7], np.int32), np.array([2, -2, 3, 2], np.int32)).tolist() == [-3, -3, -2, 3]


@pytest.mark.parametrize("op", ["Min", "Max"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    ("a", "b"),
    [([[NAN]], [10]), ([[10]], [NAN]), ([[NAN, 1], [2, NAN]], [0]), ([[1, 2]], [[NAN], [NAN]]), ([NAN] * 9, 3), (3, [NAN] * 9)],
)
def test_min_max_nan(run_op: Any, op: str, dtype: Any, a: Any, b: Any) -> None:
    """NaN wins, also where the other side is broadcast from one element."""
    a, b = np.array(a, dtype), np.array(b, dtype)
    y = run_op(op, a, b)
    want = np.maximum(a, b) if op == "Max" else np.minimum(a, b)
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("op", ["Min", "Max", "Sum", "Mean"])
def test_variadic_of_one(run_op: Any, op: str) -> None:
    """A single input is the result."""
    assert run_op(op, np.array([1, 2.5], np.float32)).tolist() == [1, 2.5]


@pytest.mark.parametrize(
    ("op", "rest", "attrs"),
    [
        ("Relu", (), {}),
        ("Clip", (np.float32(-1), np.float32(1)), {}),
        ("LeakyRelu", (), {}),
        ("PRelu", (np.array([0.5], np.float32),), {}),
        ("Abs", (), {}),
        ("Sigmoid", (), {}),
        ("HardSigmoid", (), {}),
        ("Sign", (), {}),
        ("Elu", (), {}),
        ("ThresholdedRelu", (), {}),
    ],
)
def test_nan_stays(run_op: Any, op: str, rest: tuple[Any, ...], attrs: dict[str, Any]) -> None:
    """NaN in, NaN out (ThresholdedRelu and Sign: NaN or 0, as no comparison holds)."""
    y = run_op(op, np.array([NAN, 1.0], np.float32), *rest, **attrs)
    assert np.isnan(y[0]) or (op in ("ThresholdedRelu", "Sign") and y[0] == 0)


def test_clip_min_above_max(run_op: Any) -> None:
    """Where min is above max, every value becomes max."""
    assert run_op("Clip", np.array([-5, 0, 5], np.float32), np.float32(3), np.float32(1)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float64, np.float16])
def test_clip_one_side(run_op: Any, dtype: Any) -> None:
    """Each bound may be absent."""
    x = np.array([0, 50, 100], dtype)
    assert run_op("Clip", x, np.array(10, dtype)).tolist() == [10, 50, 100]
    assert run_op("Clip", x, None, np.array(60, dtype)).tolist() == [0, 50, 60]
    assert run_op("Clip", x).tolist() == [0, 50, 100]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_clip_of_infinity(run_op: Any, dtype: Any) -> None:
    """An absent bound is the type's least or greatest finite value (the operator's text and onnxruntime; its function body leaves
    infinity, and a provider may expand that)."""
    x, limits, zero = np.array([-np.inf, np.inf, 1], dtype), np.finfo(dtype), np.array(0, dtype)
    assert run_op("Clip", x).tolist() == [limits.min, limits.max, 1]
    assert run_op("Clip", x, zero).tolist() == [0, limits.max, 1]
    assert run_op("Clip", x, None, zero).tolist() == [limits.min, 0, 0]
    assert run_op("Clip", x, np.array(np.inf, dtype)).tolist() == [limits.max] * 3
    assert run_op("Clip", x, np.array(-np.inf, dtype), np.array(np.inf, dtype)).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_clip_to_nan(run_op: Any, dtype: Any) -> None:
    """A bound that is NaN gives NaN, constant or not: min(max(x, low), high)."""
    x, nan, zero = np.array([-np.inf, np.inf, 1], dtype), np.array(np.nan, dtype), np.array(0, dtype)
    for bounds in ((nan,), (nan, zero), (None, nan), (zero, nan)):
        assert np.isnan(run_op("Clip", x, *bounds)).all()
    if dtype != np.float64:
        assert np.isnan(run_op("Clip", x, opset=6, min=0.0, max=float("nan"))).all()


SIGNS = np.array([-3.0, -0.5, 0.0, 0.5, 2.0, np.inf])
UNITS = {
    "Elu": ("alpha", lambda x, a: np.where(x < 0, a * np.expm1(x), x)),
    "Selu": ("alpha", lambda x, a: 1.05 * np.where(x < 0, a * np.expm1(x), x)),
    "LeakyRelu": ("alpha", lambda x, a: np.where(x < 0, a * x, x)),
    "ThresholdedRelu": ("alpha", lambda x, a: np.where(x > a, x, 0)),
    "HardSigmoid": ("alpha", lambda x, a: np.minimum(np.maximum(a * x + 0.5, 0), 1)),
    "Shrink": ("lambd", lambda x, a: np.where(np.abs(x) > a, x, 0)),
    "Swish": ("alpha", lambda x, a: x / (1 + np.exp(-a * x))),
}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("op", UNITS)
def test_activations_with_a_parameter_that_is_no_number(run_op: Any, op: str, value: float) -> None:
    """They touch what the formula says they touch: a slope of negative numbers leaves positive ones alone."""
    name, formula = UNITS[op]
    with np.errstate(all="ignore"):
        want = formula(SIGNS, value)
    gamma = {"gamma": 1.05} if op == "Selu" else {}
    np.testing.assert_allclose(run_op(op, SIGNS.astype(np.float32), **{name: value}, **gamma), want, rtol=1e-5)


def test_celu_of_width_zero(run_op: Any) -> None:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)), where 0 times infinity is NaN."""
    y = run_op("Celu", np.array([-3.0, -0.5, 0.5], np.float32), alpha=0.0)
    assert y[:2].tolist() == [0, 0]
    assert np.isnan(y[2])


def test_gemm_with_an_infinite_factor(run_op: Any) -> None:
    """alpha multiplies the product, in which no element is 0."""
    a, b = np.array([[0.0, 1.0]], np.float32), np.array([[1.0], [2.0]], np.float32)
    assert run_op("Gemm", a, b, alpha=np.inf).tolist() == [[np.inf]]


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_arg_ties(run_op: Any, op: str) -> None:
    """The first of equals, or the last with select_last_index."""
    x = np.array([[3, 1, 3, 1]], np.float32)
    first, last = (0, 2) if op == "ArgMax" else (1, 3)
    assert run_op(op, x, axis=1, keepdims=0).tolist() == [first]
    assert run_op(op, x, axis=1, keepdims=0, select_last_index=1).tolist() == [last]


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_arg_nan(run_op: Any, op: str) -> None:
    """NaN counts as the extreme, the first of several; the answer is the same every time."""
    assert run_op(op, np.array([2, NAN, 7, 4, 1], np.float32), axis=0, keepdims=0).tolist() == 1
    assert run_op(op, np.array([NAN] * 5, np.float32), axis=0, keepdims=0).tolist() == 0


@pytest.mark.parametrize("exponent", [0.5, [0.5], [[0.5], [2.0]], [0.5] * 4])
def test_pow_half(run_op: Any, exponent: Any) -> None:
    """x to the power 0.5 is not the square root of -inf and -0 (C's pow)."""
    e = np.array(exponent, np.float32)
    got = run_op("Pow", np.array([-np.inf, -0.0, 4, np.nan], np.float32), e).reshape(-1, 4)
    np.testing.assert_array_equal(got[0], [np.inf, 0, 2, np.nan])
    assert not np.signbit(got[0, 1])


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_pow_integers(run_op: Any, dtype: Any) -> None:
    """Integer bases keep their type, also with a float exponent."""
    assert run_op("Pow", np.array([2, -3, 10], dtype), np.array([10, 3, 0], dtype)).tolist() == [1024, -27, 1]
    y = run_op("Pow", np.array([4, 9], dtype), np.array([0.5, 2], np.float32))
    assert y.dtype == dtype
    assert y.tolist() == [2, 81]


@pytest.mark.parametrize(("op", "want"), [("IsNaN", [True, False, False, False]), ("IsInf", [False, True, True, False])])
def test_classification(run_op: Any, op: str, want: list[bool]) -> None:
    """What is NaN and what is infinite."""
    assert run_op(op, np.array([NAN, INF, -INF, 1], np.float32)).tolist() == want


def test_bit_shift_wide(run_op: Any) -> None:
    """Shifts in the unsigned type; bits that leave it are gone."""
    x = np.array([1, 255, 128], np.uint8)
    assert run_op("BitShift", x, np.array([1, 1, 1], np.uint8), direction="LEFT").tolist() == [2, 254, 0]
    assert run_op("BitShift", x, np.array([7, 7, 7], np.uint8), direction="RIGHT").tolist() == [0, 1, 1]


def test_einsum_ellipsis(run_op: Any) -> None:
    """Every ellipsis stands for the same number of dimensions; they broadcast. Labels of different sizes are an error."""
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(run_op("Einsum", a, b, equation="ij,jk->ik"), a @ b)
    np.testing.assert_array_equal(run_op("Einsum", a, a[:1], equation="...,...->..."), a * a[:1])
    np.testing.assert_array_equal(run_op("Einsum", np.stack([a[:, :2]] * 3), equation="...ii->...i"), np.stack([[0, 4]] * 3))
    run_op.fails("Einsum", a, b, equation="ij,ij->ij")
    run_op.fails("Einsum", np.float32(2), a, equation="...,...->...")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_of_infinity(run_op: Any, dtype: Any, approximate: str) -> None:
    """The operator's formula holds at -inf too, where it is -inf times 0; so in every lane."""
    for n in (1, 3, 17, 64):
        x = np.linspace(-3, 3, n, dtype=dtype)
        x[-1] = -np.inf
        y = run_op("Gelu", x, approximate=approximate, opset=20)
        assert np.isnan(y).tolist() == [False] * (n - 1) + [True]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_leaky_relu_of_slope_zero(run_op: Any, dtype: Any) -> None:
    """0 times -inf is NaN, and inf is not multiplied."""
    np.testing.assert_array_equal(run_op("LeakyRelu", np.array([-INF, INF, NAN, -2, 3], dtype), alpha=0.0), [NAN, INF, NAN, 0, 3])


def test_pow_of_large_exponents(run_op: Any) -> None:
    """Exponents beyond int64 are no negative ones; the result wraps around."""
    base, exponent = [3, 7, 2, 1, 2**64 - 1], 2**64 - 1
    got = run_op("Pow", np.array(base, np.uint64), np.full(5, exponent, np.uint64))
    assert got.tolist() == [pow(b, exponent, 2**64) for b in base]


def test_range_over_all_integers(run_op: Any) -> None:
    """The ends of int64 are exact."""
    low, high = -(2**63), 2**63 - 1
    assert run_op("Range", np.array(low), np.array(high), np.array(high)).tolist() == [low, -1, high - 1]
