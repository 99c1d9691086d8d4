import numpy as np
import pytest
from scipy import special

from sardonyx_ep_cpu.kernels import kernels

RNG = np.random.default_rng(0)


def run(op, *inputs, **attributes):
    return kernels.find("com.microsoft", op, 1).function(np, *inputs, **attributes)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("batch", "trans", "axes", "b_axes"),
    [(0, 0, "bcmk", "bckn"), (0, 1, "bckm", "bcnk"), (1, 0, "mbck", "kbcn"), (1, 1, "kbcm", "nbck")],
)
def test_fused_matmul_arranges_its_operands(batch, trans, axes, b_axes):
    sizes = {"b": 2, "c": 3, "m": 4, "k": 5, "n": 6}
    a, b = normal(*(sizes[x] for x in axes)), normal(2, 3, 5, 6)
    exact = 0.5 * np.einsum(f"{axes},bckn->bcmn", a.astype(float), b.astype(float))
    np.testing.assert_allclose(run("FusedMatMul", a, b, alpha=0.5, transA=trans, transBatchA=batch), exact, rtol=1e-4, atol=1e-6)
    a, b = normal(2, 3, 4, 5), normal(*(sizes[x] for x in b_axes))
    exact = np.einsum(f"bcmk,{b_axes}->bcmn", a.astype(float), b.astype(float))
    np.testing.assert_allclose(run("FusedMatMul", a, b, transB=trans, transBatchB=batch), exact, rtol=1e-4, atol=1e-5)


def test_fused_matmul_of_vectors_and_half():
    a, b = normal(5), normal(5, 3)
    np.testing.assert_allclose(run("FusedMatMul", a, b, transA=1), a @ b, rtol=1e-5)
    got = run("FusedMatMul", a.astype(np.float16), a.astype(np.float16), alpha=2.0)
    assert got.dtype == np.float16
    assert got.shape == ()


@pytest.mark.parametrize(
    ("attributes", "formula"),
    [
        ({}, lambda x: x),
        ({"activation": "Relu"}, lambda x: np.maximum(x, 0)),
        ({"activation": "LeakyRelu", "activation_alpha": 0.25}, lambda x: np.where(x < 0, 0.25 * x, x)),
        ({"activation": "HardSigmoid", "activation_alpha": 0.25, "activation_beta": 0.5}, lambda x: np.clip(0.25 * x + 0.5, 0, 1)),
    ],
)
def test_fused_gemm(attributes, formula):
    a, b, c = normal(3, 4), normal(5, 4), normal(5)
    exact = formula(2.0 * a.astype(float) @ b.T.astype(float) + c.astype(float))
    np.testing.assert_allclose(run("FusedGemm", a, b, c, alpha=2.0, transB=1, **attributes), exact, rtol=1e-5, atol=1e-5)


def test_activations_with_bias():
    x, b = normal(2, 3, 8), normal(8)
    y = (x + b).astype(float)
    np.testing.assert_allclose(run("BiasGelu", x, b), y * special.ndtr(y), rtol=1e-5, atol=1e-6)
    tanh_form = 0.5 * y * (1 + np.tanh(0.797885 * y + 0.035677 * y**3))
    np.testing.assert_allclose(run("FastGelu", x, b), tanh_form, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(run("QuickGelu", x), x * special.expit(1.702 * x.astype(float)), rtol=1e-5, atol=1e-6)
    halves = y[..., :4] * (y[..., 4:] * special.ndtr(y[..., 4:]))
    np.testing.assert_allclose(run("BiasSplitGelu", x, b), halves, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(run("BiasAdd", x, b, x), y + x, rtol=1e-6)
    product = x.astype(float) @ np.eye(8)[:, :3] + b[:3]
    tanh_form = 0.5 * product * (1 + np.tanh(0.797885 * product + 0.035677 * product**3))
    np.testing.assert_allclose(run("GemmFastGelu", x, np.eye(8, 3, dtype=np.float32), b[:3]), tanh_form, rtol=1e-4, atol=1e-5)
