"""Attention from its products and Softmax."""

from __future__ import annotations

import numpy as np
import pytest

Q = "float[N, 3, S, 8] q, float[N, 3, T, 8] k, float[N, 3, T, 6] v"
H = "(" + Q + ") => (float[a, b, c, d] y) { "
K = {
    "c": np.float32(8**-0.5),
    "r": np.float32(8**-0.25),
    "root": np.float32(8**0.5),
    "zero": np.float32(0),
    "low": np.float32(np.finfo(np.float32).min),
}
TURN = "t = Transpose<perm = [0, 1, 3, 2]>(k) "
END = "p = Softmax<axis = -1>(z) y = MatMul(p, v) }"
DIMS = {"T": 7}

SCALED = 8**-0.5
FUSES = {
    "scaled": (TURN + "s = MatMul(q, t) z = Mul(s, c) ", SCALED),
    "divided": (TURN + "s = MatMul(q, t) z = Div(s, root) ", SCALED),
    "unscaled": (TURN + "z = MatMul(q, t) ", 1),
    "scaled queries": (TURN + "u = Mul(c, q) z = MatMul(u, t) ", SCALED),
    "scaled keys": ("u = Div(k, root) t = Transpose<perm = [0, 1, 3, 2]>(u) z = MatMul(q, t) ", SCALED),
    "root on both sides": (TURN + "a = Mul(q, r) b = Mul(t, r) z = MatMul(a, b) ", SCALED),
}


@pytest.mark.parametrize(("body", "scale"), FUSES.values(), ids=FUSES)
@pytest.mark.parametrize("axis", [-1, 3])
def test_scale(check, body, scale, axis):
    done = check(H + body + END.replace("-1", str(axis)), dims=DIMS, **K)
    assert done.ops == {"Attention": 1}
    assert done.nodes[0].attrs == {"scale": pytest.approx(scale)}


def test_keys_of_another_layout(check):
    head = H.replace("float[N, 3, T, 8] k", "float[N, T, 3, 8] k")
    done = check(head + "t = Transpose<perm = [0, 2, 3, 1]>(k) s = MatMul(q, t) z = Mul(s, c) " + END, dims=DIMS, **K)
    assert done.ops == {"Transpose": 1, "Attention": 1}


def test_keys_stored_transposed(check):
    done = check(H.replace("float[N, 3, T, 8] k", "float[N, 3, 8, T] k") + "s = MatMul(q, k) z = Mul(s, c) " + END, dims=DIMS, **K)
    assert done.ops == {"Transpose": 1, "Attention": 1}


S = TURN + "l = MatMul(q, t) s = Mul(l, c) "
MASKS = {
    "float": ("float[N, 1, S, T] m", "z = Add(s, m) "),
    "float first": ("float[S, T] m", "z = Add(m, s) "),
    "keys": ("float[N, 1, 1, T] m", "z = Add(s, m) "),
    "two": ("float[N, 1, 1, T] m, float[3, S, T] o", "e = Add(s, o) z = Add(e, m) "),
    "where": ("bool[N, 1, S, T] m", "z = Where(m, s, low) "),
    "masked_fill": ("bool[N, 1, S, T] m", "z = Where(m, low, s) "),
    "softcap": ("float[N, 1, S, T] m", "d = Div(s, cap) e = Tanh(d) f = Mul(e, cap) z = Add(f, m) "),
}


@pytest.mark.parametrize(("inputs", "body"), MASKS.values(), ids=MASKS)
def test_mask(check, inputs, body):
    done = check(H.replace(Q, Q + ", " + inputs) + S + body + END, dims=DIMS, **K, cap=np.float32(5))
    assert done.ops["Attention"] == 1
    assert "Softmax" not in done.ops
    attention = next(n for n in done.nodes if n.op == "Attention")
    assert len(attention.inputs) == 4
    assert attention.attrs.get("softcap") == (5 if "cap" in body else None)


@pytest.mark.parametrize("fill", [np.finfo(np.float32).min, -1e9])
def test_rows_that_are_masked_altogether(check, fill):
    m = np.ones((2, 1, 5, 7), bool)
    m[:, :, 2] = False
    done = check(
        H.replace(Q, Q + ", bool[N, 1, S, T] m") + S + "z = Where(m, s, f) " + END,
        dims=DIMS,
        feeds={"m": m},
        **K,
        f=np.float32(fill),
        rtol=1e-4,
    )
    assert done.ops == {"Where": 1, "Attention": 1}


GUARD = "x = Softmax<axis = -1>(z) n = IsNaN(x) p = Where(n, zero, x) y = MatMul(p, v) }"


def test_guard_against_nan(check):
    """torch's scaled_dot_product_attention: rows of -inf give 0."""
    m = np.zeros((2, 1, 5, 7), np.float32)
    m[:, :, 2] = -np.inf
    done = check(H.replace(Q, Q + ", float[N, 1, S, T] m") + S + "z = Add(s, m) " + GUARD, dims=DIMS, feeds={"m": m}, **K)
    assert done.ops == {"Attention": 1}


CAUSAL = np.tril(np.ones((5, 7), bool), 2)


@pytest.mark.parametrize(
    ("fill", "condition", "fuses"), [(-1e4, CAUSAL, True), (-1e4, CAUSAL & (np.arange(5) > 0)[:, None], False), (-10, CAUSAL, False)]
)
def test_constant_condition(check, fill, condition, fuses):
    """GPT-2 puts -10000 in place of masked scores; that counts as nothing only where a row keeps some score."""
    head = H.replace("N, 3, S", "N, 3, 5").replace("N, 3, T", "N, 3, 7")
    done = check(head + S + "z = Where(m, s, f) " + END, **K, m=condition, f=np.float32(fill))
    assert (done.ops["Attention"] == 1) is fuses


STAYS = {
    "another axis": (Q, S.replace("s =", "z =") + END.replace("-1", "2")),
    "negative scale": (Q, TURN + "l = MatMul(q, t) n = Neg(l) z = Mul(n, c) " + END),
    "mask with a last axis of one": (Q + ", float[N, 1, S, 1] m", S + "z = Add(s, m) " + END),
    "mask that widens": (Q + ", float[4, N, 3, S, T] m", S + "z = Add(s, m) " + END),
    "mask for a batch that may be one": (Q + ", float[2, 1, S, T] m", S + "z = Add(s, m) " + END),
    "mild fill": (Q + ", bool[N, 1, S, T] m", S + "z = Where(m, s, zero) " + END),
    "other heads": (Q.replace("N, 3, T, 6", "N, 1, T, 6"), S.replace("s =", "z =") + END),
    "other batch": (Q.replace("N, 3, T, 8", "1, 3, T, 8"), S.replace("s =", "z =") + END),
    "scores that are no product": ("float[N, 3, S, T] s, float[N, 3, T, 6] v", "z = Mul(s, c) " + END),
}


@pytest.mark.parametrize(("inputs", "body"), STAYS.values(), ids=STAYS)
def test_stays(check, inputs, body):
    assert check(H.replace(Q, inputs) + body, dims=DIMS, **K).ops["Attention"] == 0


def test_mask_for_more_batches_stays(check):
    head = H.replace("[N, 3", "[1, 3").replace("float[1, 3, T, 6] v", "float[1, 3, T, 6] v, float[N, 1, S, T] m")
    assert check(head + S + "z = Add(s, m) " + END, dims=DIMS, **K).ops["Attention"] == 0


@pytest.mark.parametrize("output", ["p", "l"])
def test_shared_scores_stay(check, output):
    done = check(H.replace("y) {", f"y, float[e, f, g, h] {output}) {{") + S.replace("s =", "z =") + END, dims=DIMS, **K)
    assert done.ops["Attention"] == 0


def test_rank_three(check):
    head = "(float[N, S, 8] q, float[N, T, 8] k, float[N, T, 6] v, float[N, 1, T] m) => (float[a, b, c] y) { "
    done = check(head + "t = Transpose<perm = [0, 2, 1]>(k) l = MatMul(q, t) s = Mul(l, c) z = Add(s, m) " + END, dims=DIMS, **K)
    assert done.ops == {"Unsqueeze": 3, "Attention": 1, "Squeeze": 1}


def test_softmax_in_float32(check):
    head = H.replace("float", "float16")
    body = S.replace("s =", "z =") + "f = Cast<to = 1>(z) g = Softmax<axis = -1>(f) p = Cast<to = 10>(g) y = MatMul(p, v) }"
    done = check(head + body, dims=DIMS, c=np.float16(8**-0.5))
    assert done.ops == {"Attention": 1}
    assert done.nodes[0].attrs["softmax_precision"] == 1


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_dtypes(check, dtype):
    name = "float16" if dtype is np.float16 else "double"
    done = check(H.replace("float", name) + S.replace("s =", "z =") + END, dims=DIMS, c=dtype(8**-0.5))
    assert done.ops == {"Attention": 1}


GROUPED = """(float[N, 6, S, 8] q, float[N, 2, T, 8] k, float[N, 2, T, 8] v) => (float[a, b, c, d] y) {
    s2 = Shape<end = 1>(k) s3 = Shape<start = 2>(k) wide = Concat<axis = 0>(s2, two, three, s3) flat = Concat<axis = 0>(s2, six, s3)
    ku = Unsqueeze(k, ax) ke = Expand(ku, wide) kr = Reshape(ke, flat) vu = Unsqueeze(v, ax) ve = Expand(vu, wide) vr = Reshape(ve, flat)
    t = Transpose<perm = [0, 1, 3, 2]>(kr) l = MatMul(q, t) z = Mul(l, c) p = Softmax<axis = -1>(z) y = MatMul(p, vr) }"""
SIZES = {"two": np.array([2]), "three": np.array([3]), "six": np.array([6]), "ax": np.array([2])}


def test_grouped_heads(check):
    done = check(GROUPED, dims=DIMS, **K, **SIZES)
    assert done.ops == {"Attention": 1}
    assert done.nodes[0].inputs[1] is done.graph.inputs[1]


def test_heads_repeated_in_another_order_are_no_groups(check):
    text = GROUPED.replace("Concat<axis = 0>(s2, two, three, s3)", "Concat<axis = 0>(s2, three, two, s3)")
    done = check(text, dims=DIMS, **K, **SIZES | {"ax": np.array([1])})
    assert done.ops["Attention"] == 1
    assert done.nodes[-1].inputs[1] is not done.graph.inputs[1]


CACHED = """(float[N, 3, S, 8] q, float[N, 3, S, 8] k, float[N, 3, S, 6] v, float[N, 3, P, 8] pk, float[N, 3, P, 6] pv)
    => (float[a, b, c, d] y, float[e, f, g, h] nk, float[i, j, l0, m] nv) {
    nk = Concat<axis = -2>(pk, k) nv = Concat<axis = 2>(pv, v)
    t = Transpose<perm = [0, 1, 3, 2]>(nk) l = MatMul(q, t) z = Mul(l, c) p = Softmax<axis = -1>(z) y = MatMul(p, nv) }"""


def test_cache(check):
    done = check(CACHED, dims={"P": 4}, **K)
    assert done.ops == {"Attention": 1}
    assert [v.name for v in done.nodes[0].outputs] == ["y", "nk", "nv"]


def test_cache_that_something_else_reads_is_appended_outside(check):
    text = CACHED.replace("t = Transpose", "u = Cos(nk) t = Transpose").replace("float[i, j", "float[n, o, p0, r0] u, float[i, j")
    assert check(text, dims={"P": 4}, **K).ops == {"Concat": 2, "Cos": 1, "Attention": 1}
