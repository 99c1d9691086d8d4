"""Per-channel arithmetic around convolutions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from sardonyx.passes import optimize

BN = ("s", "b", "m", "v")


def statistics(rng, channels, dtype=np.float32):
    return {k: (rng.random(channels) + 0.5).astype(dtype) for k in BN}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("group", "shape"), [(1, (6, 4, 3, 3)), (2, (6, 2, 3, 3)), (4, (8, 1, 3, 3))])
def test_batch_norm_after_conv(check, rng, group, shape, bias):
    w = rng.standard_normal(shape).astype(np.float32)
    extra = {"c": rng.standard_normal(shape[0]).astype(np.float32)} if bias else {}
    conv = f"Conv<group = {group}, pads = [1, 1, 1, 1], strides = [2, 1]>(x, w{', c' if bias else ''})"
    text = f"(float[N, 4, 7, 6] x) => (float[a] y) {{ t = {conv} y = BatchNormalization<epsilon = 0.01>(t, s, b, m, v) }}"
    assert check(text, w=w, **extra, **statistics(rng, shape[0])).ops == {"Conv": 1}


@pytest.mark.parametrize(("group", "shape"), [(1, (4, 6, 3, 3)), (2, (4, 3, 3, 3)), (4, (4, 2, 2, 2))])
def test_batch_norm_after_conv_transpose(check, rng, group, shape):
    w = rng.standard_normal(shape).astype(np.float32)
    conv = f"ConvTranspose<group = {group}, strides = [2, 1]>(x, w)"
    text = f"(float[N, 4, 7, 6] x) => (float[a] y) {{ t = {conv} y = BatchNormalization(t, s, b, m, v) }}"
    assert check(text, w=w, **statistics(rng, shape[1] * group)).ops == {"ConvTranspose": 1}


CONV = "(float[N, 4, 7, 6] x) => (float[a] y) { t = Conv(x, w) "


@pytest.mark.parametrize(
    ("node", "shape"),
    [
        ("Mul(t, k)", (6, 1, 1)),
        ("Mul(k, t)", (1,)),
        ("Div(t, k)", (1, 6, 1, 1)),
        ("Add(t, k)", (6, 1, 1)),
        ("Add(k, t)", ()),
        ("Sub(t, k)", (6, 1, 1)),
        ("Sub(k, t)", (1, 6, 1, 1)),
    ],
)
def test_constants_after_conv(check, rng, node, shape):
    weights = {"w": rng.standard_normal((6, 4, 3, 3)).astype(np.float32), "k": (rng.random(shape) + 1).astype(np.float32)}
    assert check(CONV + f"y = {node} }}", **weights).ops == {"Conv": 1}


@pytest.mark.parametrize(
    ("node", "shape"),
    [
        ("Mul(t, k)", (4,)),
        ("Add(t, k)", (1, 1, 5, 1)),
        ("Mul(t, k)", (1, 1, 1, 1, 1)),
        ("Add(t, k)", (2, 6, 1, 1)),
        ("Div(k, t)", (6, 1, 1)),
    ],
    ids=["per column", "per row", "widens", "per picture", "divided"],
)
def test_other_constants_after_conv_stay(check, rng, node, shape):
    weights = {"w": rng.standard_normal((6, 4, 3, 3)).astype(np.float32), "k": (rng.random(shape) + 1).astype(np.float32)}
    assert len(check(CONV + f"y = {node} }}", **weights).nodes) == 2


def test_chain_of_constants(check, rng):
    weights = {"w": rng.standard_normal((6, 4, 3, 3)).astype(np.float32), "k": rng.random((6, 1, 1)).astype(np.float32)}
    assert check(
        CONV + "a = Mul(t, k) b = Add(k, a) d = BatchNormalization(b, s, b0, m, v) y = Relu(d) }".replace("b0", "bb"),
        **weights,
        bb=np.ones(6, np.float32),
        **{k: v for k, v in statistics(rng, 6).items() if k != "b"},
    ).ops == {"Conv": 1, "Relu": 1}


def test_shared_conv_stays(check, rng):
    weights = {"w": rng.standard_normal((6, 4, 3, 3)).astype(np.float32), **statistics(rng, 6)}
    done = check("(float[N, 4, 7, 6] x) => (float[a] y, float[c] t) { t = Conv(x, w) y = BatchNormalization(t, s, b, m, v) }", **weights)
    assert done.ops == {"Conv": 1, "BatchNormalization": 1}


def test_training_batch_norm_stays(build, rng):
    weights = {"w": rng.standard_normal((6, 4, 3, 3)).astype(np.float32), **statistics(rng, 6)}
    graph = build(CONV + "y, p, q = BatchNormalization<training_mode = 1>(t, s, b, m, v) }", **weights).graph
    optimize(graph, "extended")
    assert [n.op for n in graph.nodes] == ["Conv", "BatchNormalization"]


def test_variable_statistics_stay(check, rng):
    weights = {"w": rng.standard_normal((6, 4, 3, 3)).astype(np.float32), **statistics(rng, 6)}
    del weights["m"]
    text = "(float[N, 4, 7, 6] x, float[6] m) => (float[a] y) { t = Conv(x, w) y = BatchNormalization(t, s, b, m, v) }"
    assert len(check(text, **weights).nodes) == 2


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ml_dtypes.bfloat16])
def test_other_dtypes(check, rng, dtype):
    name = {"float64": "double"}.get(np.dtype(dtype).name, np.dtype(dtype).name)
    w = (rng.standard_normal((6, 4, 3, 3)) / 6).astype(dtype)
    done = check(
        f"({name}[1, 4, 5, 5] x) => ({name}[a] y) {{ t = Conv(x, w) y = BatchNormalization(t, s, b, m, v) }}",
        w=w,
        **statistics(rng, 6, dtype),
    )
    assert done.ops == {"Conv": 1}
    assert done.nodes[0].inputs[1].dtype == dtype


def test_half_precision_that_would_overflow_stays(build, rng):
    w = rng.standard_normal((6, 4, 3, 3)).astype(np.float16)
    values = statistics(rng, 6, np.float16) | {"v": np.zeros(6, np.float16), "s": np.full(6, 60000, np.float16)}
    graph = build("(float16[1, 4, 5, 5] x) => (float16[a] y) { t = Conv(x, w) y = BatchNormalization(t, s, b, m, v) }", w=w, **values).graph
    optimize(graph, "extended")
    assert len(graph.nodes) == 2


def test_large_weights_are_scaled_when_they_are_read(build, rng):
    w = rng.standard_normal((64, 64, 3, 3)).astype(np.float32)
    graph = build(
        "(float[1, 64, 8, 8] x) => (float[a] y) { t = Conv(x, w) y = BatchNormalization(t, s, b, m, v) }", w=w, **statistics(rng, 64)
    ).graph
    optimize(graph, "extended")
    tensor = graph.nodes[0].inputs[1].const
    assert tensor._array is None
    assert tensor.numpy().shape == (64, 64, 3, 3)
    assert tensor.numpy() is tensor.numpy()


@pytest.mark.parametrize(
    "norm", ["BatchNormalization(x, s, b, m, v)", "InstanceNormalization(x, s, b)", "GroupNormalization<num_groups = 2>(x, s, b)"]
)
@pytest.mark.parametrize("op", ["Mul(t, k)", "Add(k, t)", "Sub(k, t)", "Sub(t, k)"])
def test_constants_after_normalizations(check, rng, norm, op):
    done = check(
        f"(float[N, 6, 4, 3] x) => (float[a, b, c, d] y) {{ t = {norm} y = {op} }}",
        k=rng.random((6, 1, 1)).astype(np.float32),
        **statistics(rng, 6),
    )
    assert len(done.nodes) == 1


@pytest.mark.parametrize(
    ("node", "attrs", "left"),
    [
        ("Mul(x, k)", "pads = [1, 1, 1, 1], group = 2", 1),
        ("Add(x, k)", "group = 2", 1),
        ("Sub(x, k)", "group = 2", 1),
        ("Add(x, k)", "pads = [1, 1, 1, 1], group = 2", 2),
        ("Add(x, k)", 'auto_pad = "SAME_UPPER", group = 2', 2),
        ("Sub(k, x)", "group = 2", 2),
    ],
)
def test_constants_before_conv(check, rng, node, attrs, left):
    weights = {
        "w": rng.standard_normal((6, 2, 3, 3)).astype(np.float32),
        "c": rng.random(6).astype(np.float32),
        "k": rng.random((4, 1, 1)).astype(np.float32),
    }
    assert len(check(f"(float[N, 4, 7, 6] x) => (float[a] y) {{ t = {node} y = Conv<{attrs}>(t, w, c) }}", **weights).nodes) == left
