import ml_dtypes
import numpy as np
import pytest
from scipy import special

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

BF16 = ml_dtypes.bfloat16
TOLERANCE = {np.float16: 2.0**-10, BF16: 2.0**-7, np.float32: 5e-6, np.float64: 1e-13}


def run(op, *inputs, since=99, **attributes):
    with np.errstate(all="ignore"):
        return kernels.find("", op, since).function(np, *inputs, **attributes)


def unit(x, gain=1.0, alpha=1.0, width=1.0):
    return gain * np.where(x > 0, x, alpha * np.expm1(x / width))


CASES = [
    ("Sigmoid", {}, special.expit),
    ("Swish", {"alpha": 1.5}, lambda x: x * special.expit(1.5 * x)),
    ("Gelu", {}, lambda x: x * special.ndtr(x)),
    ("Gelu", {"approximate": "tanh"}, lambda x: x * special.expit(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ("Mish", {}, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    ("Softplus", {}, lambda x: np.logaddexp(0, x)),
    ("Softsign", {}, lambda x: x / (1 + abs(x))),
    ("Elu", {"alpha": 2.0}, lambda x: unit(x, alpha=2)),
    ("Selu", {}, lambda x: unit(x, 1.0507010221481323, 1.6732631921768188)),
    ("Celu", {"alpha": 2.0}, lambda x: unit(x, alpha=2, width=2)),
    ("Relu", {}, lambda x: np.maximum(x, 0)),
    ("LeakyRelu", {"alpha": 0.1}, lambda x: np.where(x < 0, 0.1 * x, x)),
    ("LeakyRelu", {"alpha": 3.0}, lambda x: np.where(x < 0, 3 * x, x)),
    ("LeakyRelu", {"alpha": -0.5}, lambda x: np.where(x < 0, -0.5 * x, x)),
    ("HardSigmoid", {"alpha": 0.25, "beta": 0.75}, lambda x: np.clip(0.25 * x + 0.75, 0, 1)),
    ("HardSwish", {}, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    ("ThresholdedRelu", {"alpha": 0.75}, lambda x: np.where(x > 0.75, x, 0)),
    ("Shrink", {"bias": 1.5, "lambd": 0.5}, lambda x: np.where(x > 0.5, x - 1.5, np.where(x < -0.5, x + 1.5, 0))),
]


@pytest.mark.parametrize(("op", "attributes", "formula"), CASES, ids=lambda v: v if isinstance(v, str) else "")
@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda d: d.__name__)
def test_activation(op, attributes, formula, dtype):
    x = np.concatenate([np.linspace(-9, 9, 721), [0.0, 1e-3, -1e-3]]).astype(dtype).reshape(4, -1)
    exact = formula(x.astype(np.float64))
    got = run(op, x, **attributes)
    assert got.dtype == dtype
    least = 0 if dtype in (np.float64, np.float32) else float(ml_dtypes.finfo(dtype).smallest_normal)
    np.testing.assert_allclose(got.astype(np.float64), exact, rtol=TOLERANCE[dtype], atol=max(least, 2e-16))
    assert run(op, x[:0], **attributes).shape == (0, x.shape[1])
    assert np.shape(run(op, x[0, 0].reshape(()), **attributes)) == ()
    np.testing.assert_array_equal(run(op, x.T, **attributes), got.T)


@pytest.mark.parametrize(("op", "attributes", "formula"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_far_ends(op, attributes, formula):
    x = np.float32([-100, 100, -1e30, 1e30])
    if op in ("Swish", "Mish") or attributes.get("approximate") == "tanh":
        x = x[:2]
    with np.errstate(all="ignore"):
        exact = formula(x.astype(np.float64)) if op != "Mish" else np.float32([0, 100])
    np.testing.assert_allclose(run(op, x, **attributes), exact, rtol=1e-6, atol=1e-30)


@pytest.mark.parametrize("op", [op for op, _, _ in CASES if op not in ("ThresholdedRelu", "Shrink")])
def test_nan_stays(op):
    assert np.isnan(run(op, np.float32([np.nan]))).all()


def test_softplus_neither_cancels_nor_overflows():
    np.testing.assert_allclose(run("Softplus", np.float32([-12.3392, 100, -80])), [4.37676e-6, 100, np.exp(-80)], rtol=1e-5)


def test_gelu_tail_keeps_relative_accuracy():
    x = np.linspace(-12, -3, 1001, dtype=np.float32)
    np.testing.assert_allclose(run("Gelu", x), x.astype(np.float64) * special.ndtr(x.astype(np.float64)), rtol=1e-5)
    with pytest.raises(NodeError, match="approximate='erf'"):
        run("Gelu", x, approximate="erf")


def test_prelu_broadcasts_one_way_only():
    x = np.float32([[-1, 2], [-3, -4]])
    assert run("PRelu", x, np.float32([2, 3])).tolist() == [[-2, 2], [-6, -12]]
    assert run("PRelu", np.int32([-1, 2]), np.int32([5])).tolist() == [-5, 2]
    assert run("PRelu", np.uint32([1, 2]), np.uint32([5])).tolist() == [1, 2]
    with pytest.raises((NodeError, ValueError)):
        run("PRelu", np.float32([-1]), np.float32([1, 2]))


def test_prelu_6_takes_a_slope_per_channel():
    x = -np.ones((1, 3, 2, 2), np.float32)
    assert run("PRelu", x, np.float32([1, 2, 3]), since=6)[0, :, 0, 0].tolist() == [-1, -2, -3]
    assert run("PRelu", x, np.float32([4]), since=1, consumed_inputs=[0]).max() == -4


def test_swiglu():
    a, b = np.float32([1, -2]), np.float32([3, 4])
    np.testing.assert_allclose(run("SwiGLU", a, b, alpha=2.0), a * special.expit(2.0 * a) * b, rtol=1e-6)
    with pytest.raises(NodeError, match="equal"):
        run("SwiGLU", a, b[:1])


def test_shrink_of_integers():
    assert run("Shrink", np.int32([-3, 0, 3]), bias=1.5, lambd=1.0).tolist() == [-1, 0, 1]
    assert run("Shrink", np.uint8([200, 1]), bias=-100.0, lambd=1.0).tolist() == [44, 0]
