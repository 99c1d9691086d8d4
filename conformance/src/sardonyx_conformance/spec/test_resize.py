"""Resize, RoiAlign and AffineGrid: coordinates, rounding and antialiasing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sardonyx.errors import NodeError


def line(*values: float) -> np.ndarray:
    """[1, 1, n] float32."""
    return np.array(values, np.float32).reshape(1, 1, -1)


def scale(value: float) -> tuple[None, np.ndarray]:
    """roi and scales for the last of three axes."""
    return None, np.array([1, 1, value], np.float32)


def sizes(n: int) -> tuple[None, None, np.ndarray]:
    """roi, scales and sizes for the last of three axes."""
    return None, None, np.array([1, 1, n], np.int64)


def test_nearest_half_pixel_ceil(run_op: Any) -> None:
    """(i + 0.5) * 26 / 64 - 0.5, rounded with halves upwards."""
    y = run_op(
        "Resize",
        line(*range(26)),
        *sizes(64),
        mode="nearest",
        coordinate_transformation_mode="half_pixel",
        nearest_mode="round_prefer_ceil",
    )
    place = (np.arange(64) + 0.5) * 26 / 64 - 0.5
    np.testing.assert_array_equal(y.reshape(-1), np.clip(np.floor(place + 0.5), 0, 25))
    assert y.reshape(-1)[30:35].tolist() == [12, 12, 13, 13, 14]


@pytest.mark.parametrize(
    ("rounding", "want"),
    [("round_prefer_floor", [1, 3]), ("round_prefer_ceil", [2, 4]), ("floor", [1, 3]), ("ceil", [2, 4])],
)
def test_nearest_rounding(run_op: Any, rounding: str, want: list[float]) -> None:
    """Places 0.5 and 2.5: each rule decides the tie its own way."""
    y = run_op("Resize", line(1, 2, 3, 4), *scale(0.5), mode="nearest", nearest_mode=rounding)
    assert y.reshape(-1).tolist() == want


@pytest.mark.parametrize(
    ("coordinates", "want"), [("asymmetric", [1, 1 + 1 / 0.6]), ("align_corners", [1, 1 + 3 / 1.4]), ("half_pixel", [1 + 1 / 3, 3])]
)
def test_linear_coordinates(run_op: Any, coordinates: str, want: list[float]) -> None:
    """A scale of 0.6 gives floor(2.4) = 2 places; where they lie differs between the transformations."""
    y = run_op("Resize", line(1, 2, 3, 4), *scale(0.6), mode="linear", coordinate_transformation_mode=coordinates)
    np.testing.assert_allclose(y.reshape(-1), want, rtol=1e-6)


def test_align_corners_by_sizes(run_op: Any) -> None:
    """The corners are kept exactly, and a single output takes the first."""
    kwargs: dict[str, Any] = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    np.testing.assert_allclose(run_op("Resize", line(1, 2, 4), *sizes(5), **kwargs).reshape(-1), [1, 1.5, 2, 3, 4])
    assert run_op("Resize", line(1, 2, 4), *sizes(1), **kwargs).reshape(-1).tolist() == [1]


def test_pytorch_half_pixel_of_one(run_op: Any) -> None:
    """Resizing to one element takes the first, not the middle."""
    y = run_op("Resize", line(5, 7, 9), *sizes(1), mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
    assert y.reshape(-1).tolist() == [5]


def cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic convolution kernel."""
    x = np.abs(x)
    inner = (a + 2) * x**3 - (a + 3) * x**2 + 1
    return np.where(x <= 1, inner, np.where(x < 2, a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a, 0))


@pytest.mark.parametrize("a", [-0.75, -0.5, -1.0])
@pytest.mark.parametrize("factor", [0.5, 0.4, 2.0])
@pytest.mark.parametrize("antialias", [0, 1])
def test_cubic_coefficient(run_op: Any, a: float, factor: float, antialias: int) -> None:
    """cubic_coeff_a counts, also when the kernel is widened against aliasing; edges repeat."""
    x = np.array([1, 4, 2, 8, 5, 7, 3, 6, 9, 0], np.float64)
    n = int(np.floor(len(x) * factor))
    width = min(1.0, factor) if antialias else 1.0
    want = []
    for i in range(n):
        place = (i + 0.5) / factor - 0.5
        taps = np.arange(np.floor(place) - 12, np.floor(place) + 13)
        weights = cubic((taps - place) * width, a)
        want.append((weights / weights.sum()) @ x[np.clip(taps, 0, len(x) - 1).astype(int)])
    y = run_op("Resize", line(*x), *scale(factor), mode="cubic", cubic_coeff_a=a, antialias=antialias)
    np.testing.assert_allclose(y.reshape(-1), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("policy", "want"), [("not_larger", (1, 1, 3, 4)), ("not_smaller", (1, 1, 6, 8))])
def test_aspect_ratio(run_op: Any, policy: str, want: tuple[int, ...]) -> None:
    """The same scale for all axes resized."""
    x = np.zeros((1, 1, 3, 4), np.float32)
    y = run_op("Resize", x, None, None, np.array([6, 4], np.int64), axes=[2, 3], keep_aspect_ratio_policy=policy)
    assert y.shape == want


def test_crop_and_resize_outside(run_op: Any) -> None:
    """tf_crop_and_resize fills places outside of the input."""
    x = line(1, 2, 3, 4)
    y = run_op(
        "Resize",
        x,
        np.array([0, 0, 0.5, 1, 1, 1.5], np.float32),
        None,
        np.array([1, 1, 3]),
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=-7.0,
    )
    np.testing.assert_allclose(y.reshape(-1), [2.5, 4, -7], rtol=1e-6)


def test_upsample(run_op: Any) -> None:
    """The predecessor: asymmetric coordinates."""
    assert run_op("Upsample", line(1, 2), np.array([1, 1, 2], np.float32), opset=9).reshape(-1).tolist() == [1, 1, 2, 2]
    y = run_op("Upsample", line(1, 3), np.array([1, 1, 2], np.float32), opset=9, mode="linear")
    assert y.reshape(-1).tolist() == [1, 2, 3, 3]


PLANE = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
FIRST = np.array([0], np.int64)


@pytest.mark.parametrize(("opset", "want"), [(10, 7.5), (16, 5), (22, 5)])
def test_roi_align_default_coordinates(run_op: Any, opset: int, want: float) -> None:
    """Since opset 16 pixels have their centres at 0.5."""
    y = run_op("RoiAlign", PLANE, np.array([[0, 0, 3, 3]], np.float32), FIRST, opset=opset, sampling_ratio=1)
    assert y.reshape(-1).tolist() == [want]


@pytest.mark.parametrize(("mode", "want"), [("half_pixel", 5), ("output_half_pixel", 10)])
def test_roi_align_empty_region(run_op: Any, mode: str, want: float) -> None:
    """A region without area samples a point, or, in the old convention, one pixel."""
    roi = np.array([[1.5, 1.5, 1.5, 1.5]], np.float32)
    y = run_op("RoiAlign", PLANE, roi, FIRST, coordinate_transformation_mode=mode, sampling_ratio=1)
    assert y.reshape(-1).tolist() == [want]


def test_roi_align_outside(run_op: Any) -> None:
    """Samples more than a pixel outside are 0; a batch index out of range is an error."""
    assert run_op("RoiAlign", PLANE, np.array([[20, 20, 30, 30]], np.float32), FIRST, sampling_ratio=1).reshape(-1).tolist() == [0]
    run_op.fails("RoiAlign", PLANE, np.array([[0, 0, 1, 1]], np.float32), np.array([3], np.int64))


def test_grid_sample_border(run_op: Any) -> None:
    """Beyond the border: zeros, the border, or its reflection."""
    x = np.array([[[[1, 2], [3, 4]]]], np.float32)
    grid = np.array([[[[-3, -1], [1, 1]]]], np.float32)
    want = {"zeros": [0, 4], "border": [1, 4], "reflection": [2, 4]}
    for mode, values in want.items():
        y = run_op("GridSample", x, grid, mode="linear", padding_mode=mode, align_corners=1)
        np.testing.assert_allclose(y.reshape(-1), values, atol=1e-6, err_msg=mode)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_grid_sample_nowhere(run_op: Any, mode: str, dtype: Any) -> None:
    """A point at NaN has no value; one at infinity is outside the image: 0, or the border's value."""
    image = np.arange(1, 17, dtype=dtype).reshape(1, 1, 4, 4)
    points = np.array([[np.nan, 0], [0, np.nan], [np.nan, 5], [np.inf, -np.inf], [-np.inf, np.inf], [1e30, 1e30]], dtype)
    for padding, far in (("zeros", [0, 0, 0]), ("border", [4, 13, 16])):
        y = run_op("GridSample", image, points.reshape(1, 1, -1, 2), mode=mode, padding_mode=padding, opset=20)
        np.testing.assert_allclose(y.reshape(-1), [np.nan] * 3 + far, rtol=1e-6)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_roi_align_needs_finite_regions(run_op: Any, number: float) -> None:
    """A region without ends has no bins."""
    rois = np.array([[0, 0, 3, 3], [0, number, 3, 3]], np.float32)
    with pytest.raises(NodeError, match="region 1 of rois"):
        run_op("RoiAlign", np.ones((1, 2, 4, 4), np.float32), rois, np.array([0, 0]), output_height=2, output_width=2)


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("size", [(1, 1, 3, 4), (2, 1, 3, 1), (1, 2, 1, 5), (1, 1, 2, 3, 4), (2, 1, 1, 3, 1), (2, 1, 0, 3)], ids=str)
def test_affine_grid(run_op: Any, size: tuple[int, ...], align_corners: int) -> None:
    """theta times the points (2 i - (n - 1)) / (n - align_corners), x first; the only point of an axis is its middle."""
    count, _, *dims = size
    theta = np.random.default_rng(3).standard_normal((count, len(dims), len(dims) + 1)).astype(np.float32)
    lines = [(2 * np.arange(n) - (n - 1)) / max(n - align_corners, 1) for n in dims]
    points = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(dims)], axis=-1)
    want = np.einsum("nij,...j->n...i", theta.astype(np.float64), points)
    y = run_op("AffineGrid", theta, np.array(size), align_corners=align_corners)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)
