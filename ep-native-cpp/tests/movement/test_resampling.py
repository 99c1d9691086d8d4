import itertools

import ml_dtypes
import numpy as np
import pytest

REAL = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
TRANSFORMATIONS = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"]


def i64(*values):
    return np.array(values, np.int64)


def f32(*values):
    return np.array(values, np.float32)


def close(dtype):
    return {"rtol": 1e-6, "atol": 1e-5} if dtype in (np.float32, np.float64) else {"rtol": 1e-2, "atol": 1e-2}


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_nearest(run, dtype, transformation, nearest, numbers):
    x = numbers((1, 2, 5, 7), dtype)
    for scales in [(1, 1, 2, 2), (1, 1, 0.6, 1.3), (1, 1, 3, 1), (1, 2, 1, 0.5)]:
        run.same("Resize", x, None, f32(*scales), coordinate_transformation_mode=transformation, nearest_mode=nearest)


def test_nearest_known_case(run):
    got = run("Resize", np.arange(26, dtype=np.float32), None, None, i64(64), nearest_mode="round_prefer_ceil")
    assert got[30:35].tolist() == [12, 12, 13, 13, 14]


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_weighted(run, mode, transformation, numbers):
    for dtype in (np.float32, np.float64, np.float16):
        x = numbers((2, 3, 5, 7), dtype)
        for scales, attrs in [
            ((1, 1, 2, 2), {}),
            ((1, 1, 0.6, 1.4), {}),
            ((1, 1, 1, 0.5), {"antialias": 1}),
            ((1, 1, 0.3, 0.4), {"antialias": 1}),
            ((1, 1, 1.7, 0.8), {"exclude_outside": 1}),
        ]:
            run.same("Resize", x, None, f32(*scales), mode=mode, coordinate_transformation_mode=transformation, **attrs, **close(dtype))


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_weighted_integers(run, mode, numbers):
    """Weights that are exact in binary, so that ties are ties."""
    for dtype in (np.uint8, np.int32, np.int64):
        x = numbers((2, 3, 5, 7), dtype, 0, 255)
        for transformation in ("half_pixel", "asymmetric"):
            run.same("Resize", x, None, f32(1, 1, 2, 2), mode=mode, coordinate_transformation_mode=transformation)


def test_resize_other_forms(run, numbers):
    x = numbers((2, 6, 5, 4))
    for policy in ("stretch", "not_larger", "not_smaller"):
        run.same("Resize", x, None, None, i64(9, 7), axes=[3, 1], mode="linear", keep_aspect_ratio_policy=policy, **close(np.float32))
    run.same("Resize", x, None, None, i64(4, 3, 10, 9), mode="linear", **close(np.float32))
    run.same("Resize", numbers((9,)), None, f32(2.5), mode="cubic", cubic_coeff_a=-0.5, **close(np.float32))
    run.same("Resize", numbers((2, 2, 300, 200)), None, f32(1, 1, 0.01, 0.02), mode="linear", antialias=1, **close(np.float32))
    run.same("Resize", x, None, f32(1, 1, 1, 1))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_crop_and_resize_mode(run, mode, numbers):
    x = numbers((1, 1, 5, 6))
    for roi in [(0, 0, 0.2, -0.3, 1, 1, 0.9, 1.2), (0, 0, 0, 0, 1, 1, 1, 1), (0, 0, 0.6, 0.1, 1, 1, 0.2, 0.8)]:
        attrs = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.5}
        run.same("Resize", x, f32(*roi), None, i64(1, 1, 7, 4), mode=mode, **attrs, **close(np.float32))


def test_a_tap_without_weight_reads_nothing(run):
    x = np.array([[1, np.inf, 3, np.nan]], np.float32)
    run.same("Resize", x, None, f32(1, 2), mode="linear", coordinate_transformation_mode="asymmetric")


@pytest.mark.parametrize(
    ("mode", "padding", "align"), list(itertools.product(["nearest", "linear", "cubic"], ["zeros", "border", "reflection"], [0, 1]))
)
def test_grid_sample(run, mode, padding, align):
    rng = np.random.default_rng(2)
    for dtype, shape in [
        (np.float32, (5, 7)),
        (np.float64, (4, 6)),
        (np.float16, (5, 7)),
        (np.float32, (3, 4, 5)),
        (np.float32, (9,)),
        (np.float32, (1, 1)),
    ]:
        if mode == "cubic" and len(shape) != 2:
            continue
        x = rng.standard_normal((2, 3, *shape)).astype(dtype)
        grid = rng.uniform(-1.6, 1.6, (2, *(6,) * len(shape), len(shape))).astype(dtype)
        run.same(
            "GridSample",
            x,
            grid,
            mode=mode,
            padding_mode=padding,
            align_corners=align,
            **(close(dtype) if dtype != np.float32 else {"rtol": 1e-4, "atol": 1e-4}),
        )


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("transformation", ["half_pixel", "output_half_pixel"])
def test_roi_align(run, mode, transformation):
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.float64):
        x, rois = rng.standard_normal((2, 3, 9, 11)).astype(dtype), rng.uniform(-3, 14, (6, 4)).astype(dtype)
        rois[:4] = np.sort(rois[:4].reshape(4, 2, 2), axis=1).reshape(4, 4)
        for ratio in (0, 2):
            run.same(
                "RoiAlign",
                x,
                rois,
                i64(0, 1, 1, 0, 1, 0),
                mode=mode,
                coordinate_transformation_mode=transformation,
                output_height=3,
                output_width=2,
                sampling_ratio=ratio,
                spatial_scale=0.7,
                rtol=1e-4,
                atol=1e-5,
            )


def test_crop_and_resize(run):
    rng = np.random.default_rng(4)
    x, rois = rng.standard_normal((2, 3, 8, 6)).astype(np.float32), rng.uniform(-0.3, 1.3, (4, 4)).astype(np.float32)
    for mode in ("bilinear", "nearest"):
        run.same(
            "CropAndResize",
            x,
            rois,
            np.array([0, 1, 1, 0], np.int32),
            i64(5, 4),
            domain="com.microsoft",
            mode=mode,
            extrapolation_value=2.5,
            rtol=1e-4,
            atol=1e-5,
        )


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 17, 30, 34, 64, 97, 100, 121, 400, 512])
def test_dft(run, length):
    rng = np.random.default_rng(length)
    for parts, attrs in [(1, {}), (2, {}), (1, {"onesided": 1}), (2, {"inverse": 1}), (1, {"inverse": 1})]:
        x = rng.standard_normal((2, length, 3, parts)).astype(np.float32)
        wide = x[..., 0] + 1j * x[..., 1] if parts == 2 else x[..., 0].astype(np.float64)
        want = (
            np.fft.ifft(wide, axis=1)
            if "inverse" in attrs
            else np.fft.rfft(wide, axis=1)
            if "onesided" in attrs
            else np.fft.fft(wide, axis=1)
        )
        got = run("DFT", x, None, np.array(1, np.int64), **attrs)
        np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], want, 1e-6, 1e-5)


def test_dft_lengths_and_axes(run):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((3, 10, 4, 1))
    for length in (7, 10, 16):
        for axis in (0, 1, -2):
            run.same("DFT", x, np.array(length, np.int64), np.array(axis, np.int64), rtol=1e-9, atol=1e-12)
    bins = rng.standard_normal((2, 9, 2))
    for length in (None, 15, 16, 20):
        run.same(
            "DFT",
            bins,
            None if length is None else np.array(length, np.int64),
            np.array(1, np.int64),
            onesided=1,
            inverse=1,
            rtol=1e-9,
            atol=1e-12,
            opset=24,
        )


def test_stft(run):
    rng = np.random.default_rng(6)
    signal = rng.standard_normal((2, 600, 1)).astype(np.float32)
    for length, step in [(16, 8), (400, 160), (100, 33), (600, 1)]:
        window = np.hanning(length).astype(np.float32)
        for onesided in (0, 1):
            run.same("STFT", signal, np.array(step), window, np.array(length), onesided=onesided, rtol=1e-4, atol=1e-4)
    run.same("STFT", signal, np.array(8), None, np.array(32), rtol=1e-4, atol=1e-4)
    run.same("STFT", rng.standard_normal((1, 64, 2)), np.array(8), None, np.array(32), onesided=0, rtol=1e-9, atol=1e-9)
