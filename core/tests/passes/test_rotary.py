"""RotaryEmbedding from its spellings."""

from __future__ import annotations

import numpy as np
import pytest

ANGLES = np.random.default_rng(5).random((1, 5, 4)).astype(np.float32)
HALVES = np.concatenate([ANGLES, ANGLES], -1)
PAIRS = np.repeat(ANGLES, 2, -1)
I = {
    "z": np.array([0]),
    "h": np.array([4]),
    "d": np.array([8]),
    "end": np.array([2**63 - 1]),
    "last": np.array([3]),
    "minus": np.array([-1]),
    "one": np.array([1]),
    "two": np.array([2]),
    "ax1": np.array([1]),
}
H = "(float[1, 3, 5, 8] x) => (float[a, b, e, f] y) { "
TURN = "x1 = Slice(x, z, h, last) x2 = Slice(x, h, end, minus) n = Neg(x2) r = Concat<axis = -1>(n, x1) "
ADD = "a = Mul(x, cos) b = Mul(r, sin) y = Add(a, b) }"


def caches(angles, shape):
    return {"cos": np.cos(angles).reshape(shape), "sin": np.sin(angles).reshape(shape)}


@pytest.mark.parametrize("shape", [(1, 1, 5, 8), (1, 5, 8), (5, 8)])
@pytest.mark.parametrize(
    "turn",
    [TURN, "x1, x2 = Split<axis = -1, num_outputs = 2>(x) n = Neg(x2) r = Concat<axis = 3>(n, x1) "],
    ids=["slice", "split"],
)
def test_rotated_halves(check, turn, shape):
    done = check(H + turn + ADD, **I, **caches(HALVES, shape))
    assert done.ops == {"RotaryEmbedding": 1}
    assert "interleaved" not in done.nodes[0].attrs
    assert done.nodes[0].inputs[1].shape == (1, 5, 4)


def test_any_order_of_operands(check):
    assert check(H + TURN + "a = Mul(cos, x) b = Mul(sin, r) y = Add(b, a) }", **I, **caches(HALVES, (5, 8))).ops == {"RotaryEmbedding": 1}


EVEN = """x1 = Slice(x, z, end, last, two) x2 = Slice(x, one, end, last, two) n = Neg(x2) u = Unsqueeze(n, minus) w = Unsqueeze(x1, minus)
    s = Concat<axis = -1>(u, w) sh = Shape(x) r = Reshape(s, sh) """


def test_rotated_pairs(check):
    done = check(H + EVEN + ADD, **I, **caches(PAIRS, (5, 8)))
    assert done.ops == {"RotaryEmbedding": 1}
    assert done.nodes[0].attrs["interleaved"] == 1


WRITTEN = "a = Mul(x1, cos) b = Mul(x2, sin) c = Mul(x1, sin) e = Mul(x2, cos) re = Sub(a, b) im = Add(c, e) "


@pytest.mark.parametrize("swap", [False, True])
def test_written_out(check, swap):
    body = WRITTEN.replace("Add(c, e)", "Add(e, c)") if swap else WRITTEN
    done = check(H + TURN.split(" n =")[0] + " " + body + "y = Concat<axis = -1>(re, im) }", **I, **caches(ANGLES, (1, 1, 5, 4)))
    assert done.ops == {"RotaryEmbedding": 1}


def test_written_out_in_pairs(check):
    body = (
        EVEN.split(" n =")[0]
        + " "
        + WRITTEN
        + "u = Unsqueeze(re, minus) w = Unsqueeze(im, minus) s = Concat<axis = -1>(u, w) sh = Shape(x) y = Reshape(s, sh) }"
    )
    done = check(H + body, **I, **caches(ANGLES, (5, 4)))
    assert done.ops == {"RotaryEmbedding": 1}
    assert done.nodes[0].attrs["interleaved"] == 1


def test_heads_behind_the_sequence(check):
    done = check("(float[1, 5, 3, 8] x) => (float[a, b, e, f] y) { " + TURN + ADD, **I, **caches(HALVES, (5, 1, 8)))
    assert done.ops == {"Transpose": 2, "RotaryEmbedding": 1}


COMPUTED = """(float[N, 3, S, 8] x, int64[N, S] ids) => (float[a, b, e, f] y) {
    g = Cast<to = 1>(ids) p = Unsqueeze(g, minus) q = Mul(p, inv) k = Concat<axis = -1>(q, q)
    c0 = Cos(k) s0 = Sin(k) c1 = Mul(c0, scale) s1 = Mul(s0, scale) cos = Unsqueeze(c1, ax1) sin = Unsqueeze(s1, ax1) """


def test_computed_angles(check):
    """transformers' Llama: the angles are doubled before cos and sin; half of that is computed now."""
    done = check(COMPUTED + TURN + ADD, **I, inv=np.float32([1, 0.5, 0.25, 0.1]), scale=np.float32(1.1))
    assert done.ops["RotaryEmbedding"] == 1
    assert done.ops["Concat"] == 0


def test_looked_up_angles(check):
    table = np.concatenate([np.arange(40).reshape(10, 4)] * 2, -1).astype(np.float32)
    text = """(float[N, 3, S, 8] x, int64[N, S] ids) => (float[a, b, e, f] y) {
        c0 = Gather(ct, ids) s0 = Gather(st, ids) cos = Unsqueeze(c0, ax1) sin = Unsqueeze(s0, ax1) """
    done = check(text + TURN + ADD, **I, ct=np.cos(table), st=np.sin(table))
    assert done.ops == {"Gather": 2, "RotaryEmbedding": 1}


def test_one_row_of_angles_for_every_batch(check):
    done = check("(float[N, 3, 5, 8] x) => (float[a, b, e, f] y) { " + TURN + ADD, **I, **caches(HALVES, (5, 8)))
    assert done.ops["RotaryEmbedding"] == 1
    assert done.ops["Expand"] == 2


def test_partial(check):
    text = (
        H
        + """p = Slice(x, z, h, last) o = Slice(x, h, end, last) x1, x2 = Split<axis = -1, num_outputs = 2>(p) n = Neg(x2)
        r = Concat<axis = -1>(n, x1) a = Mul(p, cos) b = Mul(r, sin) t = Add(a, b) y = Concat<axis = -1>(t, o) }"""
    )
    small = np.concatenate([ANGLES[..., :2]] * 2, -1)
    done = check(text, **I, **caches(small, (5, 4)))
    assert done.ops == {"RotaryEmbedding": 1}
    assert done.nodes[0].attrs["rotary_embedding_dim"] == 4


@pytest.mark.parametrize(
    ("turn", "add", "angles", "shape"),
    [
        (TURN, ADD, np.concatenate([ANGLES, 2 * ANGLES], -1), (5, 8)),
        (TURN, ADD, PAIRS, (5, 8)),
        (TURN.replace("Concat<axis = -1>(n, x1)", "Concat<axis = -1>(x1, n)"), ADD, HALVES, (5, 8)),
        (TURN.replace("n = Neg(x2)", "n = Abs(x2)"), ADD, HALVES, (5, 8)),
        (TURN, ADD.replace("Add", "Sub"), HALVES, (5, 8)),
        (TURN, ADD, np.broadcast_to(HALVES, (3, 5, 8)), (3, 5, 8)),
        (TURN, ADD, HALVES[:, :1], (1, 8)),
        (TURN.replace("(x, z, h, last)", "(x, one, h5, last)"), ADD, HALVES, (5, 8)),
    ],
    ids=["halves differ", "pairs for halves", "wrong order", "not negated", "subtracted", "by head", "one angle for all", "other slice"],
)
def test_stays(check, turn, add, angles, shape):
    done = check(H + turn + add, **I, h5=np.array([5]), **caches(angles, shape))
    assert "RotaryEmbedding" not in done.ops
