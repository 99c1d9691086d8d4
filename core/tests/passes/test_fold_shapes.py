"""Shape arithmetic: what folds, what becomes a constant target, which types get sharper."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx.passes import optimize
from sardonyx.passes.dims import broadcast_dims, matmul_dims, reshape_dims, reshape_target


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("y = Shape(x)", [2, 3, 4]),
        ("y = Shape<start = 1>(x)", [3, 4]),
        ("y = Shape<start = -2, end = -1>(x)", [3]),
        ("y = Size(x)", 24),
        ("s = Shape(x) i = Constant<value_int = -1>() y = Gather(s, i)", 4),
        ("s = Shape(x) i = Constant<value_ints = [2, 0]>() y = Gather(s, i)", [4, 2]),
        ("s = Shape(x) a = Constant<value_ints = [0]>() b = Constant<value_ints = [9223372036854775807]>() y = Slice(s, a, b)", [2, 3, 4]),
        (
            "s = Shape(x) a = Constant<value_ints = [-1]>() b = Constant<value_ints = [-9223372036854775808]>() "
            "z = Constant<value_ints = [0]>() m = Constant<value_ints = [-1]>() y = Slice(s, a, b, z, m)",
            [4, 3, 2],
        ),
        ("s = Shape(x) c = Cast<to = 6>(s) y = Mul(c, c)", [4, 9, 16]),
        ("s = Shape(x) h, t = Split<axis = 0>(s, k) y = Concat<axis = 0>(t, h)", [4, 2, 3]),
        ("s = Shape(x) y = ReduceProd<keepdims = 0>(s)", 24),
        ("s = Shape(x) m = Constant<value_int = -7>() y = Div(m, s)", [-3, -2, -1]),
        ("z = Constant<value_int = 1>() s = Size(x) t = Constant<value_int = 9>() y = Range(z, s, t)", [1, 10, 19]),
    ],
)
def test_static_shapes_fold(build, body, want):
    graph = build("(float[2, 3, 4] x) => (int64[n] y) <int64[2] k = {2, 1}> { " + body + " }").graph
    optimize(graph, "basic")
    assert graph.nodes == []
    assert graph.outputs[0].const.numpy().tolist() == want


def test_known_dims_of_partly_known_shapes_fold(check):
    done = check(
        """(float[N, 3, S] x) => (float[N, K] y) <int64 one = {1}, int64[1] zero = {0}, int64[1] minus = {-1}> {
            s = Shape(x) c = Gather(s, one) u = Unsqueeze(c, zero) t = Concat<axis = 0>(minus, u) r = Reshape(x, t) q = Shape(r)
            d = Gather(q, one) f = Cast<to = 1>(d) y = Div(r, f) }"""
    )
    assert done.ops == {"Reshape": 1, "Div": 1}


def test_reshape_by_the_shape_of_its_input_is_constant(check):
    done = check(
        """(float[N, S, 8] x) => (float[N, S, 2, 4] y) <int64[2] k = {2, 4}> {
            s = Shape<end = 2>(x) t = Concat<axis = 0>(s, k) y = Reshape<allowzero = 1>(x, t) }"""
    )
    assert done.ops == {"Reshape": 1}
    assert done.nodes[0].inputs[1].const.numpy().tolist() == [0, 0, 2, 4]
    assert "allowzero" not in done.nodes[0].attrs


def test_shape_that_nobody_knows_stays(check):
    done = check(
        "(float[A, B] x, float[P, Q] z) => (float[a, b] y) { s = Shape(z) m = Reshape(x, s) y = Neg(m) }", dims={"A": 6, "P": 2, "Q": 9}
    )
    assert done.ops == {"Shape": 1, "Reshape": 1, "Neg": 1}


def test_expand_idiom_with_where_folds(check):
    """Exporters write Expand's -1 as Where(shape == -1, ones, shape)."""
    done = check(
        """(float[1, 4] x) => (float[3, 4] y) <int64[2] t = {3, -1}> {
            n = Shape(t) o = ConstantOfShape<value = int64[1] {1}>(n) m = Constant<value_int = -1>()
            k = Mul(o, m) e = Equal(t, k) w = Where(e, o, t) y = Expand(x, w) }"""
    )
    assert done.ops == {"Expand": 1}


def test_bodies_see_outer_shapes(check):
    done = check(
        """(bool c, float[2, 3] x) => (int64[2] y) {
            y = If(c) <then_branch = a () => (int64[2] p) { p = Shape(x) },
                       else_branch = b () => (int64[2] q) { s = Shape(x) q = Neg(s) }> }"""
    )
    assert done.ops == {"If": 1}


def test_overflow_is_left_to_the_kernels(build):
    graph = build("(float[1] x) => (int64 y) { s = Shape(x) a = Add(s, big) y = Squeeze(a) }", big=np.array([2**63 - 1])).graph
    optimize(graph, "basic")
    assert graph.outputs[0].const is None or graph.outputs[0].const.numpy() == -(2**63)


@pytest.mark.parametrize("node", ["Reshape(x, t)", "Expand(x, t)", "ConstantOfShape(t)"])
def test_impossible_shapes_are_left_to_the_kernels(build, node):
    graph = build("(float[2, 3] x) => (float[a, b] y) { y = " + node + " }", t=np.array([2, -5])).graph
    optimize(graph, "extended")
    assert all(not isinstance(d, int) or d >= 0 for d in graph.outputs[0].shape)


@pytest.mark.parametrize(
    ("shape", "target", "want"),
    [
        (("n", 6), ["n", 2, -1], ("n", 2, 3)),
        (("n", "s", 8), ["n", "s", -1, 4], ("n", "s", 2, 4)),
        ((4, "s"), [-1, "s"], (4, "s")),
        (("n", 6), [0, -1], ("n", 6)),
        (("n", 6), [-1], ("6*n/1",)),
        (("n", 4), [-1, 8], ("1*n/2", 8)),
        (("n", None), [-1, 2], (None, 2)),
        ((0, 3), [-1, 0], (0, 3)),
    ],
)
def test_reshape_dims(shape, target, want):
    assert reshape_dims(shape, target, 0) == want


@pytest.mark.parametrize(
    ("shape", "result", "want"),
    [
        (("n", 6), ("n", 2, 3), [0, 2, 3]),
        (("n", "s"), ("n", "t"), [0, -1]),
        (("n", "s"), ("a", "b"), None),
        ((0, 3), (0, 3), [0, 3]),
        ((3, 0), (0, 3), None),
        (None, (2, 3), [2, 3]),
        (("n", 0), (0, "n"), None),
    ],
)
def test_reshape_target(shape, result, want):
    assert reshape_target(shape, result) == want


def test_broadcast_and_matmul_dims():
    assert broadcast_dims(("n", 1, 3), (5, 1)) == ("n", 5, 3)
    assert broadcast_dims(("n",), ("m",)) == (None,)
    assert broadcast_dims(("n",), None) is None
    assert matmul_dims(("b", 2, "s", 4), (4, 7)) == ("b", 2, "s", 7)
    assert matmul_dims((4,), (4, 7)) is None


def test_a_scalar_of_no_elements_is_left_to_the_run(build):
    body = "s = Shape(x) a = Constant<value_ints = [3]>() b = Constant<value_ints = [4]>() z = Constant<value_ints = [0]>() "
    graph = build("(float[4] x) => (int64 y) { " + body + "t = Slice(s, a, b) y = Squeeze(t, z) }").graph
    optimize(graph, "basic")
    assert [n.op for n in graph.nodes] == ["Squeeze"]
