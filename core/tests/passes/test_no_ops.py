"""Nodes that do nothing go; those that do something stay."""

from __future__ import annotations

import pytest

H = "(float[N, 3, S] x) => (float[N, 3, S] y) "
GONE = {
    "identity": H + "{ t = Identity(x) y = Neg(t) }",
    "dropout": H + "{ t = Dropout(x) y = Neg(t) }",
    "dropout not training": H + "<bool f = {0}, float r = {0.5}> { t = Dropout(x, r, f) y = Neg(t) }",
    "cast": H + "{ t = Cast<to = 1>(x) y = Neg(t) }",
    "cast like": H + "<float f = {0}> { t = CastLike(x, f) y = Neg(t) }",
    "reshape": H + "{ s = Shape(x) t = Reshape(x, s) y = Neg(t) }",
    "expand": H + "{ s = Shape(x) t = Expand(x, s) y = Neg(t) }",
    "expand by ones": H + "<int64[2] s = {1, 1}> { t = Expand(x, s) y = Neg(t) }",
    "transpose": H + "{ t = Transpose<perm = [0, 1, 2]>(x) y = Neg(t) }",
    "two transposes": H + "{ s = Transpose<perm = [2, 0, 1]>(x) t = Transpose<perm = [1, 2, 0]>(s) y = Neg(t) }",
    "slice": H + "<int64[2] a = {0, 0}, int64[2] b = {9223372036854775807, 3}, int64[2] c = {2, 1}> { t = Slice(x, a, b, c) y = Neg(t) }",
    "pad": H + "<int64[6] p = {0, 0, 0, 0, 0, 0}> { t = Pad(x, p) y = Neg(t) }",
    "tile": H + "<int64[3] p = {1, 1, 1}> { t = Tile(x, p) y = Neg(t) }",
    "split": H + "{ t = Split<num_outputs = 1>(x) y = Neg(t) }",
    "concat": H + "{ t = Concat<axis = 1>(x) y = Neg(t) }",
    "sum": H + "{ t = Sum(x) y = Neg(t) }",
    "times one": H + "<float[1, 1] c = {1}> { t = Mul(c, x) y = Neg(t) }",
    "by one": H + "<float c = {1}> { t = Div(x, c) y = Neg(t) }",
    "to the one": H + "<int64 c = {1}> { t = Pow(x, c) y = Neg(t) }",
    "plus zero": H + "<float c = {0}> { t = Add(x, c) y = Neg(t) }",
    "minus zero": H + "<float c = {0}> { t = Sub(x, c) y = Neg(t) }",
    "where true": H + "<bool c = {1}, float z = {0}> { t = Where(c, x, z) y = Neg(t) }",
    "squeeze of unsqueeze": H + "<int64[1] a = {1}> { s = Unsqueeze(x, a) t = Squeeze(s, a) y = Neg(t) }",
}


@pytest.mark.parametrize("text", GONE.values(), ids=GONE)
def test_goes(check, text):
    done = check(text, level="basic")
    assert done.ops == {"Neg": 1}
    assert done.nodes[0].inputs[0] is done.graph.inputs[0]


STAYS = {
    "training dropout": ("Dropout", H + "<float r = {0.0}> { f = Constant<value = bool {1}>() t = Dropout(x, r, f) y = Neg(t) }"),
    "reversal": (
        "Slice",
        "(float[3] x) => (float[3] y) <int64[1] a = {-1}, int64[1] b = {-9223372036854775807}, int64[1] c = {0}, int64[1] d = {-1}> "
        "{ t = Slice(x, a, b, c, d) y = Neg(t) }",
    ),
    "one that widens": ("Mul", "(float[3] x) => (float[1, 3] y) <float[1, 1] c = {1}> { t = Mul(x, c) y = Neg(t) }"),
    "one over": ("Div", H + "<float c = {1}> { t = Div(c, x) y = Neg(t) }"),
    "zero minus": ("Sub", H + "<float c = {0}> { t = Sub(c, x) y = Neg(t) }"),
    "expand that widens": ("Expand", "(float[1, 3] x) => (float[2, 3] y) <int64[2] s = {2, 1}> { t = Expand(x, s) y = Neg(t) }"),
    "where that widens": (
        "Where",
        "(float[3] x) => (float[2, 3] y) <bool[2, 1] c = {1, 1}, float z = {0}> { t = Where(c, x, z) y = Neg(t) }",
    ),
    "cast": ("Cast", "(float[3] x) => (double[3] y) { t = Cast<to = 11>(x) y = Neg(t) }"),
    "clip without bounds": ("Clip", H + "{ t = Clip(x) y = Neg(t) }"),
    "slice of a symbol": ("Slice", H + "<int64[1] a = {0}, int64[1] b = {4}, int64[1] c = {2}> { t = Slice(x, a, b, c) y = Neg(t) }"),
}


@pytest.mark.parametrize(("op", "text"), STAYS.values(), ids=STAYS)
def test_stays(check, op, text):
    assert check(text, level="basic").ops[op] == 1


def test_dropout_whose_mask_is_used_stays(check):
    assert check("(float[3] x) => (float[3] y, bool[3] m) { y, m = Dropout(x) }", level="basic").ops == {"Dropout": 1}


def test_infinite_bounds(check):
    text = "(float[3] x) => (float[3] y) { a = Max(low, x) b = Min(x, high) y = Add(a, b) }"
    import numpy as np

    assert check(text, level="basic", low=np.float32(-np.inf), high=np.float32(np.inf)).ops == {"Add": 1}
    assert check(text, level="basic", low=np.float32(np.inf), high=np.float32(-np.inf)).ops == {"Max": 1, "Min": 1, "Add": 1}


@pytest.mark.parametrize(("node", "ops"), [("And(x, t)", {"Not": 1}), ("Or(f, x)", {"Not": 1}), ("And(x, f)", {"And": 1, "Not": 1})])
def test_logic(check, node, ops):
    assert check(f"(bool[3] x) => (bool[3] y) <bool t = {{1}}, bool f = {{0}}> {{ a = {node} y = Not(a) }}", level="basic").ops == ops


def test_sum_of_two_is_add(check):
    assert check("(float[2, 3] x, float[3] z) => (float[2, 3] y) { y = Sum(x, z) }", level="basic").ops == {"Add": 1}


def test_empty_parts_of_concat_go(check):
    done = check("(float[2, 0] e, float[2, 3] x, float[2, 1] z) => (float[2, 4] y) { y = Concat<axis = -1>(e, x, z) }", level="basic")
    assert len(done.nodes[0].inputs) == 2


def test_integer_clip_without_bounds_goes(check):
    assert check("(int32[3] x) => (int32[3] y) { t = Clip(x) y = Neg(t) }", level="basic").ops == {"Neg": 1}
