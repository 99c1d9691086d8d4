from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.ep.shapes import ResizeMode, resize_axis, resize_sizes
from sardonyx.errors import NodeError


def indices(size, out, scale=None, **mode):
    plan = resize_axis(size, out, Fraction(out, size) if scale is None else Fraction(scale), ResizeMode(**mode))
    return plan.indices[:, 0].tolist()


def dense(plan, size):
    matrix = np.zeros((plan.size, size))
    for i, (row, weights) in enumerate(zip(plan.indices, plan.weights, strict=True)):
        np.add.at(matrix[i], row, weights)
    return matrix


def test_sizes_are_floors_of_exact_products():
    assert resize_sizes((2, 4), scales=[0.6, 0.6])[0] == (1, 2)
    assert resize_sizes((10,), scales=[float(np.float32(0.7))])[0] == (6,)
    assert resize_sizes((16777217,), scales=[1.0])[0] == (16777217,)


def test_sizes_on_some_axes():
    out, scales = resize_sizes((1, 3, 4, 5), sizes=[8, 10], axes=[2, -1])
    assert out == (1, 3, 8, 10)
    assert scales == (1, 1, 2, 2)


@pytest.mark.parametrize(("policy", "out"), [("not_larger", (3, 6)), ("not_smaller", (4, 8)), ("stretch", (3, 8))])
def test_keep_aspect_ratio(policy, out):
    assert resize_sizes((2, 4), sizes=[3, 8], policy=policy)[0] == out


def test_keep_aspect_ratio_rounds_halves_up_exactly():
    assert resize_sizes((6, 9), sizes=[5, 100], policy="not_larger")[0] == (5, 8)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"scales": [1.0, 1.0], "sizes": [2, 2]},
        {"scales": [1.0]},
        {"scales": [0.0, 1.0]},
        {"scales": [float("nan"), 1.0]},
        {"sizes": [0, 1]},
        {"sizes": [1, 1], "policy": "largest"},
        {"sizes": [1, 1], "axes": [0, 2]},
    ],
)
def test_bad_sizes_raise(arguments):
    with pytest.raises(NodeError):
        resize_sizes((2, 4), **arguments)


def test_round_prefer_ceil_half_pixel():
    assert indices(26, 64, nearest_mode="round_prefer_ceil")[30:35] == [12, 12, 13, 13, 14]


@pytest.mark.parametrize(
    ("nearest_mode", "expected"),
    [("round_prefer_floor", [0, 0, 1, 1]), ("round_prefer_ceil", [0, 1, 1, 1]), ("floor", [0, 0, 1, 1]), ("ceil", [0, 1, 1, 1])],
)
def test_nearest_modes(nearest_mode, expected):
    assert indices(2, 4, nearest_mode=nearest_mode, coordinate_transformation_mode="asymmetric") == expected


def test_a_third_means_a_third():
    scale = float(np.float32(1 / 3))
    assert indices(10, 3, scale, nearest_mode="floor", coordinate_transformation_mode="asymmetric") == [0, 3, 6]


def test_resize_10_rounds_up_where_it_shrinks():
    mode = {"nearest_mode": "downsample_ceil", "coordinate_transformation_mode": "asymmetric"}
    assert indices(4, 2, float(np.float32(0.6)), **mode) == [0, 2]
    assert indices(4, 5, float(np.float32(1.3)), **mode) == [0, 0, 1, 2, 3]


def test_align_corners_is_not_asymmetric():
    plan = resize_axis(2, 4, Fraction(2), ResizeMode("linear", "align_corners"))
    np.testing.assert_allclose(dense(plan, 2), [[1, 0], [2 / 3, 1 / 3], [1 / 3, 2 / 3], [0, 1]])
    plan = resize_axis(2, 4, Fraction(2), ResizeMode("linear", "asymmetric"))
    np.testing.assert_allclose(dense(plan, 2), [[1, 0], [0.5, 0.5], [0, 1], [0, 1]])


def test_pytorch_half_pixel_takes_the_first_of_one():
    plan = resize_axis(4, 1, Fraction(1, 4), ResizeMode("cubic", "pytorch_half_pixel"))
    assert dense(plan, 4).tolist() == [[1, 0, 0, 0]]


def test_half_pixel_symmetric_is_symmetric():
    matrix = dense(resize_axis(7, 5, Fraction(3, 4), ResizeMode("linear", "half_pixel_symmetric")), 7)
    np.testing.assert_allclose(matrix, matrix[::-1, ::-1], atol=1e-12)


def test_antialias_uses_the_cubic_coefficient():
    half, three_quarters = (
        dense(resize_axis(8, 4, Fraction(1, 2), ResizeMode("cubic", cubic_coeff_a=a, antialias=True)), 8) for a in (-0.5, -0.75)
    )
    # Keys' kernel at distances 0.25, 0.75, 1.25, 1.75 of the shrunk axis, normalised.
    distance = np.array([1.75, 1.25, 0.75, 0.25, 0.25, 0.75, 1.25, 1.75])
    for a, matrix in ((-0.5, half), (-0.75, three_quarters)):
        near = (a + 2) * distance**3 - (a + 3) * distance**2 + 1
        far = a * distance**3 - 5 * a * distance**2 + 8 * a * distance - 4 * a
        kernel = np.where(distance < 1, near, far)
        np.testing.assert_allclose(matrix[1][:7], kernel[1:] / kernel.sum() + np.eye(7)[0] * kernel[0] / kernel.sum(), atol=1e-12)


def test_crop_marks_what_lies_outside():
    plan = resize_axis(4, 3, Fraction(1), ResizeMode("linear", "tf_crop_and_resize"), (-0.5, 1.0))
    assert plan.outside.tolist() == [True, False, False]


def test_an_element_hit_exactly_is_two_halves():
    plan = resize_axis(3, 6, Fraction(2), ResizeMode("linear", "asymmetric"))
    assert plan.indices[2].tolist() == [1, 1]
    assert plan.weights[2].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "mode",
    [
        {"mode": "area"},
        {"nearest_mode": "round"},
        {"coordinate_transformation_mode": "corners"},
        {"antialias": True},
    ],
)
def test_unknown_modes_raise(mode):
    with pytest.raises(NodeError):
        resize_axis(4, 7, Fraction(7, 4), ResizeMode(**mode))


@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from(["linear", "cubic"]),
    st.sampled_from(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"]),
    st.booleans(),
    st.booleans(),
)
def test_weights_sum_to_one(size, out, mode, transformation, exclude_outside, antialias):
    plan = resize_axis(size, out, Fraction(out, size), ResizeMode(mode, transformation, "floor", -0.5, exclude_outside, antialias))
    if not plan.identity:
        np.testing.assert_allclose(plan.weights.sum(axis=1), 1, atol=1e-9)
        assert (plan.weights != 0).all()
        assert plan.indices.min() >= 0
        assert plan.indices.max() < size
