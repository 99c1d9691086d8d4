import numpy as np
import pytest

from sardonyx.ep.shapes import conv_windows, pool_windows, tap_range, tap_ranges, transpose_windows, window_counts
from sardonyx.errors import NodeError


def test_same_pads_for_the_dilated_kernel():
    windows = conv_windows((22,), (3,), dilations=(2,), auto_pad="SAME_UPPER")
    assert (windows.begin, windows.end, windows.out) == ((2,), (2,), (22,))


@pytest.mark.parametrize(("auto_pad", "pads"), [("SAME_UPPER", ((0,), (1,))), ("SAME_LOWER", ((1,), (0,)))])
def test_odd_same_padding_goes_to_its_side(auto_pad, pads):
    windows = conv_windows((4,), (2,), auto_pad=auto_pad, pads=(7, 7))
    assert (windows.begin, windows.end) == pads
    assert windows.out == (4,)


def test_stride_longer_than_the_kernel_needs_no_same_padding():
    windows = conv_windows((5,), (1,), strides=(3,), auto_pad="SAME_UPPER")
    assert (windows.begin, windows.end, windows.out) == ((0,), (0,), (2,))


def test_valid_ignores_pads():
    assert conv_windows((5,), (3,), pads=(9, 9), auto_pad="VALID").out == (3,)


def test_ceil_mode_drops_windows_that_start_in_the_end_padding():
    assert pool_windows((4,), (3,), strides=(2,), ceil_mode=1).out == (2,)
    assert pool_windows((2,), (1,), strides=(2,), ceil_mode=1).out == (1,)
    assert pool_windows((2,), (2,), strides=(3,), pads=(1, 1), ceil_mode=1).out == (1,)


def test_ceil_mode_accepts_a_kernel_larger_than_the_input():
    assert pool_windows((7,), (1280,), strides=(1280,), ceil_mode=1).out == (1,)


@pytest.mark.parametrize(
    "arguments",
    [
        {"kernel": (5,)},
        {"kernel": (0,)},
        {"kernel": (1, 1)},
        {"kernel": (1,), "strides": (0,)},
        {"kernel": (1,), "dilations": (0,)},
        {"kernel": (1,), "pads": (1,)},
        {"kernel": (1,), "pads": (-1, 0)},
        {"kernel": (1,), "auto_pad": "SAME"},
    ],
)
def test_numbers_that_do_not_fit_raise(arguments):
    with pytest.raises(NodeError):
        conv_windows((4,), **arguments)


def test_an_empty_axis_has_no_windows():
    assert conv_windows((0, 4), (3, 3), pads=(0, 1, 0, 1)).out == (0, 4)


def test_tap_range_lists_exactly_the_windows_whose_tap_is_inside():
    for size in range(1, 6):
        for offset in range(-4, 8):
            for stride in (1, 2, 3):
                first, last = tap_range(size, 5, offset, stride)
                assert list(range(first, last)) == [i for i in range(5) if 0 <= i * stride + offset < size]


@pytest.mark.parametrize(("include_pad", "counts"), [(True, [7, 7, 7, 6]), (False, [4, 7, 6, 3])])
def test_window_counts_leave_out_what_hangs_over_the_padding(include_pad, counts):
    windows = pool_windows((9,), (7,), strides=(3,), pads=(3, 3), ceil_mode=1)
    assert window_counts(windows, (9,), include_pad)[0].tolist() == counts


def test_window_counts_follow_dilation():
    windows = pool_windows((4,), (2,), pads=(1, 1), dilations=(3,))
    assert window_counts(windows, (4,), False)[0].tolist() == [1, 2, 1]


def test_transposed_sizes():
    assert transpose_windows((50, 50), (3, 5), strides=(2, 1), dilations=(3, 1), pads=(4, 2, 4, 2)).out == (97, 50)
    assert transpose_windows((3,), (3,), strides=(2,), output_padding=(1,)).out == (8,)
    assert transpose_windows((3,), (3,), strides=(2,), auto_pad="SAME_UPPER").out == (6,)


@pytest.mark.parametrize(("auto_pad", "begin", "end"), [("NOTSET", 1, 0), ("SAME_LOWER", 1, 0), ("SAME_UPPER", 0, 1)])
def test_output_shape_makes_the_pads(auto_pad, begin, end):
    windows = transpose_windows((3,), (3,), strides=(2,), output_shape=(6,), auto_pad=auto_pad)
    assert (windows.begin, windows.end, windows.out) == ((begin,), (end,), (6,))


def test_output_shape_may_have_batch_and_channels():
    assert transpose_windows((3,), (3,), strides=(2,), output_shape=(1, 1, 7)).out == (7,)


def test_output_shape_longer_than_the_windows_reach_leaves_zeros_at_the_end():
    windows = transpose_windows((3,), (3,), strides=(3,), output_shape=(10,))
    assert (windows.begin, windows.end, windows.out) == ((0,), (-1,), (10,))


def test_pads_that_crop_everything_raise():
    with pytest.raises(NodeError):
        transpose_windows((2,), (2,), pads=(5, 5))


def test_counts_cannot_be_written_to():
    counts = window_counts(pool_windows((4,), (2,)), (4,), False)[0]
    with pytest.raises(ValueError, match="read-only"):
        np.add(counts, 1, out=counts)


@pytest.mark.parametrize("include_pad", [False, True])
@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "pads"),
    [(5, 3, 2, 2, (2, 2)), (7, 4, 3, 1, (3, 0)), (3, 5, 1, 1, (4, 4)), (4, 2, 1, 3, (0, 3))],
)
def test_taps_and_counts_by_hand(size, kernel, stride, dilation, pads, include_pad):
    windows = pool_windows((size,), (kernel,), strides=[stride], dilations=[dilation], pads=pads, ceil_mode=1)
    starts = [i * stride - pads[0] for i in range(windows.out[0])]
    low, high = (-pads[0], size + pads[1]) if include_pad else (0, size)
    counts = [sum(low <= s + t * dilation < high for t in range(kernel)) for s in starts]
    assert window_counts(windows, (size,), include_pad)[0].tolist() == counts
    reached = [(t, [i for i, s in enumerate(starts) if 0 <= s + t * dilation < size]) for t in range(kernel)]
    assert tap_ranges(windows, (size,), 0) == [(t, i[0], i[-1] + 1) for t, i in reached if i]


def test_a_kernel_far_longer_than_the_input():
    windows = pool_windows((4,), (2**40,), auto_pad="SAME_UPPER")
    assert window_counts(windows, (4,), False)[0].tolist() == [4, 4, 4, 4]
    assert len(tap_ranges(windows, (4,), 0)) == 7
