"""Chains of views and transposes."""

from __future__ import annotations

import numpy as np
import pytest

H = "(float[N, 3, 4] x) => (float[a] y) "
ONE = {
    "reshape reshape": (
        H + "<int64[2] p = {-1, 12}, int64[3] q = {-1, 2, 6}> { s = Reshape(x, p) t = Reshape(s, q) y = Neg(t) }",
        "Reshape",
    ),
    "flatten reshape": (H + "<int64[3] q = {0, 6, 2}> { s = Flatten(x) t = Reshape(s, q) y = Neg(t) }", "Reshape"),
    "unsqueeze unsqueeze": (
        H + "<int64[1] p = {0}, int64[2] q = {-1, 1}> { s = Unsqueeze(x, p) t = Unsqueeze(s, q) y = Neg(t) }",
        "Unsqueeze",
    ),
    "unsqueeze squeeze": (H + "<int64[2] p = {0, 2}, int64[1] q = {0}> { s = Unsqueeze(x, p) t = Squeeze(s, q) y = Neg(t) }", "Reshape"),
    "transpose transpose": (H + "{ s = Transpose<perm = [1, 2, 0]>(x) t = Transpose<perm = [2, 1, 0]>(s) y = Neg(t) }", "Transpose"),
    "reversal": (H + "{ s = Transpose(x) t = Transpose<perm = [1, 2, 0]>(s) y = Neg(t) }", "Transpose"),
}


@pytest.mark.parametrize(("text", "op"), ONE.values(), ids=ONE)
def test_one_is_left(check, text, op):
    assert check(text, level="extended").ops == {op: 1, "Neg": 1}


@pytest.mark.parametrize("name", ["reshape reshape", "unsqueeze unsqueeze"])
def test_chains_stay_at_the_basic_level(check, name):
    """onnxruntime's transformer optimizer finds an attention's mask by its two Unsqueezes."""
    text, op = ONE[name]
    assert check(text, level="basic").ops == {op: 2, "Neg": 1}


def test_inner_view_with_another_user_stays_but_is_passed_by(check):
    done = check(
        "(float[2, 6] x) => (float[3, 4] y, float[12] s) <int64[1] p = {12}, int64[2] q = {3, 4}> { s = Reshape(x, p) y = Reshape(s, q) }",
        level="extended",
    )
    assert done.ops == {"Reshape": 2}
    assert all(n.inputs[0] is done.graph.inputs[0] for n in done.nodes)


def test_two_unknown_dims_stay(check):
    done = check(
        "(float[A, B] x, float[P, Q] z) => (float[a, b, c] y) { s = Shape(z) m = Reshape(x, s) n = Reshape(m, k) y = Neg(n) }",
        level="extended",
        dims={"A": 6, "P": 2, "Q": 9},
        k=np.array([0, 0, 1]),
    )
    assert done.ops == {"Shape": 1, "Reshape": 2, "Neg": 1}


def test_copied_dims_of_the_inner_shape_are_resolved(check):
    done = check(
        "(float[2, 3, 4] x) => (float[a] y) <int64[2] p = {6, 4}, int64[3] q = {0, 2, 2}> { s = Reshape(x, p) y = Reshape(s, q) }",
        level="extended",
    )
    assert done.ops == {"Reshape": 1}
    assert done.nodes[0].inputs[1].const.numpy().tolist() == [6, 2, 2]


def test_batched_transpose_through_a_view(check):
    done = check(
        """(float[N, 3, S, 4] x) => (float[N, 3, 4, S] y) <int64[2] d = {4, -1}> {
            s = Shape<start = 2>(x) m = Constant<value_ints = [-1]>() p = Concat<axis = 0>(m, s) a = Reshape(x, p)
            b = Transpose<perm = [0, 2, 1]>(a) l = Shape<end = 2>(x) h = Shape<start = 2, end = 3>(x) f = Constant<value_ints = [4]>()
            q = Concat<axis = 0>(l, f, h) c = Reshape(b, q) y = Neg(c) }""",
        level="extended",
    )
    assert done.ops == {"Transpose": 1, "Neg": 1}
    assert done.nodes[0].attrs["perm"] == [0, 1, 3, 2]


def test_regrouped_transpose_is_another_one(check):
    done = check(
        """(float[2, 6, 4] x) => (float[2, 2, 12] y) <int64[3] q = {2, 2, 12}> {
            b = Transpose<perm = [0, 2, 1]>(x) c = Reshape(b, q) y = Neg(c) }""",
        level="extended",
    )
    assert done.ops == {"Transpose": 1, "Reshape": 1, "Neg": 1}
