import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.tools.page.layout import layout


@st.composite
def dags(draw):
    count = draw(st.integers(1, 30))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    return count, [(a, b) for a, b in draw(st.lists(pairs, max_size=60)) if a < b]


@given(dags())
@settings(max_examples=60, deadline=None)
def test_edges_lead_down_and_boxes_do_not_overlap(dag):
    count, edges = dag
    places, bends = layout(count, edges)
    assert len(places) == count
    assert all(places[a][1] < places[b][1] for a, b in edges)
    assert all(x >= 0 and y >= 0 for x, y in places)
    rows = {}
    for x, y in places:
        rows.setdefault(y, []).append(x)
    for row in rows.values():
        row.sort()
        assert all(b - a > 1 - 1e-6 for a, b in itertools.pairwise(row))
    for k, points in bends.items():
        a, b = edges[k]
        ys = [places[a][1], *(y for _, y in points), places[b][1]]
        assert ys == sorted(set(ys))


def test_a_chain_is_straight():
    places, bends = layout(5, [(i, i + 1) for i in range(4)])
    assert {x for x, _ in places} == {0.0}
    assert [y for _, y in places] == [0, 1, 2, 3, 4]
    assert bends == {}


def test_a_skip_leaves_the_chain_where_it_is():
    """A residual branch bends around the chain, which stays nearly straight however long it is."""
    edges = []
    for i in range(0, 200, 4):
        edges += [(i, i + 1), (i + 1, i + 2), (i + 2, i + 3), (i + 3, i + 4), (i, i + 4)]
    places, _ = layout(201, edges)
    xs = [x for x, _ in places]
    assert max(xs) - min(xs) < 5


def test_backward_edges_are_ignored():
    places, _ = layout(2, [(1, 0), (0, 0), (0, 1)])
    assert places[0][1] < places[1][1]
    assert layout(0, []) == ([], {})
