"""Reductions that have a name of their own."""

from __future__ import annotations

import numpy as np
import pytest

AXES = {"a": np.array([-1, 2]), "last": np.array([-1]), "one": np.array([1])}


@pytest.mark.parametrize(("node", "factor"), [("Mul(t, c)", 1 / 12), ("Mul(c, t)", 1 / 12), ("Div(t, c)", 12)])
def test_mean(check, node, factor):
    done = check("(float[N, 4, 3, 4] x) => (float[a, b, c, d] y) { t = ReduceSum(x, a) y = " + node + " }", **AXES, c=np.float32(factor))
    assert done.ops == {"GlobalAveragePool": 1}


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("t = ReduceSum(x, a) y = Mul(t, c)", 1 / 11),
        ("t = ReduceSum(x, a) y = Div(c, t)", 12),
        ("t = ReduceMax(x, a) y = Mul(t, c)", 1 / 12),
    ],
    ids=["another number", "divided", "another reduction"],
)
def test_no_mean(check, text, factor):
    done = check("(float[N, 4, 3, 4] x) => (float[a, b, c, d] y) { " + text + " }", **AXES, c=np.float32(factor))
    assert len(done.nodes) == 2


def test_mean_of_unknown_size_stays(check):
    done = check("(float[N, S] x) => (float[N, 1] y) { t = ReduceSum(x, last) y = Mul(t, c) }", **AXES, c=np.float32(0.2))
    assert done.ops == {"ReduceSum": 1, "Mul": 1}


@pytest.mark.parametrize("node", ["Unsqueeze(t, last)", "Reshape(t, s)"])
def test_kept_dims(check, node):
    done = check(f"(float[N, 4] x) => (float[N, 1] y) {{ t = ReduceMax<keepdims = 0>(x, last) y = {node} }}", **AXES, s=np.array([-1, 1]))
    assert done.ops == {"ReduceMax": 1}


def test_dims_that_come_back_elsewhere(check):
    done = check("(float[N, 4] x) => (float[1, N] y) { t = ReduceMax<keepdims = 0>(x, last) y = Unsqueeze(t, z) }", **AXES, z=np.array([0]))
    assert len(done.nodes) == 2


@pytest.mark.parametrize(("shape", "axes"), [("N, 4, 3, 5", [2, 3]), ("N, 4, S, 5", [-1, -2]), ("N, 4, 3, 5, 2", [4, 2, 3])])
def test_global_average_pool(check, shape, axes):
    assert check(f"(float[{shape}] x) => (float[a, b, c, d] y) {{ t = ReduceMean(x, a) y = Neg(t) }}", a=np.array(axes)).ops == {
        "GlobalAveragePool": 1,
        "Neg": 1,
    }


def test_global_average_pool_without_dims(check):
    done = check("(float[N, 4, 3, 5] x) => (float[N, 4] y) { y = ReduceMean<keepdims = 0>(x, a) }", **AXES)
    assert done.ops == {"GlobalAveragePool": 1, "Squeeze": 1}


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        ("(float[N, 4, 3] x) => (float[a, b, c] y) { y = ReduceMean(x, a) }", [2]),
        ("(float[N, 4, 3, 2] x) => (float[a, b, c, d] y) { y = ReduceMean(x, a) }", [3]),
        ("(float[N, 4, 3, 2] x) => (float[a, b, c, d] y) { y = ReduceMean(x, a) }", [1, 2, 3]),
        ("(int32[N, 4, 3, 2] x) => (int32[a, b, c, d] y) { y = ReduceMean(x, a) }", [2, 3]),
        ("(float[N, 4, 3, 2] x) => (float[a, b, c, d] y) { y = ReduceMax(x, a) }", [2, 3]),
    ],
    ids=["rank 3", "one axis", "with channels", "integers", "max"],
)
def test_other_reductions_stay(check, text, axes):
    assert "GlobalAveragePool" not in check(text, a=np.array(axes)).ops


NORM = "(float[N, 4] x) => (float[N, 4] y) { n = ReduceL2(x, last) "


@pytest.mark.parametrize(
    ("text", "p"),
    [
        (NORM + "y = Div(x, n) }", 2),
        (NORM + "c = Clip(n, e) s = Shape(x) w = Expand(c, s) y = Div(x, w) }", 2),
        (NORM + "c = Max(n, e) y = Div(x, c) }", 2),
        (NORM + "c = Add(n, e) y = Div(x, c) }", 2),
        (NORM.replace("L2", "L1") + "y = Div(x, n) }", 1),
    ],
)
def test_lp_normalization(check, text, p):
    done = check(text, **AXES, e=np.float32(1e-12))
    assert done.ops == {"LpNormalization": 1}
    assert done.nodes[0].attrs == {"axis": 1, "p": p}


@pytest.mark.parametrize(
    ("text", "epsilon"),
    [
        (NORM + "c = Clip(n, e) y = Div(x, c) }", 1e-3),
        (NORM + "c = Clip(n, e, e2) y = Div(x, c) }", 1e-12),
        (NORM.replace("(x, last)", "(z, last)").replace("] x)", "] x, float[N, 4] z)") + "y = Div(x, n) }", 0),
        (NORM.replace("(float[N, 4] y)", "(float[N, 4] y, float[N, 1] n)") + "y = Div(x, n) }", 0),
        (NORM.replace("last)", "both)") + "y = Div(x, n) }", 0),
    ],
    ids=["large floor", "ceiling", "of another", "shared", "two axes"],
)
def test_no_lp_normalization(check, text, epsilon):
    done = check(text, **AXES, both=np.array([0, 1]), e=np.float32(epsilon), e2=np.float32(1))
    assert "LpNormalization" not in done.ops
