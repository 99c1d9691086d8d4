import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.ep.shapes import clamp_slice, slice_index
from sardonyx.errors import NodeError

LIMITS = [-(2**63), -(2**31), 2**31 - 1, 2**63 - 1]
anything = st.sampled_from(LIMITS) | st.integers(-8, 8)


def by_the_spec(start, end, step, dim):
    """The elements that Slice-13's text selects from range(dim)."""
    start, end = start + dim * (start < 0), end + dim * (end < 0)
    low, high, last = (0, dim, dim) if step > 0 else (-1, dim - 1, dim - 1)
    start, end = min(max(start, 0), last), min(max(end, low), high)
    return list(range(dim))[0:0] if dim == 0 else list(range(start, end, step))


@settings(max_examples=300, deadline=None)
@given(anything, anything, anything.filter(bool), st.integers(0, 6))
def test_any_limits_select_what_the_spec_says(start, end, step, dim):
    expected = by_the_spec(start, end, step, dim)
    assert list(range(dim))[slice_index((dim,), [start], [end], [-1], [step])[0]] == expected
    first, step, count = clamp_slice(start, end, step, dim)
    assert [first + i * step for i in range(count)] == expected


def test_mismatched_lists_bad_axes_and_zero_steps_raise():
    for arguments in [([0], [1, 2]), ([0], [1], [2]), ([0], [1], [-3]), ([0, 0], [1, 1], [0, -2]), ([0], [1], [0], [0])]:
        with pytest.raises(NodeError):
            slice_index((2, 3), *arguments)
