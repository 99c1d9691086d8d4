"""Decomposed LayerNormalization, RMSNormalization, InstanceNormalization."""

from __future__ import annotations

import numpy as np
import pytest

W = {"g": np.arange(1, 9, dtype=np.float32), "b": np.arange(8, dtype=np.float32) / 3, "e": np.float32(1e-3), "ax": np.array([-1])}
K = {"two": np.float32(2), "half": np.float32(0.5), "mhalf": np.float32(-0.5), "one": np.float32(1)}
H = "(float[N, S, 8] x) => (float[N, S, 8] y) { "
CENTER = "m = ReduceMean(x, ax) d = Sub(x, m) "

LAYER = {
    "torch": CENTER + "q = Pow(d, two) v = ReduceMean(q, ax) w = Add(v, e) s = Sqrt(w) n = Div(d, s) o = Mul(n, g) y = Add(o, b)",
    "squares": CENTER + "q = Mul(d, d) v = ReduceMean(q, ax) w = Add(e, v) s = Sqrt(w) n = Div(d, s) o = Mul(g, n) y = Add(b, o)",
    "two centers": CENTER
    + "d2 = Sub(x, m) q = Pow(d2, two) v = ReduceMean(q, ax) w = Add(v, e) s = Sqrt(w) n = Div(d, s) o = Mul(n, g) y = Add(o, b)",
    "reciprocal": CENTER
    + "q = Mul(d, d) v = ReduceMean(q, ax) w = Add(v, e) s = Sqrt(w) r = Reciprocal(s) n = Mul(d, r) o = Mul(n, g) y = Add(o, b)",
    "one over": CENTER
    + "q = Mul(d, d) v = ReduceMean(q, ax) w = Add(v, e) s = Sqrt(w) r = Div(one, s) n = Mul(r, d) o = Mul(n, g) y = Add(o, b)",
    "powers": CENTER + "q = Mul(d, d) v = ReduceMean(q, ax) w = Add(v, e) r = Pow(w, mhalf) n = Mul(d, r) o = Mul(n, g) y = Add(o, b)",
    "root by power": CENTER
    + "q = Mul(d, d) v = ReduceMean(q, ax) w = Add(v, e) s = Pow(w, half) n = Div(d, s) o = Mul(n, g) y = Add(o, b)",
    "tensorflow": CENTER
    + "q = Mul(d, d) v = ReduceMean(q, ax) w = Add(v, e) s = Sqrt(w) r = Reciprocal(s) k = Mul(r, g) "
    + "l = Mul(x, k) p = Mul(m, k) z = Sub(b, p) y = Add(l, z)",
}


@pytest.mark.parametrize("body", LAYER.values(), ids=LAYER)
def test_layer_norm(check, body):
    done = check(H + body + " }", **W, **K)
    assert done.ops == {"LayerNormalization": 1}
    node = done.nodes[0]
    assert node.attrs == {"axis": -1, "epsilon": pytest.approx(1e-3)}
    assert [v.shape for v in node.inputs[1:]] == [(8,), (8,)]


def test_sizes_of_several_axes(check):
    body = LAYER["torch"].replace("ax)", "ax2)")
    done = check(
        "(float[N, S, 2, 8] x) => (float[a, b, c, d] y) { " + body + " }",
        **W | {"g": np.ones((2, 8), np.float32) * 2, "b": np.ones((1, 2, 8), np.float32)},
        **K,
        ax2=np.array([3, 2]),
    )
    assert done.ops == {"LayerNormalization": 1}
    assert done.nodes[0].attrs["axis"] == -2


def test_without_scale_and_bias(check):
    done = check(H + LAYER["torch"].replace("n = Div", "y = Div").split(" o =")[0] + " }", **W, **K)
    assert done.ops == {"LayerNormalization": 1}
    assert done.nodes[0].inputs[1].const.numpy().tolist() == [1] * 8


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (H + LAYER["torch"].replace("ReduceMean(q, ax)", "ReduceMean(q, ax1)") + " }", "other axes"),
        (H + LAYER["torch"].replace("Pow(d, two)", "Pow(d, half)") + " }", "another power"),
        (H + LAYER["torch"].replace("Pow(d, two)", "Pow(x, two)") + " }", "the square of something else"),
        (
            H + LAYER["torch"].replace("ReduceMean(x, ax)", "ReduceMean(x, ax1)").replace("ReduceMean(q, ax)", "ReduceMean(q, ax1)") + " }",
            "not the last axis",
        ),
        (
            H.replace("S, 8] x", "S, D] x").replace("S, 8] y", "S, D] y") + LAYER["torch"].split(" o =")[0].replace("n =", "y =") + " }",
            "unknown size",
        ),
        (H + LAYER["torch"].replace("Sqrt(w)", "Exp(w)") + " }", "no root"),
    ],
)
def test_what_only_looks_like_it(check, text, why):
    assert "LayerNormalization" not in check(text, **W, **K, ax1=np.array([1])).ops, why


def test_scale_of_another_shape_stays_outside(check):
    done = check(H + LAYER["torch"].replace("Mul(n, g)", "Mul(n, g1)") + " }", **W, **K, g1=np.ones((5, 1), np.float32) * 2)
    assert done.ops == {"LayerNormalization": 1, "Mul": 1, "Add": 1}


RMS = {
    "torch": "q = Pow(x, two) v = ReduceMean(q, ax) w = Add(v, e) s = Sqrt(w) r = Reciprocal(s) n = Mul(x, r) y = Mul(g, n)",
    "divided": "q = Mul(x, x) v = ReduceMean(q, ax) w = Add(v, e) s = Sqrt(w) n = Div(x, s) y = Mul(n, g)",
}


@pytest.mark.parametrize("body", RMS.values(), ids=RMS)
def test_rms_norm(check, body):
    assert check(H + body + " }", **W, **K).ops == {"RMSNormalization": 1}


@pytest.mark.parametrize("body", [LAYER["torch"], RMS["torch"]], ids=["layer", "rms"])
def test_double_precision_is_kept(check, body):
    doubles = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in (W | K).items()}
    done = check(H.replace("float", "double") + body + " }", **doubles)
    assert len(done.nodes) == 1
    assert done.nodes[0].attrs["stash_type"] == 11


@pytest.mark.parametrize(
    ("body", "ops"),
    [
        (RMS["torch"].replace("y = Mul(g, n)", "c = Cast<to = 10>(n) y = Mul(g16, c)"), {"RMSNormalization": 1}),
        (LAYER["torch"].split(" o =")[0] + " c = Cast<to = 10>(n) o = Mul(c, g16) y = Add(o, b16)", {"LayerNormalization": 1}),
        (LAYER["torch"].replace("y = Add", "z = Add") + " y = Cast<to = 10>(z)", {"Cast": 2, "LayerNormalization": 1}),
    ],
    ids=["rms", "layer", "scaled in float32"],
)
def test_half_precision_between_casts(check, body, ops):
    text = "(float16[N, S, 8] x16) => (float16[N, S, 8] y) { x = Cast<to = 1>(x16) " + body + " }"
    done = check(text, **W, **K, g16=W["g"].astype(np.float16), b16=W["b"].astype(np.float16))
    assert done.ops == ops


IMAGE = {
    "g": np.arange(1, 5, dtype=np.float32).reshape(4, 1, 1),
    "b": np.ones((1, 4, 1, 1), np.float32),
    "e": np.float32(1e-3),
    "ax": np.array([-1, -2]),
}


def test_instance_norm(check):
    done = check("(float[N, 4, H, S] x) => (float[a, b, c, d] y) { " + LAYER["torch"] + " }", **IMAGE, **K)
    assert done.ops == {"InstanceNormalization": 1}


GROUPED = """(float[N, 4, H, S] x) => (float[a, b, c, d] y) {
    r = Reshape(x, t) n = InstanceNormalization(r, s, z) u = Shape(x) v = Reshape(n, u) o = Mul(v, g) y = Add(o, b) }"""
GROUPS = {"s": np.array([1, 2], np.float32), "z": np.array([0, 1], np.float32)}


def test_group_norm(check):
    done = check(GROUPED, **IMAGE, **GROUPS, t=np.array([0, 2, -1]))
    assert done.ops == {"GroupNormalization": 1}
    assert done.nodes[0].attrs["num_groups"] == 2


@pytest.mark.parametrize(
    "text",
    [
        GROUPED.replace("(float[a, b, c, d] y)", "(float[a, b, c, d] y, float[q, r0, s0] r)"),
        GROUPED.replace("4, H, S] x", "C, H, S] x"),
        GROUPED.replace("(x, t)", "(x, t4)"),
    ],
    ids=["shared view", "unknown channels", "grouped otherwise"],
)
def test_group_norm_guards(check, text):
    done = check(text, **IMAGE, **GROUPS, t=np.array([0, 2, -1]), t4=np.array([-1, 2, 2]), dims={"H": 3, "S": 4})
    assert done.ops["GroupNormalization"] == 0
