import math

import ml_dtypes
import numpy as np
import pytest

from sardonyx.ep.shape_kernels.arithmetic import clip, div, max_, min_, mod, pow_, round_, sign

BF16 = ml_dtypes.bfloat16
INT_MIN = -(2**31)


def i32(*values):
    return np.array(values, np.int32)


def f32(*values):
    return np.array(values, np.float32)


def test_integer_division_cuts_toward_zero():
    with np.errstate(all="ignore"):
        got = div(np, i32(7, -7, 7, -7, 6, -6, INT_MIN, 5, -1), i32(2, 2, -2, -2, -3, 3, -1, 0, 2))
    assert got.dtype == np.int32
    assert got.tolist() == [3, -3, -3, 3, -2, -2, INT_MIN, 0, 0]
    assert div(np, np.uint8([255, 7]), np.uint8([2, 8])).tolist() == [127, 0]
    assert div(np, i32(-7), np.array(2, np.int32)).tolist() == [-3]


def test_float_division():
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(div(np, f32(1, -1, 0), f32(0, 0, 0)), f32(np.inf, -np.inf, np.nan))
    assert div(np, np.array([1], BF16), np.array([3], BF16)).dtype == BF16


def test_integer_mod_has_the_sign_of_the_divisor():
    with np.errstate(all="ignore"):
        got = mod(np, i32(-4, 7, 5, 4, -7, 8, INT_MIN, 18542495, 2147483647), i32(2, -3, 8, -2, 3, 5, -1, 32, 32))
    assert got.tolist() == [0, -2, 5, 0, 2, 3, 0, 31, 31]
    assert mod(np, i32(-7, 7), i32(3, -3), fmod=1).tolist() == [-1, 1]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, BF16], ids=str)
def test_float_mod(dtype):
    x = np.array([-4.5, 4.5, 0.0, np.inf, 1, 1, -1, np.nan]).astype(dtype)
    y = np.array([2, -2, -3, 2, 0, -np.inf, np.inf, 1]).astype(dtype)
    with np.errstate(all="ignore"):
        floor, trunc = mod(np, x, y), mod(np, x, y, fmod=1)
    assert floor.dtype == trunc.dtype == dtype
    np.testing.assert_array_equal(floor.astype(np.float64), [1.5, -1.5, -0.0, np.nan, np.nan, -np.inf, np.inf, np.nan])
    assert np.signbit(floor[2])
    np.testing.assert_array_equal(trunc.astype(np.float64), [-0.5, 0.5, 0, np.nan, np.nan, 1, -1, np.nan])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, BF16], ids=str)
def test_min_and_max_propagate_nan(dtype):
    x, y = np.array([[np.nan], [1]], dtype), np.array([10], dtype)
    np.testing.assert_array_equal(min_(np, x, y).astype(np.float32), [[np.nan], [1]])
    np.testing.assert_array_equal(max_(np, y, x, x).astype(np.float32), [[np.nan], [10]])
    assert min_(np, x) is x


def test_pow_of_integers():
    base, exponent = i32(2, 1, -1, -1, 0, 3, -2), i32(-1, -1, -3, -2, 0, 4, 31)
    assert pow_(np, base, exponent).tolist() == [0, 1, -1, 1, 1, 81, INT_MIN]
    assert pow_(np, i32(-1, 3), np.uint64([2**63 + 1, 2])).tolist() == [-1, 9]
    assert pow_(np, i32(2, 3, 4), f32(0.5, 2.5, -1)).tolist() == [1, 15, 0]
    assert pow_(np, i32(5), np.array(2, np.int64)).dtype == np.int32


@pytest.mark.parametrize("dtype", [np.float16, BF16, np.float32, np.float64])
@pytest.mark.parametrize("exponent", [0.5, [0.5], [[0.5], [2]], [0.5, 2, 0.5, 0.5, 1]])
def test_pow_of_a_half_is_not_the_square_root(dtype, exponent):
    """pow(-inf, 0.5) = inf and pow(-0.0, 0.5) = 0.0 (C23 F.10.4.5)."""
    base, exponent = np.array([-np.inf, -0.0, 0.0, 4.0, np.nan], dtype), np.array(exponent, dtype)
    right = [math.pow(b, e) for b, e in np.broadcast(base.astype(float), exponent.astype(float))]
    with np.errstate(invalid="ignore"):
        result = pow_(np, base, exponent).astype(np.float64).reshape(-1)
    np.testing.assert_array_equal(result, right)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(right))


def test_pow_of_floats():
    assert pow_(np, f32(2, 3), np.array(2, np.int64)).tolist() == [4, 9]
    assert pow_(np, f32(-2), np.array([3], np.float32)).tolist() == [-8]
    assert pow_(np, f32(-1), np.array([2**24 + 1], np.int32)).tolist() == [-1]
    assert pow_(np, np.array(2, np.float32), np.full((1, 1), 2, np.float32)).shape == (1, 1)
    mixed = pow_(np, np.array([2], np.float16), np.array([0.5], np.float64))
    assert mixed.dtype == np.float16
    assert mixed[0] == np.float16(2**0.5)
    assert pow_(np, np.array([2], BF16), np.array([3], np.float16)).tolist() == [8]


def test_clip():
    x = f32(np.nan, np.inf, -np.inf, 1)
    np.testing.assert_array_equal(clip(np, x, None, np.array(3, np.float32)), f32(np.nan, 3, np.finfo(np.float32).min, 1))
    np.testing.assert_array_equal(clip(np, f32(0, 5, 9), np.float32([6]), np.array(2, np.float32)), f32(2, 2, 2))
    assert clip(np, np.int64([-5, 2**62]), np.array(0, np.int64)).tolist() == [0, 2**62]
    assert clip(np, np.array(7, np.uint8), None, np.array([3], np.uint8)).shape == ()
    assert clip(np, np.array([-3, 3], BF16), np.array(-1, BF16), None).tolist() == [-1, 3]


def test_round_ties_to_even_and_sign_keeps_nan():
    assert round_(np, f32(0.5, 1.5, 2.5, -4.5, 2.3)).tolist() == [0, 2, 2, -4, 2]
    np.testing.assert_array_equal(sign(np, f32(np.nan, -3, 0)), f32(np.nan, -1, 0))
