import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.errors import NodeError
from sardonyx.ir.dtypes import to_onnx
from sardonyx_ep_cpu.kernels import kernels

RANGES = {
    np.uint8: (0, 255),
    np.int8: (-128, 127),
    np.uint16: (0, 65535),
    np.int16: (-32768, 32767),
    ml_dtypes.uint4: (0, 15),
    ml_dtypes.int4: (-8, 7),
    ml_dtypes.uint2: (0, 3),
    ml_dtypes.int2: (-2, 1),
}


def run(op, *inputs, since=28, **attributes):
    kernel = kernels.find("", op, since)
    if "prepared" in kernel.filled:
        attributes["prepared"] = None
    with np.errstate(all="ignore"):
        return kernel.function(np, *inputs, **attributes)


def f32(*values):
    return np.array(values, np.float32)


@pytest.mark.parametrize("dtype", RANGES, ids=lambda d: d.__name__)
def test_quantize_rounds_to_even_then_shifts_and_saturates(dtype):
    low, high = RANGES[dtype]
    y = run("QuantizeLinear", f32(1, 3, -1, 1e9, -1e9, np.inf, -np.inf), np.float32(2).reshape(()), np.array(1, dtype))
    assert y.dtype == dtype
    expected = [min(max(v, low), high) for v in (1, 3, 1)] + [high, low, high, low]
    assert y.astype(np.int64).tolist() == expected
    back = run("DequantizeLinear", y, np.array(2, np.float32), np.array(1, dtype))
    assert back.tolist() == [2 * (v - 1) for v in expected]


@given(st.floats(-1e6, 1e6, width=32), st.floats(2.0**-10, 1e3, width=32), st.integers(0, 255))
def test_quantize_divides_by_the_scale(x, scale, zero):
    exact = np.rint(np.float32(x) / np.float32(scale)) + zero
    got = run("QuantizeLinear", f32(x), np.array(scale, np.float32), np.array(zero, np.uint8))
    assert got[0] == np.clip(exact, 0, 255)


def test_quantize_divides_in_the_precision_of_the_scale():
    x, scale = np.float16([99.4375]), np.array(0.9995, np.float16)
    assert run("QuantizeLinear", x, scale, np.array(0, np.uint8)).tolist() == [np.rint(x[0] / scale)]
    assert run("QuantizeLinear", x, scale.astype(np.float32), np.array(0, np.uint8)).tolist() == [99]
    got = run("QuantizeLinear", f32(2.5 + 2**-12), np.array(1, np.float32), np.array(0, np.uint8), precision=to_onnx(np.float16))
    assert got.tolist() == [2]


def test_granularity():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    scale, zero = f32(1, 2, 4), np.uint8([0, 1, 2])
    per_axis = run("QuantizeLinear", x, scale, zero, axis=-2)
    np.testing.assert_array_equal(per_axis, np.rint(x / scale[:, None]) + zero[:, None])
    blocks = np.arange(1, 13, dtype=np.float32).reshape(2, 3, 2)
    for size, length in ((2, 4), (3, 4)):
        wide = np.repeat(blocks, size, axis=2)[..., :length]
        blocked = run("QuantizeLinear", x, blocks, blocks.astype(np.uint8), axis=2, block_size=size)
        np.testing.assert_array_equal(blocked, np.rint(x / wide) + wide)
        back = run("DequantizeLinear", blocked, blocks, blocks.astype(np.uint8), axis=2, block_size=size)
        np.testing.assert_array_equal(back, (blocked - wide) * wide)


@pytest.mark.parametrize(
    ("scale", "zero", "attributes"),
    [
        (f32(1, 2), None, {"axis": 1}),
        (f32(1, 2, 3), np.uint8([1, 2]), {"axis": 1}),
        (f32(1, 2, 3), None, {"axis": 3}),
        (np.ones((2, 2, 4), np.float32), None, {"axis": 1, "block_size": 1}),
        (np.ones((2, 3, 4), np.float32), None, {"axis": 1}),
    ],
)
def test_what_does_not_fit_is_refused(scale, zero, attributes):
    with pytest.raises(NodeError):
        run("QuantizeLinear", np.zeros((2, 3, 4), np.float32), scale, zero, **attributes)


def test_output_dtype():
    x, one = f32(3, -3), np.array(1, np.float32)
    assert run("QuantizeLinear", x, one).dtype == np.uint8
    assert run("QuantizeLinear", x, one, output_dtype=to_onnx(np.int16)).tolist() == [3, -3]
    with pytest.raises(NodeError, match="output_dtype"):
        run("QuantizeLinear", x, one, np.array(0, np.int8), output_dtype=to_onnx(np.int16))
    got = run("DequantizeLinear", np.int8([3]), one, output_dtype=to_onnx(ml_dtypes.bfloat16))
    assert got.dtype == ml_dtypes.bfloat16


def test_float8_and_float4():
    x, one = f32(1000, 1.1, -0.3), np.array(1, np.float32)
    zero = np.array(0, ml_dtypes.float8_e4m3fn)
    assert run("QuantizeLinear", x, one, zero).astype(np.float32).tolist() == [448, 1.125, -0.3125]
    assert np.isnan(run("QuantizeLinear", x, one, zero, saturate=0).astype(np.float32)[0])
    assert run("QuantizeLinear", x, one, np.array(0, ml_dtypes.float4_e2m1fn)).astype(np.float32).tolist() == [6, 1, -0.5]
    scale = np.array(4, ml_dtypes.float8_e8m0fnu)
    assert run("QuantizeLinear", x, scale, np.array(0, np.int8)).tolist() == [127, 0, 0]
    assert run("DequantizeLinear", np.int8([3]), scale, output_dtype=1).tolist() == [12]


def test_other_inputs():
    one = np.array(1, np.float32)
    assert run("QuantizeLinear", np.int32([2**24 + 1, -5]), one, np.array(0, np.int8), since=10).tolist() == [127, -5]
    assert run("QuantizeLinear", np.array(2.5, np.float32), one).shape == ()
    assert run("QuantizeLinear", np.zeros((0, 3), np.float32), one).shape == (0, 3)
    assert run("DequantizeLinear", np.int32([2**31 - 1]), np.array(0.5, np.float32)).tolist() == [2.0**30]
    long = np.linspace(-300, 300, 40_001, dtype=np.float32)
    np.testing.assert_array_equal(run("QuantizeLinear", long, one, np.array(0, np.int8)), np.clip(np.rint(long), -128, 127))


def test_dequantize_of_constants_is_done_once():
    kernel = kernels.find("", "DequantizeLinear", 25)
    inputs = [np.int8([[1, 2], [3, 4]]), f32(1, 10), np.int8([0, 1])]
    prepared = kernel.prepare(np, inputs, {"axis": 0})
    assert kernel.function(np, *inputs, axis=0, prepared=prepared).tolist() == [[1, 2], [20, 30]]
    assert not prepared.flags.writeable
    assert kernel.prepare(np, [inputs[0], inputs[1], None], {"axis": 0}) is None


@pytest.mark.parametrize(
    ("x", "scale", "zero"),
    [
        (f32(-1, -2.1, -1.3, -2.5, -3.34, -4), 4 / 255, 255),
        (f32(1, 2.1, 1.3, 2.5, 3.34, 4), 4 / 255, 0),
        (f32(0, 0), 1, 0),
        (f32(), 1, 0),
        (f32(-1, 3), 4 / 255, 64),
    ],
)
def test_dynamic_quantize(x, scale, zero):
    y, y_scale, y_zero = run("DynamicQuantizeLinear", x)
    assert (y.dtype, y_scale.dtype, y_zero.dtype) == (np.uint8, np.float32, np.uint8)
    assert y_scale.shape == y_zero.shape == ()
    assert y_scale == np.float32(scale)
    assert y_zero == zero
    np.testing.assert_array_equal(y, np.clip(np.rint(x / y_scale) + zero, 0, 255))
