"""Activations that exporters take apart."""

from __future__ import annotations

import numpy as np
import pytest

H = "(float[N, 6] x) => (float[N, 6] y) { "
K = {
    "one": np.float32(1),
    "zero": np.float32(0),
    "three": np.float32(3),
    "six": np.float32(6),
    "sixth": np.float32(1 / 6),
    "half": np.float32(0.5),
    "q": np.float32(1.702),
    "slope": np.float32(0.1),
    "five": np.float32(5),
}
FUSES = {
    "sigmoid": ("n = Neg(x) e = Exp(n) a = Add(e, one) y = Reciprocal(a)", "Sigmoid", {}),
    "sigmoid divided": ("n = Neg(x) e = Exp(n) a = Add(one, e) y = Div(one, a)", "Sigmoid", {}),
    "silu": ("s = Sigmoid(x) y = Mul(x, s)", "Swish", {"alpha": 1.0}),
    "silu swapped": ("s = Sigmoid(x) y = Mul(s, x)", "Swish", {"alpha": 1.0}),
    "quick gelu": ("m = Mul(q, x) s = Sigmoid(m) y = Mul(x, s)", "Swish", {"alpha": pytest.approx(1.702)}),
    "silu from exp": ("n = Neg(x) e = Exp(n) a = Add(e, one) s = Reciprocal(a) y = Mul(x, s)", "Swish", {"alpha": 1.0}),
    "hard swish": ("a = Add(x, three) c = Clip(a, zero, six) m = Mul(x, c) y = Div(m, six)", "HardSwish", {}),
    "hard swish first divided": ("a = Add(three, x) c = Clip(a, zero, six) d = Mul(c, sixth) y = Mul(x, d)", "HardSwish", {}),
    "hard swish by min and max": ("a = Add(x, three) l = Max(a, zero) c = Min(l, six) m = Mul(c, x) y = Mul(m, sixth)", "HardSwish", {}),
    "hard swish by hard sigmoid": ("s = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) y = Mul(x, s)", "HardSwish", {}),
    "hard sigmoid": (
        "a = Add(x, three) c = Clip(a, zero, six) y = Div(c, six)",
        "HardSigmoid",
        {"alpha": pytest.approx(1 / 6), "beta": pytest.approx(0.5)},
    ),
    "hard sigmoid of Keras": (
        "m = Mul(x, slope) a = Add(m, half) y = Clip(a, zero, one)",
        "HardSigmoid",
        {"alpha": pytest.approx(0.1), "beta": 0.5},
    ),
    "softplus": ("e = Exp(x) a = Add(e, one) y = Log(a)", "Softplus", {}),
    "mish": ("e = Exp(x) a = Add(e, one) l = Log(a) t = Tanh(l) y = Mul(x, t)", "Mish", {}),
    "mish of softplus": ("l = Softplus(x) t = Tanh(l) y = Mul(t, x)", "Mish", {}),
    "relu": ("y = Max(zero, x)", "Relu", {}),
    "clip": ("a = Min(x, six) y = Max(a, zero)", "Clip", {}),
    "leaky": ("g = Greater(x, zero) m = Mul(x, slope) y = Where(g, x, m)", "LeakyRelu", {"alpha": pytest.approx(0.1)}),
    "leaky by less": ("g = Less(x, zero) m = Mul(slope, x) y = Where(g, m, x)", "LeakyRelu", {"alpha": pytest.approx(0.1)}),
    "leaky by max": ("m = Mul(x, slope) y = Max(m, x)", "LeakyRelu", {"alpha": pytest.approx(0.1)}),
    "prelu of Keras": ("p = Relu(x) n = Neg(x) r = Relu(n) m = Mul(r, slope) y = Sub(p, m)", "LeakyRelu", {"alpha": pytest.approx(0.1)}),
}


@pytest.mark.parametrize(("body", "op", "attrs"), FUSES.values(), ids=FUSES)
def test_fuses(check, body, op, attrs):
    done = check(H + body + " }", **K)
    assert done.ops == {op: 1}
    assert done.nodes[0].attrs == attrs


def test_prelu_per_column(check):
    done = check(H + "p = Relu(x) n = Neg(x) r = Relu(n) m = Mul(w, r) y = Add(p, m) }", **K, w=-np.arange(6, dtype=np.float32) / 4)
    assert done.ops == {"PRelu": 1}


STAYS = {
    "sigmoid of two": ("n = Neg(x) e = Exp(n) a = Add(e, half) y = Reciprocal(a)", "Sigmoid"),
    "gate of another": ("c = Cos(x) s = Sigmoid(c) y = Mul(x, s)", "Swish"),
    "gate with a bias": ("c = Add(x, one) s = Sigmoid(c) y = Mul(x, s)", "Swish"),
    "another slope": ("a = Add(x, three) c = Clip(a, zero, five) m = Mul(x, c) y = Div(m, six)", "HardSwish"),
    "another shift": ("a = Add(x, one) c = Clip(a, zero, six) m = Mul(x, c) y = Div(m, six)", "HardSwish"),
    "clip from one": ("a = Add(x, three) c = Clip(a, one, six) m = Mul(x, c) y = Div(m, six)", "HardSwish"),
    "hard sigmoid of another slope": ("s = HardSigmoid(x) y = Mul(x, s)", "HardSwish"),
    "plain clip": ("y = Clip(x, zero, one)", "HardSigmoid"),
    "clip not rescaled": ("a = Add(x, three) y = Clip(a, zero, six)", "HardSigmoid"),
    "log of two plus": ("e = Exp(x) a = Add(e, three) y = Log(a)", "Softplus"),
    "tanh of another": ("c = Cos(x) l = Softplus(c) t = Tanh(l) y = Mul(x, t)", "Mish"),
    "crossed bounds": ("a = Min(x, zero) y = Max(a, six)", "Clip"),
    "another threshold": ("g = Greater(x, one) m = Mul(x, slope) y = Where(g, x, m)", "LeakyRelu"),
    "sides swapped": ("g = Greater(x, zero) m = Mul(x, slope) y = Where(g, m, x)", "LeakyRelu"),
    "slope over one": ("m = Mul(x, three) y = Max(m, x)", "LeakyRelu"),
}


@pytest.mark.parametrize(("body", "op"), STAYS.values(), ids=STAYS)
def test_stays(check, body, op):
    done = check(H + body + " }", **K)
    assert done.ops[op] == (1 if f"= {op}(" in body else 0)


def test_shared_gate_stays(check):
    done = check("(float[N, 6] x) => (float[N, 6] y, float[N, 6] s) { s = Sigmoid(x) y = Mul(x, s) }")
    assert done.ops == {"Sigmoid": 1, "Mul": 1}


def test_integers_stay(check):
    assert check("(int32[5] x) => (int32[5] y) { y = Max(x, z) }", z=np.int32(0)).ops == {"Max": 1}


def test_nan_goes_through(check):
    x = np.float32([[np.nan, np.inf, -np.inf, 0, -0.0, 90]] * 2)
    for name in ("relu", "clip", "leaky", "hard swish", "hard sigmoid"):
        check(H + FUSES[name][0] + " }", **K, feeds={"x": x})


def test_swiglu(check):
    done = check("(float[N, S, 6] x, float[N, S, 6] z) => (float[N, S, 6] y) { s = Sigmoid(x) m = Mul(x, s) y = Mul(z, m) }")
    assert done.ops == {"SwiGLU": 1}


@pytest.mark.parametrize(
    "text",
    [
        "(float[N, S, 6] x, float[N, S, 1] z) => (float[N, S, 6] y) { s = Sigmoid(x) m = Mul(x, s) y = Mul(m, z) }",
        "(float[N, S, 6] x, float[N, S, 6] z) => (float[N, S, 6] y, float[N, S, 6] m) { s = Sigmoid(x) m = Mul(x, s) y = Mul(m, z) }",
        "(float[N, S, 6] x) => (float[N, S, 6] y) { s = Sigmoid(x) m = Mul(x, s) y = Mul(m, m) }",
    ],
    ids=["widening", "shared", "squared"],
)
def test_no_swiglu(check, text):
    assert "SwiGLU" not in check(text).ops
