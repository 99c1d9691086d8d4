import math

import ml_dtypes
import numpy as np
import pytest
from scipy import special

from sardonyx_ep_cpu.kernels import kernels

BF16 = ml_dtypes.bfloat16
EPS = {np.float16: 2.0**-10, BF16: 2.0**-7, np.float32: 2.0**-23, np.float64: 2.0**-52}
EXACT = {
    "Exp": np.exp,
    "Log": np.log,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Asin": np.arcsin,
    "Acos": np.arccos,
    "Atan": np.arctan,
    "Sinh": np.sinh,
    "Cosh": np.cosh,
    "Tanh": np.tanh,
    "Asinh": np.arcsinh,
    "Acosh": np.arccosh,
    "Atanh": np.arctanh,
    "Reciprocal": np.reciprocal,
    "Erf": special.erf,
}


def run(op, *inputs, since=99, **attributes):
    with np.errstate(all="ignore"):
        return kernels.find("", op, since).function(np, *inputs, **attributes)


@pytest.mark.parametrize("op", EXACT)
@pytest.mark.parametrize("dtype", EPS, ids=lambda d: d.__name__)
def test_function(op, dtype):
    x = np.concatenate([np.linspace(-4, 4, 1601), [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-4, -1e-4]]).astype(dtype).reshape(2, -1)
    with np.errstate(all="ignore"):
        exact = EXACT[op](x.astype(np.float64))
    got = run(op, x)
    assert got.dtype == dtype
    np.testing.assert_allclose(got.astype(np.float64), exact.astype(dtype).astype(np.float64), rtol=4 * EPS[dtype], atol=1e-9)
    assert run(op, x[:, :0]).shape == (2, 0)
    assert np.shape(run(op, x[0, 0].reshape(()))) == ()
    np.testing.assert_allclose(run(op, x[:, ::3]).astype(np.float64), got[:, ::3].astype(np.float64), rtol=8 * EPS[dtype])


def test_erf_keeps_relative_accuracy_and_stays_within_one():
    x = np.concatenate([np.geomspace(1e-30, 10, 20001), -np.geomspace(1e-30, 10, 20001)]).astype(np.float32)
    got = run("Erf", x)
    np.testing.assert_allclose(got, special.erf(x.astype(np.float64)), rtol=1e-6)
    assert np.abs(got).max() == 1
    assert run("Erf", np.int32([-3, 0, 1]), since=9).tolist() == [0, 0, 0]


def test_is_nan_and_is_inf():
    x = np.array([np.nan, np.inf, -np.inf, 1])
    for dtype in (np.float16, np.float32, np.float64, BF16, ml_dtypes.float8_e5m2):
        assert run("IsNaN", x.astype(dtype)).tolist() == [True, False, False, False]
        assert run("IsInf", x.astype(dtype)).tolist() == [False, True, True, False]
        assert run("IsInf", x.astype(dtype), detect_negative=0).tolist() == [False, True, False, False]
        assert run("IsInf", x.astype(dtype), detect_positive=0).tolist() == [False, False, True, False]
        assert run("IsInf", x.astype(dtype), detect_positive=0, detect_negative=0).tolist() == [False] * 4
    assert run("IsInf", np.array([448, np.nan], ml_dtypes.float8_e4m3fn)).tolist() == [False, False]


def test_long_input_is_computed_in_blocks():
    x = np.linspace(-3, 3, 50_001, dtype=np.float32)
    np.testing.assert_allclose(run("Erf", x)[-50:], special.erf(x[-50:].astype(np.float64)), rtol=1e-6)
    assert run("Erf", np.float32(0.5).reshape(())) == pytest.approx(math.erf(0.5))
