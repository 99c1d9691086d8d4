"""Matrix products with what follows them."""

from __future__ import annotations

import numpy as np
import pytest

W = np.random.default_rng(3).standard_normal((8, 6)).astype(np.float32)
BIAS = np.arange(6, dtype=np.float32)


@pytest.mark.parametrize(
    "text", ["t = MatMul(x, w) y = Add(t, b)", "t = MatMul(x, w) y = Add(b, t)", "t = Gemm<alpha = 0.5>(x, w) y = Add(t, b)"]
)
@pytest.mark.parametrize("shape", [(6,), (1, 6), (1, 1)])
def test_bias(check, text, shape):
    done = check(f"(float[N, 8] x) => (float[N, 6] y) {{ {text} }}", w=W, b=BIAS[-shape[-1] :].reshape(shape))
    assert done.ops == {"Gemm": 1}


@pytest.mark.parametrize(
    "text",
    [
        "(float[N, S, 8] x) => (float[a] y) { t = MatMul(x, w) y = Add(t, b) }",
        "(float[8] x) => (float[a] y) { t = MatMul(x, w) y = Add(t, b) }",
        "(float[1, 8] x, float[N, 6] z) => (float[a] y) { t = MatMul(x, w) y = Add(t, z) }",
        "(float[N, 8] x) => (float[a] y, float[c] t) { t = MatMul(x, w) y = Add(t, b) }",
        "(float[N, 8] x) => (float[a] y) { t = Gemm(x, w, b) y = Add(t, b) }",
    ],
    ids=["rank 3", "vector", "widening", "shared", "has a bias"],
)
def test_bias_that_stays(check, text):
    assert check(text, w=W, b=BIAS).ops["Add"] == 1


def test_integer_products_stay(check):
    done = check(
        "(int32[N, 3] x) => (int32[N, 2] y) { t = MatMul(x, w) y = Add(t, b) }", w=np.ones((3, 2), np.int32), b=np.ones(2, np.int32)
    )
    assert done.ops == {"MatMul": 1, "Add": 1}


@pytest.mark.parametrize("product", ["MatMul(x, w)", "Gemm<transB = 1, alpha = 2.0>(x, wt)", "Gemm<beta = 0.5>(x, w, b)"])
def test_batch_norm(check, rng, product):
    weights = {k: (rng.random(6) + 0.5).astype(np.float32) for k in "smv"}
    done = check(
        f"(float[N, 8] x) => (float[N, 6] y) {{ t = {product} y = BatchNormalization(t, s, b, m, v) }}",
        w=W,
        wt=W.T.copy(),
        b=BIAS,
        **weights,
    )
    assert done.ops == {"Gemm": 1}


@pytest.mark.parametrize(
    ("text", "ops"),
    [
        ("y = Mul(t, k)", {"MatMul": 1}),
        ("a = Add(t, b) y = Mul(k, a)", {"MatMul": 1, "Add": 1}),
        ("a = Add(b, t) y = Div(a, k)", {"MatMul": 1, "Add": 1}),
    ],
)
def test_scale_per_column(check, text, ops):
    assert check("(float[N, S, 8] x) => (float[a] y) { t = MatMul(x, w) " + text + " }", w=W, b=BIAS, k=BIAS + 1).ops == ops


@pytest.mark.parametrize(
    ("head", "text", "k"),
    [
        ("(float[N, S, 8] x) => (float[a] y)", "y = Mul(t, k)", np.ones((5, 1), np.float32) * 2),
        ("(float[N, S, 8] x) => (float[a] y)", "y = Div(k, t)", BIAS + 1),
        ("(float[N, S, 8] x) => (float[a] y)", "y = Div(t, k)", BIAS),
        ("(float[N, S, 8] x) => (float[a] y, float[c] t)", "y = Mul(t, k)", BIAS),
        ("(float[S, 8] x) => (float[a] y)", "y = Mul(t, k)", np.ones((2, 1, 6), np.float32) * 2),
    ],
    ids=["per row", "divided", "by zero", "shared", "widening"],
)
def test_scale_that_stays(check, head, text, k):
    assert len(check(head + " { t = MatMul(x, w) " + text + " }", w=W, k=k).nodes) == 2
