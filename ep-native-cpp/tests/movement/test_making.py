import itertools

import ml_dtypes
import numpy as np
import pytest
from onnx import helper

from sardonyx.errors import SardonyxError


def i64(*values):
    return np.array(values, np.int64)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad(run, dtype, mode, numbers):
    x = numbers((3, 4, 5), dtype)
    for pads in [
        (0, 0, 0, 0, 0, 0),
        (1, 2, 3, 2, 1, 4),
        (0, 0, 2, 0, 0, 0),
        (0, 1, 0, 0, 3, 0),
        (-1, 2, -2, 1, -1, 2),
        (1, 0, 0, -1, 0, 0),
    ]:
        run.same("Pad", x, i64(*pads), np.array(7, dtype) if mode == "constant" else None, mode=mode)
    run.same("Pad", x, i64(2, 1, 1, 2), None, i64(-1, 0), mode=mode)


def test_pad_may_crop_all_and_more(run, numbers):
    x = numbers((4,))
    for pads in [(-4, 0), (-5, 3), (2, -6), (-2, -2), (-9, 9)]:
        run.same("Pad", x, i64(*pads), np.float32(3).reshape(()))
    with pytest.raises(SardonyxError):
        run("Pad", x, i64(-3, -3))


@pytest.mark.parametrize("pads", [(4, 0), (0, 5), (-3, 2)])
def test_reflect_needs_more_elements(run, pads, numbers):
    with pytest.raises(SardonyxError, match="reflect"):
        run("Pad", numbers((4,)), i64(*pads), mode="reflect")


def test_center_crop_pad(run, dtype, numbers):
    x = numbers((5, 6, 3), dtype)
    for shape in [(3, 9, 3), (8, 3, 2), (5, 6, 8), (1, 1, 1)]:
        run.same("CenterCropPad", x, i64(*shape))
    run.same("CenterCropPad", x, i64(9, 2), axes=[-1, 0])


def test_range(run):
    for dtype in (np.int16, np.int32, np.int64):
        for start, limit, delta in [(0, 5, 1), (5, 0, -2), (3, 3, 1), (-7, 20, 6), (10, 0, 1), (0, 3000, 2)]:
            run.same("Range", *(np.array(v, dtype) for v in (start, limit, delta)))
    for start, limit, delta in [(0, 1, 0.1), (5, -2, -0.3), (1, 1, 1), (0, 1e3, 0.25)]:
        run.same("Range", *(np.array(v, np.float32) for v in (start, limit, delta)))
        run.same("Range", *(np.array(v, np.float64) for v in (start, limit, delta)))
    for half in (np.float16, ml_dtypes.bfloat16):
        run.same("Range", *(np.array(v, half) for v in (0, 4, 0.25)), opset=27)
    with pytest.raises(SardonyxError, match="delta 0"):
        run("Range", *(np.array(v) for v in (0, 5, 0)))


def test_constant_of_shape(run, dtype):
    for shape in [(2, 3), (0, 4), (), (1500,)]:
        run.same("ConstantOfShape", i64(*shape), value=np.array([1], dtype))
    run.same("ConstantOfShape", i64(2, 2))
    with pytest.raises(SardonyxError, match="negative"):
        run("ConstantOfShape", i64(2, -1))


def test_eye_like(run, dtype, numbers):
    for shape, k in itertools.product([(3, 5), (5, 3), (4, 4), (0, 2)], [0, 1, -2, 9, -9]):
        run.same("EyeLike", numbers(shape, dtype), k=k)
    run.same("EyeLike", numbers((2, 3), dtype), dtype=helper.np_dtype_to_tensor_dtype(np.dtype(np.int8)))


@pytest.mark.parametrize("upper", [0, 1])
def test_trilu(run, dtype, upper, numbers):
    for shape, k in itertools.product([(3, 5), (2, 5, 3), (1, 1), (2, 0, 3)], [None, 0, 1, -2, 6, -6, 2**62, -(2**62)]):
        run.same("Trilu", numbers(shape, dtype, 1), None if k is None else np.array(k, np.int64), upper=upper)


def test_dropout_outside_training(run, numbers):
    x = numbers((3, 4))
    y, mask = run("Dropout", x, outputs=2)
    np.testing.assert_array_equal(y, x)
    assert mask.dtype == bool
    assert mask.all()


def test_bit_cast(run):
    x = np.array([[1.0, -2.5]], np.float32)
    got = run("BitCast", x, opset=26, to=helper.np_dtype_to_tensor_dtype(np.dtype(np.int32)))
    np.testing.assert_array_equal(got, x.view(np.int32))


def test_col2im(run, numbers):
    for attrs in [{}, {"pads": [1, 0, 1, 2]}, {"strides": [2, 1]}, {"dilations": [1, 2], "pads": [0, 1, 0, 1]}]:
        (sh, sw), (dh, dw), (p0, p1, p2, p3) = attrs.get("strides", (1, 1)), attrs.get("dilations", (1, 1)), attrs.get("pads", (0, 0, 0, 0))
        count = ((7 + p0 + p2 - dh - 1) // sh + 1) * ((6 + p1 + p3 - 2 * dw - 1) // sw + 1)
        run.same("Col2Im", numbers((2, 18, count)), i64(7, 6), i64(2, 3), **attrs)
    run.same("Col2Im", numbers((1, 3, 4), np.int32), i64(6), i64(3))
