import numpy as np
import pytest
from scipy import special

from sardonyx_ep_cpu.kernels import kernels


def run(op, *inputs, domain="com.microsoft", constant=(), **attributes):
    kernel = kernels.find(domain, op, 99)
    if "prepared" in kernel.filled:
        known = [x if i in constant else None for i, x in enumerate(inputs)]
        attributes["prepared"] = kernel.prepare(np, known, attributes) if constant else None
    return kernel.function(np, *inputs, **attributes)


@pytest.mark.parametrize("constant", [(), (1, 7)])
def test_qattention(constant):
    rng = np.random.default_rng(0)
    batch, sequence, size, heads, head = 2, 3, 8, 2, 4
    x = rng.integers(0, 256, (batch, sequence, size)).astype(np.uint8)
    weight = rng.integers(-128, 128, (size, 3 * heads * head)).astype(np.int8)
    bias = rng.standard_normal(3 * heads * head).astype(np.float32)
    scales = np.linspace(0.001, 0.01, bias.size, dtype=np.float32)
    past = rng.standard_normal((2, batch, heads, 2, head)).astype(np.float32)
    zeros = np.array(120, np.uint8), np.full(bias.size, 5, np.int8)
    inputs = (x, weight, bias, np.array([0.02], np.float32), scales, None, *zeros, past)
    y, present = run("QAttention", *inputs, num_heads=heads, unidirectional=1, constant=constant)
    projected = (x.astype(float) - 120) * 0.02 @ ((weight.astype(float) - 5) * scales) + bias
    q, k, v = (part.reshape(batch, sequence, heads, head).swapaxes(1, 2) for part in np.split(projected, 3, axis=2))
    k, v = np.concatenate([past[0], k], axis=2), np.concatenate([past[1], v], axis=2)
    scores = np.where(np.tril(np.ones((sequence, 5)), 2) > 0, q @ k.swapaxes(2, 3) / 2, -np.inf)
    expected = (special.softmax(scores, axis=-1) @ v).swapaxes(1, 2).reshape(batch, sequence, -1)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(present, np.stack([k, v]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("per_column", [False, True])
def test_dynamic_quantize_lstm_is_near_the_lstm_of_its_weights(direction, per_column):
    rng = np.random.default_rng(1)
    directions = 2 if direction == "bidirectional" else 1
    time, batch, size, hidden = 6, 2, 5, 4
    x = rng.standard_normal((time, batch, size)).astype(np.float32)
    w = rng.integers(-128, 128, (directions, size, 4 * hidden)).astype(np.int8)
    r = rng.integers(-128, 128, (directions, hidden, 4 * hidden)).astype(np.int8)
    b = rng.standard_normal((directions, 8 * hidden)).astype(np.float32)
    lengths = np.int32([6, 3])
    shape = (directions, 4 * hidden) if per_column else (directions,)
    scale = rng.uniform(0.002, 0.01, shape).astype(np.float32)
    zero = np.full(shape, 3, np.int8)
    inputs = (x, w, r, b, lengths, None, None, None, scale, zero, scale, zero)
    got = run("DynamicQuantizeLSTM", *inputs, direction=direction, hidden_size=hidden)
    prepared = run("DynamicQuantizeLSTM", *inputs, direction=direction, hidden_size=hidden, constant=(1, 2, 9, 11))
    columns = scale.reshape(directions, 1, -1)
    weights = [((q.astype(np.float32) - 3) * columns).swapaxes(1, 2) for q in (w, r)]
    expected = run("LSTM", x, *weights, b, lengths, direction=direction, hidden_size=hidden, domain="")
    for one, two, three in zip(got, expected, prepared, strict=True):
        np.testing.assert_allclose(one, two, atol=0.03)
        np.testing.assert_array_equal(one, three)
