"""Sizes of dims read at the inputs, and what happens when one name does not mean one size."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx.ir.verify import verify
from sardonyx.passes import optimize, separate_symbols

K = {"zero": np.array(0), "axis": np.array([0]), "one": np.array([1]), "k": np.array([2, 4])}


def test_sizes_are_read_at_the_inputs(check):
    """Two layers that each measure what they have: one Shape per dim is left, and it looks at the feed."""
    layer = """s{0} = Shape(x{0}) g{0} = Gather(s{0}, zero) u{0} = Unsqueeze(g{0}, axis) e{0} = Shape<start = 1, end = 2>(x{0})
        t{0} = Concat<axis = 0>(u{0}, e{0}, one) p{0} = Expand(w, t{0}) x{1} = Mul(x{0}, p{0}) """
    done = check(
        "(float[N, S, 8] x0) => (float[N, S, 8] x2) <float[1, 1, 1] w = {2.0}> { " + layer.format(0, 1) + layer.format(1, 2) + "}", **K
    )
    assert done.ops == {"Shape": 2, "Concat": 1, "Expand": 1, "Mul": 2}
    assert all(n.inputs[0] is done.graph.inputs[0] for n in done.nodes if n.op == "Shape")


def test_the_basic_level_reads_sizes_where_the_model_does(check):
    done = check("(float[N, 8] x) => (int64[1] y) { m = Neg(x) s = Shape<end = 1>(m) y = Neg(s) }", level="basic")
    assert done.ops == {"Neg": 2, "Shape": 1}


def test_scalars(check):
    done = check(
        "(float[N, 8] x) => (int64[N] y) { m = Neg(x) s = Shape(m) g = Gather(s, zero) y = Range(zero, g, one0) }", **K, one0=np.array(1)
    )
    assert done.ops == {"Shape": 1, "Squeeze": 1, "Range": 1}
    assert done.nodes[-1].outputs[0].shape == ("N",)
    assert set(done.nodes[0].origins) >= {"Gather"}


def test_a_size_that_is_an_output_stays(check):
    done = check("(float[N, 8] x) => (int64 g) { m = Neg(x) s = Shape(m) g = Gather(s, zero) }", **K)
    assert done.ops["Gather"] == 1


def test_sizes_in_bodies(check):
    done = check(
        """(bool c, float[N, 8] x) => (int64[1] y) { m = Neg(x)
            y = If(c) <then_branch = a () => (int64[1] p) { q = Shape<end = 1>(m) p = Neg(q) },
                       else_branch = b () => (int64[1] r) { z = Shape<end = 1>(m) r = Abs(z) }> }"""
    )
    assert done.ops == {"Shape": 1, "If": 1, "Neg": 1, "Abs": 1}
    assert done.nodes[0].op == "Shape"


def test_unknown_sizes_stay(check):
    done = check("(float[N] x, bool[N] c) => (int64[1] y) { m = Compress(x, c) s = Shape(m) y = Neg(s) }")
    assert done.ops == {"Compress": 1, "Shape": 1, "Neg": 1}


def test_symbols_of_different_inputs_can_be_separated(build):
    """A file that names two sequences alike."""
    text = """(float[N, S, 8] x, float[N, S, 8] z) => (float[a, b, c, d] y, int64[1] n) {
        s = Shape<end = 2>(z) t = Concat<axis = 0>(s, k) y = Reshape(x, t) n = Shape<start = 1, end = 2>(z) }"""
    trusting, careful = build(text, **K).graph, build(text, **K).graph
    optimize(trusting, "basic")
    assert next(n for n in trusting.nodes if n.op == "Reshape").inputs[1].const.numpy().tolist() == [0, 0, 2, 4]
    assert separate_symbols(careful) == 2
    assert [v.shape for v in careful.inputs] == [("N", "S", 8), ("z.0", "z.1", 8)]
    optimize(careful, "extended")
    verify(careful)
    assert next(n for n in careful.nodes if n.op == "Reshape").inputs[1].const is None


@pytest.mark.parametrize(
    "text", ["(float[N, S] x, float[3] z) => (float[N, S] y) { y = Neg(x) }", "(float[2, 2] x) => (float[2, 2] y) { y = Neg(x) }"]
)
def test_nothing_to_separate(build, text):
    assert separate_symbols(build(text).graph) == 0
