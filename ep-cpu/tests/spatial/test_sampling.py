import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels
from sardonyx_ep_cpu.ops.spatial.conv import conv
from sardonyx_ep_cpu.ops.spatial.deform_conv import deform_conv
from sardonyx_ep_cpu.ops.spatial.grid_sample import affine_grid, grid_sample


def numbers(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


LINE = np.array([[[10, 20, 30, 40]]], np.float32)
FIVE = np.array([[[10, 20, 30, 40, 50]]], np.float32)


def at(positions, x=LINE, **attributes):
    """X [1, 1, D] at positions counted in elements, align_corners."""
    grid = (np.array(positions, np.float32) / (x.shape[2] - 1) * 2 - 1).reshape(1, -1, 1)
    return grid_sample(np, x, grid, align_corners=1, **attributes)[0, 0]


@pytest.mark.parametrize(
    ("padding_mode", "expected"),
    [("zeros", [0, 5, 40, 20, 0]), ("border", [10, 10, 40, 40, 40]), ("reflection", [20, 15, 40, 35, 20])],
)
def test_padding_modes(padding_mode, expected):
    np.testing.assert_allclose(at([-1, -0.5, 3, 3.5, 5], padding_mode=padding_mode), expected, atol=1e-4)


def test_strings_outside_are_empty():
    x = np.array([[["a", "b", "c", "d"]]], object)
    grid = np.array([-3, -1, 1, 3], np.float32).reshape(1, 4, 1)
    y = grid_sample(np, x, grid, align_corners=1, mode="nearest")
    assert y.tolist() == [[["", "a", "d", ""]]]


def test_reflection_far_away():
    x = np.array([[[0, 1, 2]]], np.float32)
    np.testing.assert_allclose(at([-3, -4, 6, 7], x, padding_mode="reflection"), [1, 0, 2, 1], atol=1e-5)


def test_corners_not_aligned():
    grid = np.array([-1, -0.75, 0, 1], np.float32).reshape(1, 4, 1)
    np.testing.assert_allclose(grid_sample(np, LINE, grid)[0, 0], [5, 10, 25, 20])
    np.testing.assert_allclose(grid_sample(np, LINE, grid, padding_mode="reflection")[0, 0], [10, 10, 25, 40])


def test_nearest_takes_halves_to_even():
    assert at([0.5, 1.5, 2.5], FIVE, mode="nearest").tolist() == [10, 30, 30]


def test_cubic_reproduces_the_elements():
    np.testing.assert_allclose(at([0, 1, 2, 3], mode="cubic"), LINE[0, 0], atol=1e-4)
    # Keys' kernel with a = -0.75 halfway between 20 and 30.
    np.testing.assert_allclose(at([1.5], mode="cubic"), [-0.09375 * (10 + 40) + 0.59375 * (20 + 30)], rtol=1e-6)


def test_volume_is_three_lines():
    x = numbers(2, 3, 3, 4, 5)
    grid = np.random.default_rng(0).uniform(-1, 1, (2, 2, 3, 2, 3)).astype(np.float32)
    y = grid_sample(np, x, grid, align_corners=1)
    assert y.shape == (2, 3, 2, 3, 2)
    position = (grid[1, 1, 2, 0, ::-1].astype(np.float64) + 1) / 2 * (np.array([3, 4, 5]) - 1)
    low = np.floor(position).astype(int)
    far = position - low
    cell = x[1][:, low[0] : low[0] + 2, low[1] : low[1] + 2, low[2] : low[2] + 2].astype(np.float64)
    want = np.einsum("cijk,i,j,k->c", cell, *([1 - f, f] for f in far))
    np.testing.assert_allclose(y[1, :, 1, 2, 0], want, rtol=1e-4, atol=1e-5)


def test_outside_infinity_is_zero():
    x = np.array([[[np.inf, 1]]], np.float32)
    np.testing.assert_array_equal(at([-2, 1], x), [0, 1])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.int32, np.uint8])
def test_dtypes_of_samples(dtype):
    y = at([0.25, 1.5], FIVE.astype(dtype))
    assert y.dtype == dtype
    np.testing.assert_allclose(y.astype(float), [12 if np.dtype(dtype).kind in "iu" else 12.5, 25])


def test_strings():
    x = np.array([[["a", "b"]]], object)
    assert at([0, 1], x, mode="nearest").tolist() == ["a", "b"]
    with pytest.raises(NodeError):
        at([0], x)


def test_names_of_opset_16_and_of_microsoft():
    x, grid = numbers(1, 2, 4, 4), np.random.default_rng(1).uniform(-1.2, 1.2, (1, 3, 3, 2)).astype(np.float32)
    for old, new in (("bilinear", "linear"), ("nearest", "nearest"), ("bicubic", "cubic")):
        want = grid_sample(np, x, grid, mode=new)
        for domain, since in (("", 16), ("com.microsoft", 1)):
            np.testing.assert_array_equal(kernels.find(domain, "GridSample", since).function(np, x, grid, mode=old), want)


def test_empty_grids():
    assert grid_sample(np, numbers(0, 2, 4, 4), np.ones((0, 3, 3, 2), np.float32)).shape == (0, 2, 3, 3)
    assert grid_sample(np, numbers(1, 2, 4, 4), np.ones((1, 0, 3, 2), np.float32)).shape == (1, 2, 0, 3)


@pytest.mark.parametrize("grid", [(1, 3, 3, 3), (2, 3, 3, 2), (1, 3, 2)])
def test_grids_that_do_not_fit_raise(grid):
    with pytest.raises(NodeError):
        grid_sample(np, numbers(1, 2, 4, 4), np.ones(grid, np.float32))


def test_affine_grid_of_the_identity():
    theta = np.array([[[1, 0, 0], [0, 1, 0]]], np.float32)
    grid = affine_grid(np, theta, np.array([1, 1, 2, 4]))
    np.testing.assert_allclose(grid[0, :, 0], [[-0.75, -0.5], [-0.75, 0.5]])
    np.testing.assert_allclose(grid[0, 0, :, 0], [-0.75, -0.25, 0.25, 0.75])
    grid = affine_grid(np, theta, np.array([1, 1, 2, 3]), align_corners=1)
    np.testing.assert_allclose(grid[0, 1], [[-1, 1], [0, 1], [1, 1]])
    assert affine_grid(np, theta, np.array([1, 1, 1, 1]), align_corners=1).tolist() == [[[[0, 0]]]]


def test_affine_grid_transforms_volumes():
    theta = numbers(2, 3, 4)
    grid = affine_grid(np, theta, np.array([2, 1, 2, 3, 4]))
    assert grid.shape == (2, 2, 3, 4, 3)
    point = np.array([-1 + 5 / 4, -1 + 1 / 3, -1 + 3 / 2, 1])
    np.testing.assert_allclose(grid[1, 1, 0, 2], theta[1].astype(np.float64) @ point, rtol=1e-5, atol=1e-6)


def test_grid_of_the_identity_samples_the_image():
    x = numbers(1, 3, 4, 5)
    theta = np.array([[[1, 0, 0], [0, 1, 0]]], np.float32)
    for align_corners in (0, 1):
        grid = affine_grid(np, theta, np.array(x.shape), align_corners=align_corners)
        np.testing.assert_allclose(grid_sample(np, x, grid, align_corners=align_corners), x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_deform_conv_without_offsets_is_conv(rank):
    x, w, b = numbers(2, 4, *[6] * rank), numbers(4, 2, *[3] * rank), numbers(4)
    geometry = {"pads": [1] * 2 * rank, "strides": [2] * rank, "group": 2}
    taps = 3**rank
    offset = np.zeros((2, 2 * taps * rank, *[3] * rank), np.float32)
    y = deform_conv(np, x, w, offset, b, None, offset_group=2, **geometry)
    np.testing.assert_allclose(y, conv(np, x, w, b, **geometry), rtol=1e-4, atol=1e-4)


def test_deform_conv_moves_and_masks_each_tap():
    x = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    w = np.ones((1, 1, 2, 2), np.float32)
    offset = np.zeros((1, 8, 2, 2), np.float32)
    offset[0, 0, 0, 0] = 0.5
    offset[0, 3, 1, 1] = -0.25
    assert deform_conv(np, x, w, offset)[0, 0].tolist() == [[8 + 1.5, 12], [20, 24 - 0.25]]
    mask = np.ones((1, 4, 2, 2), np.float32)
    mask[0, 3] = 0.5
    assert deform_conv(np, x, w, offset, None, mask)[0, 0].tolist() == [[9.5 - 2, 12 - 2.5], [20 - 3.5, 23.75 - 4]]


def test_deform_conv_outside_is_zero():
    x, w = np.ones((1, 1, 2, 2), np.float32), np.ones((1, 1, 1, 1), np.float32)
    offset = np.full((1, 2, 2, 2), -0.5, np.float32)
    assert deform_conv(np, x, w, offset)[0, 0].tolist() == [[0.25, 0.5], [0.5, 1]]


@pytest.mark.parametrize(("offset", "mask"), [((1, 8, 3, 3), None), ((1, 6, 2, 2), None), ((1, 8, 2, 2), (1, 8, 2, 2))])
def test_deform_conv_checks_its_offsets(offset, mask):
    with pytest.raises(NodeError):
        deform_conv(
            np,
            numbers(1, 1, 3, 3),
            numbers(1, 1, 2, 2),
            np.zeros(offset, np.float32),
            None,
            None if mask is None else np.ones(mask, np.float32),
        )
