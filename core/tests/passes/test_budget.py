from sardonyx.passes import optimize
from sardonyx.passes.budget import budget, current

SWISHES = "(float[N] x) => (float[N] y) { a = Sigmoid(x) b = Mul(x, a) c = Sigmoid(b) y = Mul(b, c) }"


def operators(graph):
    return sorted(n.op for n in graph.nodes)


def test_edits_are_noted_in_order(build):
    graph = build(SWISHES).graph
    with budget() as made:
        optimize(graph, "extended")
    assert [(e.rule, e.step, e.op) for e in made.edits] == [("fuse_swish", "activations", "Mul")] * 2
    assert len({e.node for e in made.edits}) == 2
    assert all(len(e.origins) == 2 for e in made.edits)
    assert operators(graph) == ["Swish", "Swish"]


def test_no_more_than_the_limit(build):
    for limit, want in ((0, ["Mul", "Mul", "Sigmoid", "Sigmoid"]), (1, ["Mul", "Sigmoid", "Swish"]), (2, ["Swish", "Swish"])):
        graph = build(SWISHES).graph
        with budget(limit) as made:
            optimize(graph, "extended")
        assert operators(graph) == want
        assert len(made.edits) == limit


def test_a_pass_over_the_whole_graph_is_one_edit(build):
    text = "(float[N] x) => (float[N] y) { dead = Exp(x) also = Tan(dead) y = Abs(x) }"
    graph = build(text).graph
    with budget() as made:
        optimize(graph, "basic")
    assert [(e.rule, e.step, e.node) for e in made.edits] == [("remove_dead_nodes", "remove_dead_nodes", "")]
    graph = build(text).graph
    with budget(0):
        optimize(graph, "basic")
    assert operators(graph) == ["Abs", "Exp", "Tan"]


def test_a_budget_ends_with_its_block():
    with budget(3) as outer:
        with budget(1) as inner:
            assert current() is inner
        assert current() is outer
    assert current() is None
