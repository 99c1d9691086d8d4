import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels
from sardonyx_ep_cpu.ops.spatial.non_max_suppression import non_max_suppression
from sardonyx_ep_cpu.ops.spatial.roi_pool import crop_and_resize, max_roi_pool, roi_align

RAMP = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
FIRST = np.array([0])


def boxes(*rows, dtype=np.float32):
    return np.array(rows, dtype)


def test_roi_align_of_a_ramp_is_the_ramp():
    y = roi_align(np, RAMP, boxes([0.5, 0.5, 3.5, 3.5]), FIRST, output_height=3, output_width=3, sampling_ratio=2)
    np.testing.assert_allclose(y[0, 0], [[2.5, 3.5, 4.5], [6.5, 7.5, 8.5], [10.5, 11.5, 12.5]], rtol=1e-6)
    y = roi_align(np, RAMP, boxes([0, 0, 3, 3]), FIRST, output_height=3, output_width=3, coordinate_transformation_mode="output_half_pixel")
    np.testing.assert_allclose(y[0, 0, 0], [2.5, 3.5, 4.5], rtol=1e-6)


def test_roi_align_aligned_values():
    x = np.arange(25, dtype=np.float32).reshape(1, 1, 5, 5)
    y = roi_align(np, x, boxes([1, 1, 3, 3]), FIRST, output_height=4, output_width=4, sampling_ratio=2, spatial_scale=1.0)
    np.testing.assert_allclose(y[0, 0, 0], [4.5, 5, 5.5, 6], rtol=1e-6)


def test_version_10_has_no_half_pixel():
    kernel = kernels.find("", "RoiAlign", 10).function
    rois = boxes([0.3, 0.7, 3.1, 2.9])
    want = roi_align(np, RAMP, rois, FIRST, output_height=2, coordinate_transformation_mode="output_half_pixel")
    np.testing.assert_array_equal(kernel(np, RAMP, rois, FIRST, output_height=2), want)


def test_max_takes_the_largest_weighted_neighbour():
    x = np.array([[[[1, 3], [5, 7]]]], np.float32)
    y = roi_align(
        np,
        x,
        boxes([0, 0, 1, 1]),
        FIRST,
        mode="max",
        sampling_ratio=1,
        coordinate_transformation_mode="output_half_pixel",
    )
    assert y.item() == 7 / 4


def test_adaptive_sampling_averages_the_whole_bin():
    y = roi_align(np, RAMP, boxes([0.5, 0.5, 4.5, 4.5]), FIRST)
    samples = np.clip(np.arange(4) + 0.5, 0, 3)
    want = (4 * samples[:, None] + samples).mean()
    np.testing.assert_allclose(y.item(), want, rtol=1e-6)


def test_samples_far_outside_are_zero():
    y = roi_align(np, RAMP, boxes([10, 10, 12, 12], [-9, 1, -7, 3]), np.array([0, 0]), sampling_ratio=1)
    assert (y == 0).all()


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_regions_of_no_size(mode):
    y = roi_align(np, RAMP, boxes([1, 1, 1, 1]), FIRST, mode=mode)
    assert y.tolist() == [[[[0]]]]
    y = roi_align(np, RAMP, boxes([1, 1, 1, 1]), FIRST, mode=mode, coordinate_transformation_mode="output_half_pixel")
    assert y.item() > 0


def test_no_regions():
    assert roi_align(np, RAMP, np.empty((0, 4), np.float32), np.empty(0, np.int64), output_height=2).shape == (0, 1, 2, 1)
    assert max_roi_pool(np, RAMP, np.empty((0, 5), np.float32), pooled_shape=[2, 2]).shape == (0, 1, 2, 2)


def test_images_out_of_range_raise():
    for image in (-1, 1):
        with pytest.raises(NodeError):
            roi_align(np, RAMP, boxes([0, 0, 1, 1]), np.array([image]))
        with pytest.raises(NodeError):
            max_roi_pool(np, RAMP, boxes([image, 0, 0, 1, 1]), pooled_shape=[1, 1])


def test_max_roi_pool():
    y = max_roi_pool(np, RAMP, boxes([0, 0, 0, 3, 3], [0, 1, 1, 2, 2]), pooled_shape=[2, 2])
    assert y[0, 0].tolist() == [[5, 7], [13, 15]]
    assert y[1, 0].tolist() == [[5, 6], [9, 10]]
    y = max_roi_pool(np, RAMP, boxes([0, 0, 0, 3, 3]), pooled_shape=[1, 1], spatial_scale=0.5)
    assert y.item() == 10
    assert max_roi_pool(np, RAMP, boxes([0, 8, 8, 9, 9]), pooled_shape=[1, 1]).item() == 0


def test_crop_and_resize():
    size = np.array([2, 2], np.int32)
    first = np.array([0], np.int32)
    assert crop_and_resize(np, RAMP, boxes([0, 0, 1, 1]), first, size)[0, 0].tolist() == [[0, 3], [12, 15]]
    y = crop_and_resize(np, RAMP, boxes([1, 0.5, 0, 1.5]), first, size, extrapolation_value=-1.0)
    assert y[0, 0].tolist() == [[13.5, -1], [1.5, -1]]
    y = crop_and_resize(np, RAMP, boxes([0, 0.5, 1, 0.5]), first, np.array([1, 1], np.int32), mode="nearest")
    assert y.item() == 10


def select(scores, most=10, iou=0.5, score=None, corners=None, **attributes):
    corners = np.array(corners, np.float32)[None]
    return non_max_suppression(
        np,
        corners,
        np.array(scores, np.float32)[None],
        None if most is None else np.array([most]),
        np.array([iou], np.float32),
        None if score is None else np.array([score], np.float32),
        **attributes,
    ).tolist()


PAIR = [[0, 0, 1, 1], [0, 0.5, 1, 1.5], [0, 10, 1, 11]]


def test_overlap_equal_to_the_threshold_is_kept():
    assert select([[0.9, 0.8, 0.7]], corners=PAIR, iou=0.3) == [[0, 0, 0], [0, 0, 2]]
    halves = [[0, 0, 1, 3], [0, 1, 1, 4]]
    assert select([[0.9, 0.8]], corners=halves, iou=0.5) == [[0, 0, 0], [0, 0, 1]]
    assert select([[0.9, 0.8]], corners=halves, iou=0.49) == [[0, 0, 0]]


def test_any_diagonal_will_do():
    flipped = [[1, 1, 0, 0], [1, 0.5, 0, 1.5], [0, 10, 1, 11]]
    assert select([[0.9, 0.8, 0.7]], corners=flipped, iou=0.3) == [[0, 0, 0], [0, 0, 2]]


def test_centres():
    centres = [[0.5, 0.5, 1, 1], [0.5, 0.6, 1, 1], [0.5, 10.5, 1, 1]]
    assert select([[0.8, 0.9, 0.7]], corners=centres, center_point_box=1) == [[0, 0, 1], [0, 0, 2]]


def test_limits():
    apart = [[0, 10 * i, 1, 10 * i + 1] for i in range(4)]
    assert select([[0.1, 0.4, 0.3, 0.2]], corners=apart, most=2) == [[0, 0, 1], [0, 0, 2]]
    assert select([[0.1, 0.4, 0.3, 0.2]], corners=apart, score=0.2) == [[0, 0, 1], [0, 0, 2]]
    assert select([[0.1, 0.4, 0.3, 0.2]], corners=apart, most=None) == []
    assert select([[0.5, 0.5, 0.5, 0.5]], corners=apart, most=3) == [[0, 0, 0], [0, 0, 1], [0, 0, 2]]


def test_classes_are_independent():
    assert select([[0.9, 0.8, 0.1], [0.1, 0.9, 0.2]], corners=PAIR, iou=0.3, score=0.15) == [[0, 0, 0], [0, 1, 1], [0, 1, 2]]


def test_boxes_without_area_suppress_nothing():
    assert select([[0.9, 0.8]], corners=[[1, 1, 1, 1], [1, 1, 1, 1]], iou=0.0) == [[0, 0, 0], [0, 0, 1]]


def test_no_boxes():
    y = non_max_suppression(np, np.empty((1, 0, 4), np.float32), np.empty((1, 2, 0), np.float32), np.array(3))
    assert (y.shape, y.dtype) == ((0, 3), np.int64)


def test_shapes_that_do_not_fit_raise():
    with pytest.raises(NodeError):
        non_max_suppression(np, np.ones((1, 2, 4), np.float32), np.ones((1, 1, 3), np.float32))
    with pytest.raises(NodeError):
        select([[0.5]], corners=[[0, 0, 1, 1]], iou=1.5)


def test_blocks_change_nothing():
    rng = np.random.default_rng(0)
    low = rng.random((300, 2)).astype(np.float32)
    corners = np.concatenate([low, low + rng.uniform(0.05, 0.3, (300, 2)).astype(np.float32)], axis=1)
    scores = np.round(rng.random(300), 2).astype(np.float32)
    chosen = []
    for i in np.argsort(-scores, kind="stable"):
        sides = np.minimum(corners[i, 2:], corners[:, 2:]) - np.maximum(corners[i, :2], corners[:, :2])
        common = np.prod(np.maximum(sides, 0), axis=1)
        area = np.prod(corners[:, 2:] - corners[:, :2], axis=1)
        if not any(common[j] / (area[i] + area[j] - common[j]) > 0.3 for j in chosen):
            chosen.append(i)
    for most in (1000, 70):
        assert [box for _, _, box in select([scores], corners=corners, iou=0.3, most=most)] == chosen[:most]
