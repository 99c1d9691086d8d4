"""com.microsoft operators become standard ones where they mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx.passes import optimize

MS = "com.microsoft."
G = {"g": np.arange(1, 9, dtype=np.float32), "b": np.arange(8, dtype=np.float32) / 3, "c": np.ones(8, np.float32) / 2}
H = "(float[N, S, 8] x, float[N, S, 8] z) => (float[N, S, 8] y) { "
SAME = {
    "Gelu": ("y = {}Gelu(x)", {"Gelu": 1}),
    "FastGelu": ("y = {}FastGelu(x)", {"Gelu": 1}),
    "FastGelu with bias": ("y = {}FastGelu(x, b)", {"Add": 1, "Gelu": 1}),
    "BiasGelu": ("y = {}BiasGelu(x, b)", {"Add": 1, "Gelu": 1}),
    "QuickGelu": ("y = {}QuickGelu<alpha = 1.5>(x)", {"Swish": 1}),
    "SimplifiedLayerNormalization": ("y = {}SimplifiedLayerNormalization<epsilon = 0.001>(x, g)", {"RMSNormalization": 1}),
    "SkipLayerNormalization": ("y = {}SkipLayerNormalization(x, z, g)", {"Add": 1, "LayerNormalization": 1}),
    "SkipLayerNormalization with biases": (
        "y = {}SkipLayerNormalization<epsilon = 0.1>(x, z, g, b, c)",
        {"Add": 2, "LayerNormalization": 1},
    ),
    "SkipSimplifiedLayerNormalization": ("y = {}SkipSimplifiedLayerNormalization(x, z, g, b)", {"Add": 2, "RMSNormalization": 1}),
    "Trilu": ("y = {}Trilu<upper = 0>(x)", {"Trilu": 1}),
}


@pytest.mark.parametrize(("body", "ops"), SAME.values(), ids=SAME)
def test_same(check, body, ops):
    assert check(H + body.format(MS) + " }", **G).ops == ops


def test_the_sum_of_a_skip_is_the_add(check):
    text = H.replace("y) {", "y, float[N, S, 8] sum) {") + f"y, , , sum = {MS}SkipLayerNormalization(x, z, g, b) }}"
    assert check(text, **G).ops == {"Add": 1, "LayerNormalization": 1}


@pytest.mark.parametrize(
    ("outputs", "node"),
    [
        ("float[N, S, 1] mean", "y, mean = {}SkipLayerNormalization(x, z, g, b)"),
        ("float[N, S, 1] inv", "y, inv = {}SimplifiedLayerNormalization(x, g)"),
    ],
)
def test_used_statistics_keep_the_operator(build, outputs, node):
    graph = build(H.replace("y) {", f"y, {outputs}) {{") + node.format(MS) + " }", **G).graph
    optimize(graph, "extended")
    assert [n.domain for n in graph.nodes] == ["com.microsoft"]


W = np.random.default_rng(4).standard_normal((6, 8)).astype(np.float32)


@pytest.mark.parametrize(
    ("attrs", "ops"),
    [
        ("<transB = 1>", {"MatMul": 1}),
        ("<transB = 1, alpha = 0.5>", {"MatMul": 1}),
    ],
)
def test_fused_matmul(check, attrs, ops):
    assert check(f"(float[N, S, 8] x) => (float[N, S, 6] y) {{ y = {MS}FusedMatMul{attrs}(x, w) }}", w=W).ops == ops


def test_fused_matmul_of_variables(check):
    done = check(f"(float[N, S, 8] x, float[N, S, 6] z) => (float[a, b, c] y) {{ y = {MS}FusedMatMul<transA = 1, alpha = 2.0>(x, z) }}")
    assert done.ops == {"Transpose": 1, "MatMul": 1, "Mul": 1}


def test_fused_matmul_of_moved_batches_stays(build):
    graph = build(f"(float[2, 3, 8] x, float[2, 8, 6] z) => (float[a, b, c] y) {{ y = {MS}FusedMatMul<transBatchA = 1>(x, z) }}").graph
    optimize(graph, "extended")
    assert graph.nodes[0].op == "FusedMatMul"


@pytest.mark.parametrize(
    ("attrs", "op"),
    [
        ('activation = "Relu"', "Relu"),
        ('activation = "LeakyRelu", activation_params = [0.2]', "LeakyRelu"),
        ('activation = "Clip", activation_params = [-0.5, 0.5]', "Clip"),
        ('activation = "HardSigmoid", activation_params = [0.3, 0.4]', "HardSigmoid"),
        ('activation = "Tanh"', "Tanh"),
    ],
)
def test_fused_conv(check, rng, attrs, op):
    weights = {"w": rng.standard_normal((6, 4, 3, 3)).astype(np.float32), "b": np.ones(6, np.float32)}
    done = check(
        f"(float[N, 4, 7, 6] x) => (float[a, b0, c, d] y) {{ y = {MS}FusedConv<pads = [1, 1, 1, 1], {attrs}>(x, w, b) }}", **weights
    )
    assert done.ops == {"Conv": 1, op: 1}


def test_fused_conv_with_a_sum(check, rng):
    weights = {"w": rng.standard_normal((4, 4, 1, 1)).astype(np.float32), "b": np.ones(4, np.float32)}
    done = check(
        f'(float[N, 4, 7, 6] x, float[N, 4, 7, 6] z) => (float[a, b0, c, d] y) {{ y = {MS}FusedConv<activation = "Relu">(x, w, b, z) }}',
        **weights,
    )
    assert done.ops == {"Conv": 1, "Add": 1, "Relu": 1}


def test_fused_gemm(check):
    done = check(
        f'(float[N, 8] x) => (float[N, 6] y) {{ y = {MS}FusedGemm<transB = 1, activation = "LeakyRelu", activation_alpha = 0.3>(x, w) }}',
        w=W,
    )
    assert done.ops == {"Gemm": 1, "LeakyRelu": 1}


def test_expand_dims(check):
    assert check(f"(float[N, 4] x) => (float[N, 1, 4] y) {{ y = {MS}ExpandDims(x, a) }}", a=np.array(1, np.int32)).ops == {"Unsqueeze": 1}


@pytest.mark.parametrize("scale", [np.float32(0.1), np.float32([0.1, 0.2, 0.3, 0.4])])
def test_quantization(check, scale):
    axis = "<axis = 1>" if scale.ndim else ""
    done = check(
        f"(float[N, 4] x) => (float[N, 4] y) {{ q = {MS}QuantizeLinear{axis}(x, s, z) y = {MS}DequantizeLinear{axis}(q, s, z) }}",
        s=scale,
        z=np.zeros(scale.shape, np.uint8) + np.uint8(3),
    )
    assert done.ops == {"QuantizeLinear": 1, "DequantizeLinear": 1}


TABLE = np.random.default_rng(5).random((10, 4)).astype(np.float32)
IDS = {"ids": np.array([[1, 3, 4, 0, 9]] * 2)}


@pytest.mark.parametrize(("head", "attrs"), [("N, 3, 5, 8", ""), ("N, 5, 24", ""), ("N, 5, 24", "<num_heads = 3, interleaved = 1>")])
def test_rotary(check, head, attrs):
    done = check(
        f"(float[{head}] x, int64[N, 5] ids) => (float[{head}] y) {{ y = {MS}RotaryEmbedding{attrs}(x, ids, c, s) }}",
        feeds=IDS,
        c=np.cos(TABLE),
        s=np.sin(TABLE),
    )
    assert (done.nodes[0].domain, done.nodes[0].op) == ("", "RotaryEmbedding")


def test_rotary_with_an_offset_stays(build):
    graph = build(
        f"(float[N, 3, 5, 8] x, int64[1] at) => (float[N, 3, 5, 8] y) {{ y = {MS}RotaryEmbedding(x, at, c, s) }}",
        c=np.cos(TABLE),
        s=np.sin(TABLE),
    ).graph
    optimize(graph, "extended")
    assert graph.nodes[0].domain == "com.microsoft"


MHA = (
    "(float[N, S, 12] q, float[N, T, 12] k, float[N, T, 12] v{}) => (float[N, S, 12] y{}) {{ {} = "
    + MS
    + "MultiHeadAttention<num_heads = 3{}>({}) }}"
)
BIAS = {"bias": np.random.default_rng(6).standard_normal(36).astype(np.float32)}


@pytest.mark.parametrize(
    ("inputs", "outputs", "results", "attrs", "operands"),
    [
        ("", "", "y", "", "q, k, v"),
        ("", "", "y", ", scale = 0.3", "q, k, v, bias"),
        (", float[N, 3, S, T] m", "", "y", "", "q, k, v, , , m"),
        (
            ", float[N, 3, P, 4] pk, float[N, 3, P, 4] pv",
            ", float[a, b, c, d] nk, float[e, f, g, h] nv",
            "y, nk, nv",
            "",
            "q, k, v, bias, , , pk, pv",
        ),
    ],
    ids=["plain", "bias", "attention bias", "past"],
)
def test_multi_head_attention(check, inputs, outputs, results, attrs, operands):
    done = check(MHA.format(inputs, outputs, results, attrs, operands), dims={"T": 7, "P": 4}, **BIAS, rtol=1e-4)
    assert done.ops["Attention"] == 1


def test_multi_head_attention_with_padding_stays(build):
    graph = build(MHA.format(", int32[N, T] m", "", "y", "", "q, k, v, , m")).graph
    optimize(graph, "extended")
    assert graph.nodes[0].op == "MultiHeadAttention"
