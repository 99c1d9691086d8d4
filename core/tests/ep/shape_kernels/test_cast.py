import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.ep.shape_kernels.cast import bit_cast, cast_1, cast_6, cast_19, cast_24, cast_like_15, convert
from sardonyx.errors import NodeError
from sardonyx.ir.dtypes import FROM_ONNX, to_onnx

REAL = [d for d in FROM_ONNX.values() if d.kind != "c"]
OUT_OF_RANGE = np.array([300, np.nan, np.inf, -np.inf, 50, -50], np.float32)


def cast(values, dtype, source=np.float32):
    result = convert(np, np.array(values, source), np.dtype(dtype))
    assert result.dtype == dtype
    return result.tolist() if np.dtype(dtype).isbuiltin == 1 else result.astype(np.float64).tolist()


@pytest.mark.parametrize("source", REAL, ids=str)
def test_every_pair_of_dtypes(source):
    x = convert(np, np.ones((2, 3)), source)
    for target in REAL:
        y = convert(np, x, target)
        assert y.dtype == target
        np.testing.assert_array_equal(y if target.kind == "O" else y.astype(np.float64), np.full((2, 3), "1" if target.kind == "O" else 1))
        assert convert(np, x[:, :0], target).shape == (2, 0)
        assert convert(np, x[0, 1:2].reshape(()), target).shape == ()
        assert convert(np, x[:, ::2], target).shape == (2, 2)


def test_float_to_integer_keeps_low_bits_and_maps_nonfinite_to_zero():
    assert cast(OUT_OF_RANGE, np.int8) == [44, 0, 0, 0, 50, -50]
    assert cast(OUT_OF_RANGE, np.uint8) == [44, 0, 0, 0, 50, 206]
    assert cast(OUT_OF_RANGE, np.int64) == [300, 0, 0, 0, 50, -50]
    assert cast([2.0**31, -(2.0**31), 2.0**40, 1e30], np.int32, np.float64) == [-(2**31), -(2**31), 0, 0]
    assert cast([2.0**63, 1.5 * 2.0**63, -1, 1e30], np.uint64, np.float64) == [2**63, 3 * 2**62, 2**64 - 1, 0]
    assert cast([2.9, -2.9, 0.5], np.int32) == [2, -2, 0]
    assert cast([65504, -1], np.uint16, np.float16) == [65504, 65535]


def test_float_to_sub_byte_integer_rounds_to_even_then_keeps_low_bits():
    assert cast([2.5, 3.5, -2.5, 7.6, 9, -9], ml_dtypes.int4) == [2, 4, -2, -8, -7, 7]
    assert cast([2.5, 15.5, -1], ml_dtypes.uint4) == [2, 0, 15]
    assert cast([0.5, 1.5, 3], ml_dtypes.int2) == [0, -2, -1]


def test_integer_to_integer_wraps():
    assert cast([200, -129], np.int8, np.int16) == [-56, 127]
    assert cast([-1, 300], ml_dtypes.uint4, np.int64) == [15, 12]
    assert cast([-8, 7], np.uint64, ml_dtypes.int4) == [2**64 - 8, 7]


def test_bool():
    assert cast([0.0, -0.0, 0.1, np.nan], np.bool_) == [False, False, True, True]
    assert cast([1e-7, 0], np.bool_, ml_dtypes.bfloat16) == [True, False]
    assert cast([True, False], ml_dtypes.float8_e5m2, np.bool_) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("dtype", "saturated", "plain"),
    [
        (ml_dtypes.float8_e4m3fn, [448, 448, -448], [np.nan, np.nan, np.nan]),
        (ml_dtypes.float8_e4m3fnuz, [240, 240, -240], [np.nan, np.nan, np.nan]),
        (ml_dtypes.float8_e5m2, [57344, 57344, -57344], [np.inf, np.inf, -np.inf]),
        (ml_dtypes.float8_e5m2fnuz, [57344, 57344, -57344], [np.nan, np.nan, np.nan]),
    ],
)
@pytest.mark.parametrize("source", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16], ids=str)
def test_float8_saturation(dtype, saturated, plain, source):
    x = np.array([1e6, np.inf, -np.inf]).astype(source)
    code = to_onnx(dtype)
    np.testing.assert_array_equal(cast_19(np, x, to=code).astype(np.float32), saturated)
    np.testing.assert_array_equal(cast_19(np, x, to=code, saturate=0).astype(np.float32), plain)
    assert np.isnan(cast_19(np, np.array([np.nan], source), to=code).astype(np.float32)).all()


def test_float64_is_rounded_once():
    assert cast([1 + 2**-8 + 2**-30, 1 + 2**-8, 1 + 2**-8 - 2**-40], ml_dtypes.bfloat16, np.float64) == [1 + 2**-7, 1, 1]
    assert cast([-1 - 2**-4 - 2**-30], ml_dtypes.float8_e4m3fn, np.float64) == [-1.125]
    assert cast([2**24 + 2**16 + 1], ml_dtypes.bfloat16, np.int64) == [2**24 + 2**17]
    assert cast([1e300, -1e300, 1e-300], ml_dtypes.bfloat16, np.float64) == [np.inf, -np.inf, 0]


@given(st.floats(-448, 448, width=32))
def test_float8_is_the_nearest(value):
    table = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    got = cast([value], ml_dtypes.float8_e4m3fn)[0]
    assert abs(got - value) == np.nanmin(np.abs(table - value))


def test_float8e8m0():
    x = np.array([0, 0.124, 1.1, 1.5, 1.75, np.inf, np.nan, 2.0**-130, -1], np.float64)
    code = to_onnx(ml_dtypes.float8_e8m0fnu)
    least, most, nan = 2.0**-127, 2.0**127, np.nan

    def run(**attributes):
        return cast_24(np, x, to=code, **attributes).astype(np.float64)

    np.testing.assert_array_equal(run(), [least, 0.125, 2, 2, 2, most, nan, least, nan])
    np.testing.assert_array_equal(run(round_mode="down"), [least, 0.0625, 1, 1, 1, most, nan, least, nan])
    np.testing.assert_array_equal(run(saturate=0, round_mode="nearest"), [nan, 0.125, 1, 2, 2, nan, nan, nan, nan])
    with pytest.raises(NodeError, match="round_mode"):
        run(round_mode="sideways")


def test_float4_and_float6_saturate():
    assert cast([0.25, 0.75, 5.0, 9, -np.inf], ml_dtypes.float4_e2m1fn) == [0, 1, 4, 6, -6]
    assert cast([100, -100, 0.0625], ml_dtypes.float6_e2m3fn) == [7.5, -7.5, 0]


def test_to_string():
    x = np.array([0.1, 3, 1e-7, np.nan, np.inf, -np.inf, 314.15926], np.float32)
    assert convert(np, x, np.dtype(object)).tolist() == ["0.1", "3", "1e-07", "NaN", "INF", "-INF", "314.15927"]
    assert convert(np, np.array(1 / 3), np.dtype(object)).tolist() == "0.3333333333333333"
    assert convert(np, np.array([True, False]), np.dtype(object)).tolist() == ["1", "0"]
    assert convert(np, np.array([-7], ml_dtypes.int4), np.dtype(object)).tolist() == ["-7"]


@pytest.mark.parametrize(
    ("dtype", "values", "texts"),
    [
        (np.float16, [60000, 65504, -2048], ["60000", "65504", "-2048"]),
        (ml_dtypes.bfloat16, [59904, 1048576], ["59904", "1048576"]),
        (
            np.float32,
            [1e6, 123456792, 1234567.5, 0.0, -0.0, 1e20, 0.00012],
            ["1000000", "123456792", "1234567.5", "0", "-0", "1e+20", "0.00012"],
        ),
        (np.float64, [1e6, 1e15, 1e16, 0.1], ["1000000", "1000000000000000", "1e+16", "0.1"]),
    ],
)
def test_to_string_without_exponent(dtype, values, texts):
    assert convert(np, np.array(values, dtype), np.dtype(object)).tolist() == texts


def test_from_string():
    x = np.array(["3.14", "1e-5", "+INF", "inf", "-Inf", "nAn", "1000"], object)
    np.testing.assert_array_equal(convert(np, x, np.dtype("f4")), np.float32([3.14, 1e-5, np.inf, np.inf, -np.inf, np.nan, 1000]))
    integers = np.array(["9223372036854775807", "-1", "100.5"], object)
    assert convert(np, integers, np.dtype("i8")).tolist() == [2**63 - 1, -1, 100]
    assert convert(np, np.array(["0", "1"], object), np.dtype("?")).tolist() == [False, True]
    for bad in ("Hello World!", "", "1_0"):
        for dtype in ("f4", "i4", "?"):
            with pytest.raises(ValueError, match="is not a number"):
                convert(np, np.array([bad], object), np.dtype(dtype))


def test_versions():
    x = np.array([1.5], np.float32)
    assert cast_1(np, x, to="INT64").dtype == np.int64
    assert cast_6(np, x, to=10).dtype == np.float16
    assert cast_like_15(np, x, np.array([], np.bool_)).dtype == np.bool_
    assert cast_6(np, x, to=1) is x
    with pytest.raises(NodeError, match="to=99"):
        cast_6(np, x, to=99)


def test_bit_cast():
    x = np.array([-1, 0, 1065353216], np.int32)
    assert bit_cast(np, x, to=1)[2] == 1.0
    assert bit_cast(np, bit_cast(np, x, to=1), to=6).tolist() == x.tolist()
    nibbles = bit_cast(np, np.array([-8, -1, 7], ml_dtypes.int4), to=21)
    assert nibbles.astype(np.int32).tolist() == [8, 15, 7]
    assert (nibbles + np.array([0, 1, 0], ml_dtypes.uint4)).astype(np.int32).tolist() == [8, 0, 7]
    assert bit_cast(np, np.array(2, np.uint8), to=9).tolist() is True
    with pytest.raises(NodeError, match="width"):
        bit_cast(np, x, to=7)
