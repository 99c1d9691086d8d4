"""Gelu: the spellings that fuse, and what only looks like them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from sardonyx.passes import optimize

HEAD = "(float[N, 8] x) => (float[N, 8] y) <float half = {0.5}, float one = {1.0}, float root = {1.41421356}>"
ERF = {
    "torch": "d = Div(x, root) e = Erf(d) a = Add(e, one) h = Mul(half, a) y = Mul(x, h)",
    "half first": "d = Div(x, root) e = Erf(d) a = Add(one, e) h = Mul(x, half) y = Mul(h, a)",
    "half last": "d = Div(x, root) e = Erf(d) a = Add(e, one) h = Mul(x, a) y = Mul(h, half)",
    "times inverse": "i = Constant<value_float = 0.70710678>() d = Mul(i, x) e = Erf(d) a = Add(e, one) h = Mul(a, half) y = Mul(h, x)",
    "halved inside": "d = Div(x, root) e = Erf(d) s = Mul(e, half) a = Add(s, half) y = Mul(a, x)",
    "divided by two": "t = Constant<value_float = 2.0>() d = Div(x, root) e = Erf(d) a = Add(e, one) h = Mul(x, a) y = Div(h, t)",
}


@pytest.mark.parametrize("body", ERF.values(), ids=ERF)
def test_exact_form(check, body):
    done = check(HEAD + " {" + body + "}")
    assert done.ops == {"Gelu": 1}
    assert "approximate" not in done.nodes[0].attrs


TANH_HEAD = """(float[N, 8] x) => (float[N, 8] y)
    <float half = {0.5}, float one = {1.0}, float k = {0.044715}, float r = {0.7978846}, float three = {3.0}>"""
TANH = {
    "pow": "c = Pow(x, three) d = Mul(c, k) e = Add(x, d) f = Mul(e, r) g = Tanh(f) h = Add(g, one) i = Mul(x, half) y = Mul(i, h)",
    "products": """a = Mul(k, x) b = Mul(x, a) c = Mul(x, b) e = Add(x, c) f = Mul(r, e) g = Tanh(f)
        h = Add(one, g) i = Mul(half, h) y = Mul(x, i)""",
    "factored": """a = Mul(x, x) b = Mul(a, k) c = Add(b, one) d = Mul(x, r) f = Mul(d, c) g = Tanh(f)
        h = Add(g, one) i = Mul(x, h) y = Mul(i, half)""",
}


@pytest.mark.parametrize("body", TANH.values(), ids=TANH)
def test_tanh_form(check, body):
    done = check(TANH_HEAD + " {" + body + "}")
    assert done.ops == {"Gelu": 1}
    assert done.nodes[0].attrs == {"approximate": "tanh"}


@pytest.mark.parametrize(
    "body",
    [
        "two = Constant<value_float = 2.0>() d = Div(x, two) e = Erf(d) a = Add(e, one) h = Mul(half, a) y = Mul(x, h)",
        "d = Div(x, root) e = Erf(d) a = Add(e, half) h = Mul(half, a) y = Mul(x, h)",
        "d = Div(x, root) e = Erf(d) a = Add(e, one) h = Mul(one, a) y = Mul(x, h)",
        "z = Neg(x) d = Div(z, root) e = Erf(d) a = Add(e, one) h = Mul(half, a) y = Mul(x, h)",
        "c = Cos(x) d = Div(c, root) e = Erf(d) a = Add(e, one) h = Mul(half, a) y = Mul(x, h)",
    ],
    ids=["other scale", "other bias", "not halved", "mirrored", "of something else"],
)
def test_other_functions_stay(check, body):
    assert "Gelu" not in check(HEAD + " {" + body + "}").ops


def test_shared_erf_stays(check):
    done = check(HEAD.replace("(float[N, 8] y)", "(float[N, 8] y, float[N, 8] e)") + " {" + ERF["torch"] + "}")
    assert done.ops["Gelu"] == 0
    assert done.ops["Erf"] == 1


def test_constant_that_widens_stays(check):
    done = check(
        """(float[8] x) => (float[1, 8] y) <float[1,1] half = {0.5}, float one = {1.0}, float root = {1.41421356}> {
            d = Div(x, root) e = Erf(d) a = Add(e, one) h = Mul(half, a) y = Mul(x, h) }"""
    )
    assert "Gelu" not in done.ops


@pytest.mark.parametrize(("dtype", "numpy_dtype"), [("float16", np.float16), ("double", np.float64), ("bfloat16", ml_dtypes.bfloat16)])
def test_other_dtypes(check, dtype, numpy_dtype):
    constants = {"half": 0.5, "one": 1.0, "root": 2**0.5}
    done = check(
        f"({dtype}[N, 8] x) => ({dtype}[N, 8] y) {{ {ERF['torch']} }}", **{k: np.asarray(v, numpy_dtype) for k, v in constants.items()}
    )
    assert done.ops == {"Gelu": 1}


def test_origins_are_those_of_all_matched_nodes(build):
    from sardonyx.passes import optimize

    graph = build(HEAD + " {" + ERF["torch"] + "}").graph
    names = {n.name for n in graph.nodes}
    optimize(graph, "extended")
    assert set(graph.nodes[0].origins) == names


def test_the_last_factor_stays_with_the_activation_before_a_convolution(build):
    """Otherwise it ends in the convolution's weights, and what remains is no Gelu."""
    graph = build(
        """(float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y)
        <float[3, 2, 1, 1] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, float r = {1.4142135}, float one = {1.0}, float half = {0.5}>
        { d = Div(x, r) e = Erf(d) s = Add(e, one) p = Mul(x, s) g = Mul(p, half) y = Conv(g, w) }"""
    ).graph
    optimize(graph, "all")
    assert [n.op for n in graph.nodes] == ["Gelu", "Conv"]
