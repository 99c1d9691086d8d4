"""Heads go into the rank-3 form of Attention and RotaryEmbedding."""

from __future__ import annotations

import numpy as np
import pytest

K = {"c": np.float32(0.5), "heads": np.array([0, 0, 3, 4]), "flat": np.array([0, 0, 12]), "unswapped": np.array([0, -1, 12])}
SPLIT = "a{0} = Reshape({0}, heads) b{0} = Transpose<perm = [0, 2, 1, 3]>(a{0}) "
BODY = (
    "".join(SPLIT.format(x) for x in "qkv")
    + "t = Transpose<perm = [0, 1, 3, 2]>(bk) l = MatMul(bq, t) z = Mul(l, c) p = Softmax<axis = -1>(z) o = MatMul(p, bv) "
)
JOIN = "m = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(m, flat) }"
H = "(float[N, S, 12] q, float[N, T, 12] k, float[N, T, 12] v) => (float[a, b, d] y) { "
DIMS = {"T": 7}


def test_heads_go_into_attention(check):
    done = check(H + BODY + JOIN, dims=DIMS, **K)
    assert done.ops == {"Attention": 1}
    assert done.nodes[0].attrs == {"scale": 0.5, "q_num_heads": 3, "kv_num_heads": 3}
    assert list(done.nodes[0].inputs) == done.graph.inputs


@pytest.mark.parametrize(
    ("join", "head"),
    [
        ("y = Reshape(o, unswapped) }", H),
        ("m = Transpose<perm = [0, 2, 1, 3]>(o) y = Neg(m) }", H.replace("float[a, b, d]", "float[a, b, d, e]")),
        (JOIN, H.replace("y) {", "y, float[e, f, g, h] o) {")),
    ],
    ids=["not swapped back", "not joined", "shared"],
)
def test_heads_that_stay(check, join, head):
    done = check(head + BODY + join, dims=DIMS, **K)
    assert done.ops["Attention"] == 1
    assert done.ops["Transpose"] >= 3


def test_packed_projection(check):
    """timm's ViT: qkv.reshape(b, n, 3, h, d).permute(2, 0, 3, 1, 4).unbind(0)."""
    planes = {
        "gather": "q = Gather(t, i0) k = Gather(t, i1) v = Gather(t, i2) ",
        "split": "q1, k1, v1 = Split<num_outputs = 3>(t) q = Squeeze(q1, ax) k = Squeeze(k1, ax) v = Squeeze(v1, ax) ",
        "slice": "q1 = Slice(t, s0, s1, ax) k1 = Slice(t, s1, s2, ax) v1 = Slice(t, s2, s3, ax) "
        "q = Squeeze(q1, ax) k = Squeeze(k1, ax) v = Squeeze(v1, ax) ",
    }
    constants = {f"i{i}": np.array(i) for i in range(3)} | {f"s{i}": np.array([i]) for i in range(4)} | {"ax": np.array([0])}
    head = "(float[N, S, 36] x) => (float[a, b, d] y) { r = Reshape(x, five) t = Transpose<perm = [2, 0, 3, 1, 4]>(r) "
    body = "u = Transpose<perm = [0, 1, 3, 2]>(k) l = MatMul(q, u) z = Mul(l, c) p = Softmax<axis = -1>(z) o = MatMul(p, v) "
    for text in planes.values():
        done = check(head + text + body + JOIN, **K, **constants, five=np.array([0, -1, 3, 3, 4]))
        assert done.ops == {"Split": 1, "Attention": 1}


ROTARY = """(float[N, S, 12] x, float[N, S, 2] cos, float[N, S, 2] sin) => (float[a, b, d, e] y) {
    r = Reshape(x, heads) t = Transpose<perm = [0, 2, 1, 3]>(r) u = RotaryEmbedding(t, cos, sin) y = Neg(u) }"""


def test_heads_are_split_after_rotary(check):
    done = check(ROTARY, **K)
    assert [n.op for n in done.nodes] == ["RotaryEmbedding", "Reshape", "Transpose", "Neg"]
    assert done.nodes[0].attrs["num_heads"] == 3


def test_shared_heads_are_not_split_after_rotary(check):
    done = check(ROTARY.replace("y) {", "y, float[f, g, h, i] t) {"), **K)
    assert "num_heads" not in done.nodes[-2].attrs
