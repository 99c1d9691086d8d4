import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels


def run(op, since, *inputs, **attributes):
    return kernels.find("", op, since).function(np, *inputs, **attributes)


def resize(x, scales=None, sizes=None, roi=None, **attributes):
    scales = None if scales is None else np.array(scales, np.float32)
    sizes = None if sizes is None else np.array(sizes, np.int64)
    return run("Resize", 19, x, None if roi is None else np.array(roi, np.float32), scales, sizes, **attributes)


ROWS = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)
SQUARE = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)


def test_nearest_repeats():
    for dtype in (np.float32, np.uint8, np.bool_, ml_dtypes.bfloat16, np.complex64, np.int64):
        x = np.array([[[[1, 0], [0, 1]]]]).astype(dtype)
        y = resize(x, scales=[1, 1, 2, 3])
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, x.repeat(2, axis=2).repeat(3, axis=3))


def test_nearest_of_strings():
    x = np.array([["a", "b"]], object)
    assert resize(x, sizes=[2, 4]).tolist() == [["a", "a", "b", "b"]] * 2
    with pytest.raises(NodeError, match="strings"):
        resize(x, sizes=[2, 4], mode="linear")


@pytest.mark.parametrize(
    ("attributes", "scales", "expected"),
    [
        ({"mode": "linear"}, [1, 1, 0.6, 0.6], [[2.6666665, 4.3333331]]),
        ({"mode": "linear", "coordinate_transformation_mode": "align_corners"}, [1, 1, 0.6, 0.6], [[1.0, 3.142857]]),
        ({"mode": "nearest"}, [1, 1, 0.6, 0.6], [[1, 3]]),
        ({"mode": "linear", "coordinate_transformation_mode": "asymmetric"}, [1, 1, 1, 0.6], [[1, 2.6666667], [5, 6.6666667]]),
    ],
)
def test_shrinking_by_scales(attributes, scales, expected):
    np.testing.assert_allclose(resize(ROWS, scales=scales, **attributes)[0, 0], expected, rtol=1e-6)


def test_antialias():
    y = resize(SQUARE, scales=[1, 1, 0.6, 0.6], mode="linear", antialias=1)
    np.testing.assert_allclose(y[0, 0], [[2.875, 4.5], [9.375, 11]], rtol=1e-6)
    y = resize(SQUARE, scales=[1, 1, 0.6, 0.6], mode="cubic", antialias=1)
    np.testing.assert_allclose(y[0, 0], [[2.51807, 4.285886], [9.589331, 11.357148]], rtol=1e-5)
    np.testing.assert_array_equal(
        resize(SQUARE, scales=[1, 1, 2, 2], mode="linear", antialias=1), resize(SQUARE, scales=[1, 1, 2, 2], mode="linear")
    )


def test_crop_and_extrapolation():
    y = resize(
        SQUARE,
        sizes=[1, 1, 3, 3],
        roi=[0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7],
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=10.0,
    )
    assert y[0, 0, :, 1:].tolist() == [[10, 10]] * 3
    np.testing.assert_allclose(y[0, 0, :, 0], [7.6, 12.4, 10], rtol=1e-6)


def test_axes_are_all_that_changes():
    x = np.random.default_rng(0).standard_normal((2, 5, 3, 4)).astype(np.float32)
    y = resize(x, sizes=[7, 6], axes=[3, 1], mode="linear")
    assert y.shape == (2, 6, 3, 7)
    np.testing.assert_allclose(y, resize(x, sizes=[2, 6, 3, 7], mode="linear"), rtol=1e-6)


def test_cubic_reproduces_a_line_inside():
    x = np.arange(10, dtype=np.float64)
    y = resize(x, scales=[2], mode="cubic", cubic_coeff_a=-0.5)
    np.testing.assert_allclose(y[4:-4], ((np.arange(20) + 0.5) / 2 - 0.5)[4:-4], rtol=1e-12)


def test_integers_are_rounded_and_clipped():
    x = np.array([0, 255, 0], np.uint8)
    y = resize(x, scales=[2], mode="cubic")
    assert y.dtype == np.uint8
    exact = resize(x.astype(np.float64), scales=[2], mode="cubic")
    assert exact.min() < 0
    assert exact.max() <= 255
    np.testing.assert_array_equal(y, np.clip(np.rint(exact), 0, 255))


def test_half_precision():
    x = np.random.default_rng(1).standard_normal((1, 1, 5, 5)).astype(np.float32)
    for dtype, tolerance in ((np.float16, 2e-3), (ml_dtypes.bfloat16, 2e-2)):
        y = resize(x.astype(dtype), scales=[1, 1, 1.5, 2], mode="cubic")
        assert y.dtype == dtype
        np.testing.assert_allclose(y.astype(np.float32), resize(x, scales=[1, 1, 1.5, 2], mode="cubic"), rtol=tolerance, atol=tolerance)


def test_nan_and_infinity_stay_where_they_are():
    x = np.array([np.nan, 1, 2, 3, np.inf], np.float32)
    y = resize(x, scales=[2], mode="linear", coordinate_transformation_mode="asymmetric")
    assert np.isnan(y).tolist() == [True, True] + [False] * 8
    assert np.isinf(y).tolist() == [False] * 7 + [True] * 3


def test_nothing_to_do_and_nothing_there():
    assert resize(SQUARE, scales=[1, 1, 1, 1], mode="cubic") is SQUARE
    assert resize(np.ones((0, 2), np.float32), sizes=[0, 4], mode="linear").shape == (0, 4)


def test_a_scale_that_leaves_nothing():
    assert resize(np.ones((1, 4), np.float32), scales=[1, 0.1]).shape == (1, 0)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"scales": [1, 1, 2]}, {"sizes": [1, 1, 2, 2], "scales": [1, 1, 1, 1]}, {"scales": [1, 1, 2, 2], "mode": "area"}],
)
def test_bad_arguments_raise(arguments):
    with pytest.raises(NodeError):
        resize(SQUARE, **arguments)


def test_crop_without_roi_raises():
    with pytest.raises(NodeError, match="roi"):
        resize(SQUARE, scales=[1, 1, 2, 2], coordinate_transformation_mode="tf_crop_and_resize")


def test_older_versions():
    scales = np.array([1, 1, 0.6, 1.3], np.float32)
    assert run("Resize", 10, SQUARE, scales)[0, 0].tolist() == [[1, 1, 2, 3, 4], [9, 9, 10, 11, 12]]
    empty = np.array([], np.float32)
    sizes = np.array([1, 1, 2, 2])
    for since in (11, 13):
        y = run("Resize", since, SQUARE, empty, empty, sizes, mode="linear", coordinate_transformation_mode="align_corners")
        assert y[0, 0].tolist() == [[1, 4], [13, 16]]
    y = run("Resize", 11, SQUARE, empty, empty, sizes, coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="floor")
    assert y[0, 0].tolist() == [[6, 8], [14, 16]]


def test_upsample():
    x = np.array([[[[1, 2], [3, 4]]]], np.float32)
    want = x.repeat(2, axis=2).repeat(3, axis=3)
    np.testing.assert_array_equal(run("Upsample", 1, x, height_scale=2.0, width_scale=3.0), want)
    np.testing.assert_array_equal(run("Upsample", 7, x, scales=[1.0, 1.0, 2.0, 3.0]), want)
    for since in (9, 10):
        np.testing.assert_array_equal(run("Upsample", since, x, np.array([1, 1, 2, 3], np.float32)), want)
    y = run("Upsample", 9, x, np.array([1, 1, 1, 2], np.float32), mode="linear")
    assert y[0, 0].tolist() == [[1, 1.5, 2, 2], [3, 3.5, 4, 4]]
    np.testing.assert_array_equal(run("Upsample", 1, x, height_scale=1.0, width_scale=2.0, mode="bilinear"), y)
