"""Elementwise operators: accuracy, broadcasting, integer and NaN rules, casts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper
from scipy import special

Run = Callable[..., list[np.ndarray]]
F = np.float32
X = np.concatenate([np.linspace(-12, 12, 4801), [-100, -88.2, -20.5, 20.5, 87.9, 1e-8, -1e-8, 3e-39, 0.0, -0.0]]).astype(F)


def node(op: str, *inputs: str, **attrs: Any) -> Any:
    return helper.make_node(op, list(inputs) or ["x"], ["y"], **attrs)


def log1p_exp(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, x)


def expm1_below(x: np.ndarray) -> np.ndarray:
    return np.expm1(np.minimum(x, 0))


# (operator, attributes, the function in float64, arguments, bound in units of the last place of float32)
ACCURACY: list[tuple[str, dict[str, Any], Any, np.ndarray, float]] = [
    ("Exp", {}, np.exp, X[X > -87], 1.1),
    ("Log", {}, np.log, np.geomspace(1e-44, 3e38, 4001).astype(F), 1.1),
    ("Tanh", {}, np.tanh, X, 2.7),
    ("Sigmoid", {}, special.expit, X[X > -88], 2.5),
    ("Erf", {}, special.erf, X, 2.5),
    ("Softplus", {}, log1p_exp, X[X > -87], 3),
    ("Sin", {}, np.sin, np.linspace(-5000, 5000, 4001).astype(F), 2),
    ("Cos", {}, np.cos, np.linspace(-5000, 5000, 4001).astype(F), 2),
    ("Sin", {}, np.sin, np.geomspace(1e4, 1e30, 100).astype(F), 1.1),
    ("Tan", {}, np.tan, np.linspace(-1.5, 1.5, 3001).astype(F), 4),
    ("Elu", {"alpha": 1.0}, lambda x: np.maximum(x, 0) + expm1_below(x), X, 1.5),
    ("Celu", {"alpha": 2.0}, lambda x: np.maximum(x, 0) + 2 * expm1_below(x / 2), X, 1.5),
    ("Selu", {"alpha": 1.5, "gamma": 2.0}, lambda x: 2 * (np.maximum(x, 0) + 1.5 * expm1_below(x)), X, 3),
    ("Softsign", {}, lambda x: x / (1 + abs(x)), X, 1.5),
    ("Mish", {}, lambda x: x * np.tanh(log1p_exp(x)), X[X > -80], 5),
    ("Swish", {}, lambda x: x * special.expit(x), X[X > -87], 4),
    ("Asin", {}, np.arcsin, np.linspace(-1, 1, 501).astype(F), 2),
    ("Acosh", {}, np.arccosh, np.linspace(1, 50, 501).astype(F), 3),
    ("Sqrt", {}, np.sqrt, np.abs(X), 0.51),
    ("Reciprocal", {}, lambda x: 1 / x, X[np.abs(X) > 1e-30], 0.51),
]


@pytest.mark.parametrize(("op", "attrs", "want", "x", "bound"), ACCURACY, ids=[f"{a[0]}-{i}" for i, a in enumerate(ACCURACY)])
def test_accuracy(op: str, attrs: dict[str, Any], want: Any, x: np.ndarray, bound: float, run: Run) -> None:
    if op == "Swish":
        (got,) = run([helper.make_node("Sigmoid", ["x"], ["s"]), helper.make_node("Mul", ["x", "s"], ["y"])], {"x": x})
    else:
        (got,) = run(node(op, **attrs), {"x": x})
    exact = want(x.astype(np.float64))
    unit = np.spacing(np.maximum(np.abs(exact).astype(F), np.finfo(F).tiny)).astype(np.float64)
    assert np.max(np.abs(got - exact) / unit) <= bound


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(approximate: str, run: Run) -> None:
    (got,) = run(node("Gelu", approximate=approximate), {"x": X})
    x = X.astype(np.float64)
    exact = x * special.ndtr(x) if approximate == "none" else x * special.expit(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    assert np.max(np.abs(got - exact)) <= 6e-7
    tail = (x < -0.01) & (x > -6)
    assert np.max(np.abs(got[tail] / exact[tail] - 1)) <= 3e-5


@pytest.mark.parametrize("op", ["Exp", "Tanh", "Sigmoid", "Erf", "Gelu", "Log", "Sin", "Relu", "Softplus", "Mish", "Floor", "Sign", "Elu"])
def test_nan_stays(op: str, run: Run) -> None:
    x = np.array([1, np.nan, -1] * 7, F)
    (got,) = run(node(op), {"x": x})
    assert np.array_equal(np.isnan(got[1::3]), np.ones(7, bool))
    assert not np.isnan(got[0::3]).any()


def test_ends_of_the_range(run: Run) -> None:
    x = np.array([np.inf, -np.inf, 89, -104, -95], F)
    np.testing.assert_array_equal(run(node("Exp"), {"x": x})[0][:4], np.array([np.inf, 0, np.inf, 0], F))
    np.testing.assert_allclose(run(node("Exp"), {"x": x})[0][4], np.exp(-95.0), rtol=1e-3)
    np.testing.assert_array_equal(run(node("Sigmoid"), {"x": x})[0][:4], np.array([1, 0, 1, 0], F))
    np.testing.assert_array_equal(run(node("Tanh"), {"x": x})[0], np.array([1, -1, 1, -1, -1], F))
    np.testing.assert_array_equal(run(node("Erf"), {"x": x})[0], np.array([1, -1, 1, -1, -1], F))
    np.testing.assert_array_equal(
        run(node("Log"), {"x": np.array([0, -0.0, np.inf, -1], F)})[0], np.array([-np.inf, -np.inf, np.inf, np.nan], F)
    )
    np.testing.assert_allclose(run(node("Softplus"), {"x": np.array([-12.3392, 100], F)})[0], [4.37676e-6, 100], rtol=2e-6)


def test_rounding(run: Run) -> None:
    x = np.array([-2.5, -1.5, -0.5, -0.2, -0.0, 0.0, 0.5, 1.5, 2.5, 1e10, np.inf], F)
    for op, f in (("Round", np.rint), ("Floor", np.floor), ("Ceil", np.ceil)):
        (got,) = run(node(op), {"x": x})
        np.testing.assert_array_equal(got, f(x))
        np.testing.assert_array_equal(np.signbit(got), np.signbit(f(x)))


SHAPES = [
    (),
    (1,),
    (7,),
    (1, 7),
    (3, 1),
    (5, 1, 7),
    (1, 3, 1),
    (5, 3, 7),
    (2, 1, 3, 1),
    (2, 5, 3, 7),
    (70,),
    (3, 70),
    (4, 1, 70),
    (4, 3, 1),
]


def fits(*shapes: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


def test_broadcasting(run: Run) -> None:
    rng = np.random.default_rng(0)
    for a, b in itertools.product(SHAPES, SHAPES):
        if fits(a, b):
            x, z = rng.standard_normal(a).astype(F), rng.standard_normal(b).astype(F)
            (got,) = run(node("Sub", "x", "z"), {"x": x, "z": z})
            np.testing.assert_array_equal(got, x - z)


@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_where_broadcasts_any_shapes(data: st.DataObject, run: Run) -> None:
    dims = data.draw(st.lists(st.sampled_from([1, 2, 3, 17, 40]), min_size=0, max_size=4))
    shapes = []
    for _ in range(3):
        own = [d if data.draw(st.booleans()) else 1 for d in dims]
        shapes.append(tuple(own[data.draw(st.integers(0, len(own))) :]))
    dtype = data.draw(st.sampled_from([np.float32, np.float16, np.int64, np.uint8, np.float64]))
    rng = np.random.default_rng(1)
    c, x, z = rng.random(shapes[0]) < 0.5, *((rng.standard_normal(s) * 50).astype(dtype) for s in shapes[1:])
    (got,) = run(node("Where", "c", "x", "z"), {"c": np.asarray(c), "x": np.asarray(x), "z": np.asarray(z)})
    np.testing.assert_array_equal(got, np.where(c, x, z))


def test_large_tensors_are_split_right(run: Run) -> None:
    rng = np.random.default_rng(0)
    x, row, column = (rng.standard_normal(s).astype(F) for s in ((300, 1001), (1001,), (300, 1)))
    np.testing.assert_array_equal(run(node("Mul", "x", "z"), {"x": x, "z": row})[0], x * row)
    np.testing.assert_array_equal(run(node("Mul", "z", "x"), {"x": x, "z": column})[0], x * column)
    np.testing.assert_array_equal(run(node("Add", "z", "x"), {"x": row, "z": column})[0], row + column)
    np.testing.assert_array_equal(run(node("Neg"), {"x": x})[0], -x)
    y = rng.standard_normal((2, 40000, 3)).astype(F)
    np.testing.assert_array_equal(run(node("Add", "x", "z"), {"x": y, "z": y[0, 0]})[0], y + y[0, 0])


def test_empty(run: Run) -> None:
    x = np.zeros((0, 3), F)
    assert run(node("Exp"), {"x": x})[0].shape == (0, 3)
    assert run(node("Add", "x", "z"), {"x": x, "z": np.zeros((1,), F)})[0].shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_integers_wrap_around_and_do_not_trap(dtype: Any, run: Run) -> None:
    info = np.iinfo(dtype)
    a = np.array([info.min, info.max, info.min, 7, info.max, 0, 5] * 5, dtype)
    b = np.array([info.max if info.min == 0 else -1, info.max, 0, 0, 2, 3, 3] * 5, dtype)
    feeds = {"x": a, "z": b}
    with np.errstate(all="ignore"):
        for op, f in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Min", np.minimum), ("Max", np.maximum)):
            np.testing.assert_array_equal(run(node(op, "x", "z"), feeds)[0], f(a, b))
        np.testing.assert_array_equal(run(node("Mod", "x", "z"), feeds)[0], np.remainder(a, b))
        np.testing.assert_array_equal(run(node("Mod", "x", "z", fmod=1), feeds)[0], np.fmod(a, b))
    wide = [0 if q == 0 else int(p) // int(q) if (p < 0) == (q < 0) else -(abs(int(p)) // abs(int(q))) for p, q in zip(a, b, strict=True)]
    want = np.array([w % (1 << info.bits) for w in wide], np.uint64).astype(dtype)
    np.testing.assert_array_equal(run(node("Div", "x", "z"), feeds)[0], want)


def test_mod(run: Run) -> None:
    x, z = np.array([-5.5, 5.5, -6, 6, 0, np.inf, 1], F), np.array([2, -2, 3, -3, -1, 2, np.inf], F)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(node("Mod", "x", "z", fmod=1), {"x": x, "z": z})[0], np.fmod(x, z))
    i = np.array([18542495, 2147483647], np.int64)
    np.testing.assert_array_equal(run(node("Mod", "x", "z"), {"x": i, "z": np.array([32], np.int64)})[0], [31, 31])


def test_nan_of_either_side_wins(run: Run) -> None:
    x, z = np.array([[np.nan, 1]], F), np.array([10], F)
    np.testing.assert_array_equal(run(node("Min", "x", "z"), {"x": x, "z": z})[0], [[np.nan, 1]])
    np.testing.assert_array_equal(run(node("Max", "z", "x"), {"x": x, "z": z})[0], [[np.nan, 10]])
    bounds = {"low": np.array(-1, F), "high": np.array(1, F)}
    values = np.array([np.nan, np.inf, -5, 0.5], F)
    want = np.array([np.nan, 1, -1, 0.5], F)
    np.testing.assert_array_equal(run(node("Clip", "x", "low", "high"), {"x": values}, bounds)[0], want)
    np.testing.assert_array_equal(run(node("Clip", "x", "low", "high"), {"x": values, **bounds})[0], want)
    np.testing.assert_array_equal(run(node("Clip", "x", "", "high"), {"x": values, "high": bounds["high"]})[0], [np.nan, 1, -5, 0.5])


def test_clip_of_integers(run: Run) -> None:
    x = np.arange(-5, 6, dtype=np.int32)
    limits = {"low": np.array(-2, np.int32), "high": np.array(3, np.int32)}
    np.testing.assert_array_equal(run(node("Clip", "x", "low", "high"), {"x": x}, limits)[0], np.clip(x, -2, 3))


def test_power(run: Run) -> None:
    x = np.array([0.5, 2, 3, 10, 0], F)
    for e in (2, 3, 0.5, -1, 1, 0, 1.7):
        with np.errstate(divide="ignore"):
            want = x.astype(np.float64) ** e
        np.testing.assert_allclose(run(node("Pow", "x", "e"), {"x": x}, {"e": np.array(e, F)})[0], want, rtol=3e-7)
    np.testing.assert_array_equal(run(node("Pow", "x", "e"), {"x": np.array([-np.inf, -0.0], F)}, {"e": np.array(0.5, F)})[0], [np.inf, 0])
    i, e = np.array([2, -3, 1, -1, -1, 0, 7], np.int64), np.array([10, 3, -5, -3, -2, 0, -1], np.int64)
    np.testing.assert_array_equal(run(node("Pow", "x", "e"), {"x": i, "e": e})[0], [1024, -27, 1, -1, 1, 1, 0])
    np.testing.assert_array_equal(run(node("Pow", "x", "e"), {"x": i[:2], "e": np.array([0.5, 2], F)})[0], [1, 9])


def test_shifts(run: Run) -> None:
    x, z = np.array([1, 200, 255, 16], np.uint8), np.array([1, 9, 8, 4], np.uint8)
    np.testing.assert_array_equal(run(node("BitShift", "x", "z", direction="LEFT"), {"x": x, "z": z})[0], [2, 0, 0, 0])
    np.testing.assert_array_equal(run(node("BitShift", "x", "z", direction="RIGHT"), {"x": x, "z": z})[0], [0, 0, 0, 1])


def test_sum_and_mean_of_many(run: Run) -> None:
    rng = np.random.default_rng(0)
    xs = {f"x{i}": rng.standard_normal(s).astype(np.float16) for i, s in enumerate([(3, 5), (5,), (3, 1), (1,), (3, 5)])}
    total = sum(x.astype(F) for x in xs.values())
    np.testing.assert_array_equal(run(node("Sum", *xs), xs)[0], total.astype(np.float16))
    np.testing.assert_array_equal(run(node("Mean", *xs), xs)[0], (total / F(5)).astype(np.float16))


def test_prelu_of_too_large_a_slope_is_an_error(run: Run) -> None:
    from sardonyx.errors import SardonyxError

    with pytest.raises(SardonyxError):
        run(node("PRelu", "x", "s"), {"x": np.ones((1, 3), F), "s": np.ones((2, 3), F)})


TYPES = [
    np.float32,
    np.float64,
    np.float16,
    ml_dtypes.bfloat16,
    np.int8,
    np.uint8,
    np.int16,
    np.uint16,
    np.int32,
    np.uint32,
    np.int64,
    np.uint64,
    np.bool_,
]


@pytest.mark.parametrize("source", TYPES, ids=lambda t: np.dtype(t).name)
def test_cast(source: Any, run: Run) -> None:
    """As ep-cpu's cast, whose rules are documented and shared by all providers."""
    from sardonyx.ep.shape_kernels.cast import convert

    x = np.array([0, 1, 2, 3, 50, 97, 127, 1, 0, 1, 100, 5, 6, 7, 8, 9, 10, 11, 12] * 2).astype(source)
    if np.dtype(source).kind in "fV":
        wild = [300, np.nan, np.inf, -np.inf, 50.7, -50.7, 1e10, -1e10, 65519, 65520, 1e-7, -0.0, 3e9, 1e19, 2.5, 1.0009765, 1.00048828125]
        with np.errstate(over="ignore"):
            x = np.concatenate([x, np.array(wild).astype(source)])
    elif np.dtype(source).kind in "iu":
        info = np.iinfo(source)
        x = np.concatenate([x, np.array([info.min, info.max, info.max - 1, info.max // 3], source)])
    for target in TYPES:
        (got,) = run(node("Cast", to=helper.np_dtype_to_tensor_dtype(np.dtype(target))), {"x": x})
        with np.errstate(all="ignore"):
            want = convert(np, x, np.dtype(target))
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(
            got.astype(np.float64) if np.dtype(target).kind in "fV" else got,
            want.astype(np.float64) if np.dtype(target).kind in "fV" else want,
        )


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=lambda t: np.dtype(t).name)
def test_half_precision_is_rounded_once(dtype: Any, run: Run) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((5, 33)).astype(dtype), rng.standard_normal((33,)).astype(dtype)
    np.testing.assert_array_equal(run(node("Mul", "x", "z"), {"x": a, "z": b})[0], (a.astype(F) * b.astype(F)).astype(dtype))
    np.testing.assert_array_equal(run(node("Less", "x", "z"), {"x": a, "z": b})[0], a.astype(F) < b.astype(F))
    np.testing.assert_array_equal(run(node("IsInf"), {"x": np.array([1, np.inf, -np.inf, np.nan], dtype)})[0], [False, True, True, False])
