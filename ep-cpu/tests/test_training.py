import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.training import adagrad, adam, momentum

R, T = np.array(0.1, np.float32), np.array(1)
X, G, V, H = np.float32([1.2, 2.8]), np.float32([-0.94, -2.5]), np.float32([1.7, 3.6]), np.float32([0.1, 0.2])


def test_adagrad():
    x, h = adagrad(np, R, T, X, G, H, norm_coefficient=0.001, epsilon=1e-5, decay_factor=0.1)
    g = 0.001 * X.astype(float) + G
    np.testing.assert_allclose(h, H + g * g, rtol=1e-6)
    np.testing.assert_allclose(x, X - 0.1 / 1.1 * g / (np.sqrt(H + g * g) + 1e-5), rtol=1e-6)
    assert x.dtype == h.dtype == np.float32


@pytest.mark.parametrize("t", [0, 3])
def test_adam(t):
    x, v, h = adam(np, R, np.array(t), X, G, V, H, norm_coefficient=0.001, norm_coefficient_post=0.1, alpha=0.95, beta=0.85, epsilon=0.01)
    g = 0.001 * X.astype(float) + G
    v_new, h_new = 0.95 * V + 0.05 * g, 0.85 * H + 0.15 * g * g
    rate = 0.1 * (np.sqrt(1 - 0.85**t) / (1 - 0.95**t) if t else 1)
    np.testing.assert_allclose(v, v_new, rtol=1e-6)
    np.testing.assert_allclose(h, h_new, rtol=1e-6)
    np.testing.assert_allclose(x, 0.9 * (X - rate * v_new / (np.sqrt(h_new) + 0.01)), rtol=1e-5)


@pytest.mark.parametrize("t", [0, 1])
@pytest.mark.parametrize("mode", ["standard", "nesterov"])
def test_momentum_of_two_tensors(t, mode):
    x2, g2, v2 = np.float32([[1.0]]), np.float32([[-1.0]]), np.float32([[2.0]])
    got = momentum(np, R, np.array(t), X, x2, G, g2, V, v2, alpha=0.95, beta=0.1, mode=mode, norm_coefficient=0.001)
    new = []
    for x, g, v in ((X, G, V), (x2, g2, v2)):
        g = 0.001 * x.astype(float) + g
        v = 0.95 * v + (0.1 if t else 1) * g
        new.append((x - 0.1 * (g + 0.95 * v if mode == "nesterov" else v), v))
    for value, expected in zip(got, [new[0][0], new[1][0], new[0][1], new[1][1]], strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-6)


def test_errors():
    with pytest.raises(NodeError, match="4 tensors"):
        adagrad(np, R, T, X, G, H, X)
    with pytest.raises(NodeError, match="mode"):
        momentum(np, R, T, X, G, V, alpha=1.0, beta=1.0, mode="other", norm_coefficient=0.0)
