import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

RNG = np.random.default_rng(0)
ANGLES = RNG.random((20, 4)) * 3
COS, SIN = np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)
POSITIONS = np.array([[3, 4, 19], [0, 1, 2]])


def run(*inputs, domain="", **attributes):
    return kernels.find(domain, "RotaryEmbedding", 99).function(np, *inputs, **attributes)


def turned(x, angles, interleaved):
    """x (batch, heads, sequence, size) times exp(i angle), pair by pair; angles (batch, sequence, half)."""
    half = angles.shape[-1]
    x = x.astype(np.float64)
    first, second = (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if interleaved else (slice(0, half), slice(half, 2 * half))
    z = (x[..., first] + 1j * x[..., second]) * np.exp(1j * angles[:, None])
    y = x.copy()
    y[..., first], y[..., second] = z.real, z.imag
    return y


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("size", [8, 12])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-5), (np.float16, 2e-3), (ml_dtypes.bfloat16, 1e-2)])
def test_rotation(interleaved, size, dtype, rtol):
    x = RNG.standard_normal((2, 5, 3, size)).astype(dtype)
    cos, sin = COS.astype(dtype), SIN.astype(dtype)
    dim = 0 if size == 8 else 8
    right = turned(x, ANGLES[POSITIONS], interleaved)
    packed, packed_right = (v.swapaxes(1, 2).reshape(2, 3, 5 * size) for v in (x, right))
    options = {"interleaved": interleaved, "rotary_embedding_dim": dim}
    for got, wanted in (
        (run(x, cos, sin, POSITIONS, **options), right),
        (run(x, cos[POSITIONS], sin[POSITIONS], **options), right),
        (run(packed, cos, sin, POSITIONS, num_heads=5, **options), packed_right),
        (run(x, POSITIONS, cos, sin, domain="com.microsoft", **options), right),
        (run(packed, POSITIONS, cos, sin, domain="com.microsoft", num_heads=5, **options), packed_right),
    ):
        assert got.dtype == dtype
        np.testing.assert_allclose(got.astype(float), wanted, rtol=rtol, atol=rtol)


def test_one_position_is_that_of_the_first_token():
    x = RNG.standard_normal((2, 3, 16)).astype(np.float32)
    got = run(x, np.array([7]), COS, SIN, domain="com.microsoft")
    np.testing.assert_array_equal(got, run(x, np.tile([7, 8, 9], (2, 1)), COS, SIN, domain="com.microsoft"))


def test_errors():
    x = np.zeros((2, 5, 3, 8), np.float32)
    for bad in (-1, 20):
        with pytest.raises(NodeError, match=r"outside \[0, 20\)"):
            run(x, COS, SIN, np.full((2, 3), bad))
    with pytest.raises(NodeError, match="num_heads"):
        run(x[0], COS, SIN, np.zeros((5, 3), int))
    with pytest.raises(NodeError, match="does not fit"):
        run(x, COS[:, :3], SIN[:, :3], POSITIONS)
