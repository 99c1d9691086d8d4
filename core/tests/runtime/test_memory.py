from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.memory import Lifetime, plan

LIVES = st.builds(
    lambda size, first, length: Lifetime(size, first, first + length), st.integers(0, 5000), st.integers(0, 12), st.integers(0, 12)
)


@settings(max_examples=300, deadline=None)
@given(st.lists(LIVES, max_size=25), st.sampled_from([1, 64, 4096]))
def test_buffers_that_live_together_do_not_overlap(lives, alignment):
    offsets, total = plan(lives, alignment)
    ends = [o + x.size for o, x in zip(offsets, lives, strict=True)]
    for i, a in enumerate(lives):
        assert offsets[i] >= 0
        assert offsets[i] % alignment == 0
        assert ends[i] <= total
        for j in range(i):
            b = lives[j]
            if a.size and b.size and a.first <= b.last and b.first <= a.last:
                assert ends[i] <= offsets[j] or ends[j] <= offsets[i]


@settings(max_examples=100, deadline=None)
@given(st.lists(LIVES, max_size=25))
def test_the_arena_is_between_the_busiest_step_and_the_sum(lives):
    _, total = plan(lives, 1)
    busiest = max((sum(x.size for x in lives if x.first <= step <= x.last) for step in range(25)), default=0)
    assert busiest <= total <= sum(x.size for x in lives)


def test_a_chain_needs_two_buffers():
    _, total = plan([Lifetime(640, i, i + 1) for i in range(50)])
    assert total == 1280


def test_a_gap_is_reused():
    lives = [Lifetime(64, 0, 9), Lifetime(128, 0, 1), Lifetime(64, 0, 9), Lifetime(64, 2, 9), Lifetime(64, 2, 9)]
    assert plan(lives)[1] == 256


def test_nothing():
    assert plan([]) == ([], 0)
    assert plan([Lifetime(0, 0, 3)]) == ([0], 0)
