import numpy as np
import pytest
from scipy import special

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

RNG = np.random.default_rng(2)
TOKENS, HIDDEN, INTER, EXPERTS = 5, 16, 32, 4
X = RNG.standard_normal((TOKENS, HIDDEN)).astype(np.float32)
ROUTER = RNG.standard_normal((TOKENS, EXPERTS)).astype(np.float32)


def run(op, *inputs, **attributes):
    return kernels.find("com.microsoft", op, 1).function(np, *inputs, **attributes)


def weights(*shape):
    return RNG.standard_normal((EXPERTS, *shape)).astype(np.float32)


def expected(k, normalize, layer1, b1, layer2, b2, function, mixing=None):
    y = np.zeros((TOKENS, HIDDEN))
    share = special.softmax(ROUTER.astype(float), axis=1) if mixing is None else mixing
    for t in range(TOKENS):
        best = np.argsort(-ROUTER[t])[:k]
        part = share[t, best] / (share[t, best].sum() if normalize else 1)
        for expert, weight in zip(best, part, strict=True):
            y[t] += weight * (layer2[expert] @ function(layer1[expert] @ X[t] + b1[expert]) + b2[expert])
    return y


def tanh_gelu(x):
    return x * special.expit(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))


FUNCTIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": tanh_gelu,
    "silu": lambda x: x * special.expit(x),
    "identity": lambda x: x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("k", "normalize"), [(1, 0), (2, 0), (2, 1), (4, 1)])
def test_moe(name, k, normalize):
    parts = (weights(INTER, HIDDEN), weights(INTER), weights(HIDDEN, INTER), weights(HIDDEN))
    got = run("MoE", X, ROUTER, *parts, k=k, normalize_routing_weights=normalize, activation_type=name)
    np.testing.assert_allclose(got, expected(k, normalize, *parts, FUNCTIONS[name]), rtol=1e-4, atol=1e-4)


def swiglu(gate, up):
    gate, up = np.minimum(gate, 1.5), np.clip(up, -1.5, 1.5)
    return gate * special.expit(1.7 * gate) * (up + 1)


@pytest.mark.parametrize("fusion", [0, 1, 2])
def test_swiglu_layouts_agree(fusion):
    gate, up = weights(INTER, HIDDEN), weights(INTER, HIDDEN)
    second, no_bias = weights(HIDDEN, INTER), np.zeros((EXPERTS, 1), np.float32)
    both = {0: gate, 1: np.stack([gate, up], axis=2).reshape(EXPERTS, -1, HIDDEN), 2: np.concatenate([gate, up], axis=1)}[fusion]
    got = run(
        "MoE",
        X,
        ROUTER,
        both,
        None,
        second,
        None,
        up if fusion == 0 else None,
        activation_type="swiglu",
        swiglu_fusion=fusion,
        swiglu_limit=1.5,
        activation_alpha=1.7,
        activation_beta=1.0,
    )
    joined = np.concatenate([gate, up], axis=1)
    reference = expected(1, 0, joined, no_bias, second, no_bias, lambda v: swiglu(v[:INTER], v[INTER:]))
    np.testing.assert_allclose(got, reference, rtol=1e-4, atol=1e-4)


def quantized(layer, bits, block, with_zeros):
    """Codes, scales and zero points, packed, of a layer, and the weights they stand for."""
    size = layer.shape[2]
    parts = layer.reshape(*layer.shape[:2], -1, block or size)
    top = (1 << bits) - 1
    scale = np.ptp(parts, axis=-1) / top if with_zeros else np.abs(parts).max(axis=-1) / (top // 2)
    zero = np.rint(-parts.min(axis=-1) / scale) if with_zeros else np.full(scale.shape, 1 << (bits - 1))
    zero = np.clip(zero, 0, top).astype(int)
    codes = np.clip(np.rint(parts / scale[..., None]) + zero[..., None], 0, top).astype(int)
    real = ((codes - zero[..., None]) * scale[..., None]).reshape(layer.shape)
    scale, zero = (scale, zero) if block else (scale[..., 0], zero[..., 0])
    return pack(codes.reshape(layer.shape), bits), scale.astype(np.float32), pack(zero, bits) if with_zeros else None, real


def pack(numbers, bits):
    digits = (numbers[..., None] >> np.arange(bits)) & 1
    return np.packbits(digits.reshape(*numbers.shape[:-1], -1).astype(np.uint8), axis=-1, bitorder="little")


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [None, 16])
@pytest.mark.parametrize("with_zeros", [False, True])
def test_qmoe(bits, block, with_zeros):
    first, b1, second, b2 = weights(INTER, HIDDEN), weights(INTER), weights(HIDDEN, INTER), weights(HIDDEN)
    w1, s1, z1, real1 = quantized(first, bits, block, with_zeros)
    w2, s2, z2, real2 = quantized(second, bits, block, with_zeros)
    inputs = (X.reshape(1, TOKENS, HIDDEN), ROUTER, w1, s1, b1, w2, s2, b2, None, None, None, z1, z2)
    options = {"k": 2, "normalize_routing_weights": 1, "activation_type": "silu", "expert_weight_bits": bits, "block_size": block}
    got = run("QMoE", *inputs, **options)
    np.testing.assert_allclose(got[0], expected(2, 1, real1, b1, real2, b2, FUNCTIONS["silu"]), rtol=1e-3, atol=1e-3)
    mixing = np.abs(ROUTER) + 1
    got = run("QMoE", *inputs, None, mixing, **options)
    np.testing.assert_allclose(got[0], expected(2, 1, real1, b1, real2, b2, FUNCTIONS["silu"], mixing), rtol=1e-3, atol=1e-3)


def test_what_does_not_fit_is_refused():
    parts = (weights(INTER, HIDDEN), weights(INTER), weights(HIDDEN, INTER), weights(HIDDEN))
    with pytest.raises(NodeError, match="activation_type='tanh'"):
        run("MoE", X, ROUTER, *parts, activation_type="tanh")
    with pytest.raises(NodeError, match="k=5"):
        run("MoE", X, ROUTER, *parts, k=5)
    with pytest.raises(NodeError, match="features"):
        run("MoE", X[:, :4], ROUTER, *parts)
    with pytest.raises(NodeError, match="swiglu_fusion=0"):
        run("MoE", X, ROUTER, *parts, activation_type="swiglu")
