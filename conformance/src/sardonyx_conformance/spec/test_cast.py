"""Cast: one rule for all providers where the specification leaves a choice."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from sardonyx.ir.dtypes import to_onnx

NAN, INF = float("nan"), float("inf")


def test_float_to_int8_out_of_range(run_op: Any) -> None:
    """Cut toward zero, then the low bits; NaN and infinities are 0."""
    y = run_op("Cast", np.array([300, NAN, INF, -INF, 50, -50, -1.9, 127.9], np.float32), to=TensorProto.INT8)
    assert y.tolist() == [44, 0, 0, 0, 50, -50, -1, 127]


@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("wanted", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_float_to_integer(run_op: Any, source: Any, wanted: Any) -> None:
    """In range the value is cut toward zero; nothing that is not finite makes anything but 0."""
    x = np.array([0, 1.9, 100.5, NAN, INF, -INF], source)
    assert run_op("Cast", x, to=to_onnx(wanted)).tolist() == [0, 1, 100, 0, 0, 0]


@pytest.mark.parametrize(
    ("to", "x", "want"),
    [
        (TensorProto.INT4, [2.5, 3.5, -2.5, -0.5, 7, -8], [2, 4, -2, 0, 7, -8]),
        (TensorProto.UINT4, [2.5, 3.5, 0.5, 1.5, 15], [2, 4, 0, 2, 15]),
        (TensorProto.INT2, [0.5, 1.4, -1.5, -2], [0, 1, -2, -2]),
        (TensorProto.UINT2, [0.5, 1.5, 2.5, 3], [0, 2, 2, 3]),
    ],
)
def test_float_to_small_integers(run_op: Any, to: int, x: list[float], want: list[int]) -> None:
    """Rounded to nearest, ties to even."""
    assert run_op("Cast", np.array(x, np.float32), to=to).astype(np.int32).tolist() == want


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
@pytest.mark.parametrize("n", [0, 1, 3, 4])
def test_int4_both_ways(run_op: Any, dtype: Any, n: int) -> None:
    """Any number of elements, none and odd ones included."""
    x = np.arange(n).astype(dtype)
    assert run_op("Cast", x, to=TensorProto.FLOAT).tolist() == list(range(n))
    assert run_op("Cast", np.arange(n, dtype=np.int64), to=to_onnx(dtype)).dtype == np.dtype(dtype)


@pytest.mark.parametrize(("dtype", "low"), [(ml_dtypes.int4, -8), (ml_dtypes.int2, -2)])
def test_small_integers_keep_low_bits(run_op: Any, dtype: Any, low: int) -> None:
    """Between integers the low bits stay, as everywhere."""
    x = np.array([low, -1, 0, -low], np.int32)
    assert run_op("Cast", x, to=to_onnx(dtype)).astype(np.int32).tolist() == [low, -1, 0, low]


def test_integers_keep_low_bits(run_op: Any) -> None:
    """Two's complement."""
    assert run_op("Cast", np.array([256 + 7, -1, 2**40 + 3]), to=TensorProto.UINT8).tolist() == [7, 255, 3]
    assert run_op("Cast", np.array([2**64 - 1], np.uint64), to=TensorProto.INT64).tolist() == [-1]


def test_bool(run_op: Any) -> None:
    """Everything but 0 is true, NaN and tiny numbers too."""
    assert run_op("Cast", np.array([0, -0.0, NAN, 1e-40, 0.3], np.float32), to=TensorProto.BOOL).tolist() == [
        False,
        False,
        True,
        True,
        True,
    ]
    assert run_op("Cast", np.array([True, False]), to=TensorProto.FLOAT).tolist() == [1, 0]


def test_strings(run_op: Any) -> None:
    """Numbers read from text, also exponents and the names of NaN and infinity; integers print without a point."""
    x = np.array(["3.5", "1e-3", "NaN", "INF", "-INF", "-0"], object)
    np.testing.assert_array_equal(run_op("Cast", x, to=TensorProto.FLOAT), np.array([3.5, 1e-3, NAN, INF, -INF, 0], np.float32))
    assert run_op("Cast", np.array([1, -20]), to=TensorProto.STRING).tolist() == ["1", "-20"]
    run_op.fails("Cast", np.array(["pear"], object), to=TensorProto.FLOAT)


@pytest.mark.parametrize(
    ("dtype", "big"),
    [(ml_dtypes.float8_e4m3fn, 448), (ml_dtypes.float8_e5m2, 57344), (ml_dtypes.float8_e4m3fnuz, 240), (ml_dtypes.float8_e5m2fnuz, 57344)],
)
def test_float8_saturation(run_op: Any, dtype: Any, big: float) -> None:
    """saturate=1 stops at the largest number, saturate=0 gives NaN or infinity."""
    x = np.array([1e6, -1e6, big, 1], np.float32)
    assert run_op("Cast", x, to=to_onnx(dtype), saturate=1).astype(np.float32).tolist() == [big, -big, big, 1]
    loose = run_op("Cast", x, to=to_onnx(dtype), saturate=0).astype(np.float32)
    assert not np.isfinite(loose[:2]).any()
    assert loose[2:].tolist() == [big, 1]


def test_bfloat16_rounds_to_even(run_op: Any) -> None:
    """A single rounding, ties to even, from float32 and float64."""
    x = np.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-30], np.float64)
    want = [1, 1 + 2**-6, 1 + 2**-7]
    assert run_op("Cast", x, to=TensorProto.BFLOAT16).astype(np.float64).tolist() == want
