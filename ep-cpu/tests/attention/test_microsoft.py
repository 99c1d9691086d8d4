"""com.microsoft's attention operators against a plain float64 attention."""

import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

RNG = np.random.default_rng(0)
B, S, N, D = 2, 5, 4, 8
HIDDEN = N * D
ONES = np.ones((B, S), np.int32)
RAGGED = np.int32([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]])
LOWEST = -3.4028234663852886e38


def run(op, *inputs, **attributes):
    return kernels.find("com.microsoft", op, 1).function(np, *inputs, **attributes)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def heads(x, count=N):
    return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2).astype(np.float64)


def exact(q, k, v, bias=0.0, scale=None, sink=None, softcap=0.0):
    """q, k, v (batch, heads, sequence, size): (output (batch, sequence, hidden), probabilities)."""
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    s = np.einsum("bhqd,bhkd->bhqk", q, k) * (q.shape[3] ** -0.5 if scale is None else scale)
    s = (softcap * np.tanh(s / softcap) if softcap else s) + bias
    top = s.max(-1, keepdims=True)
    e = np.exp(s - top)
    p = e / (e.sum(-1, keepdims=True) + (0 if sink is None else np.exp(sink - top)))
    y = p @ v
    return y.swapaxes(1, 2).reshape(y.shape[0], y.shape[2], -1), p


def causal(queries, keys, past=0, left=None):
    i, j = np.arange(queries)[:, None] + past, np.arange(keys)
    return np.where((j > i) | (False if left is None else j <= i - left), -np.inf, 0.0)


def close(got, right):
    np.testing.assert_allclose(got, right, rtol=2e-5, atol=2e-5)


def test_inputs_of_multi_head_attention():
    q, k, v, bias = normal(B, S, HIDDEN), normal(B, 7, HIDDEN), normal(B, 7, N * 6), normal(2 * HIDDEN + N * 6)
    close(run("MultiHeadAttention", q, k, v, num_heads=N, n_outputs=1)[0], exact(heads(q), heads(k), heads(v))[0])
    qb, kb, vb = q + bias[:HIDDEN], k + bias[HIDDEN : 2 * HIDDEN], v + bias[2 * HIDDEN :]
    y, _, _, p = run("MultiHeadAttention", q, k, v, bias, num_heads=N, scale=0.2)
    right = exact(heads(qb), heads(kb), heads(vb), scale=0.2)
    close(y, right[0])
    close(p, right[1])
    packed = normal(B, S, N, 3, D)
    parts = [packed[:, :, :, i].swapaxes(1, 2).astype(float) for i in range(3)]
    close(run("MultiHeadAttention", packed, num_heads=N, n_outputs=1)[0], exact(*parts)[0])
    packed = normal(B, 7, N, 2, D)
    parts = [packed[:, :, :, i].swapaxes(1, 2).astype(float) for i in range(2)]
    close(run("MultiHeadAttention", q, packed, num_heads=N, n_outputs=1)[0], exact(heads(q), *parts)[0])
    cached = normal(2, B, N, 7, D)
    full_bias = normal(3 * HIDDEN)
    y = run("MultiHeadAttention", q, *cached, full_bias, num_heads=N, n_outputs=1)[0]
    close(y, exact(heads(q + full_bias[:HIDDEN]), *cached.astype(float))[0])


MASKS = [
    (RAGGED, RAGGED[:, None, None] > 0),
    (np.int32([3, 4]), RAGGED[:, None, None] > 0),
    (np.int32([3, 4, 1, 0]), np.stack([(np.arange(S) < e) & (np.arange(S) >= b) for e, b in ((3, 1), (4, 0))])[:, None, None]),
    (np.tri(S, dtype=np.int32)[None].repeat(B, 0), np.tri(S, dtype=bool)),
    (np.tri(S + 2, dtype=np.int32)[None, None].repeat(B, 0), np.tri(S, dtype=bool)),
]


@pytest.mark.parametrize(("mask", "allowed"), MASKS)
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_masks(mask, allowed, unidirectional):
    q, k, v = normal(B, S, HIDDEN), normal(B, S, HIDDEN), normal(B, S, HIDDEN)
    extra = normal(1, N, S, S)
    bias = np.where(allowed, 0.0, -10000.0)
    if unidirectional:
        bias = np.where(np.tri(S, dtype=bool), bias, LOWEST)
    y = run("MultiHeadAttention", q, k, v, None, mask, extra, num_heads=N, unidirectional=unidirectional, n_outputs=1)[0]
    close(y, exact(heads(q), heads(k), heads(v), bias + extra)[0])
    x, w, b = normal(B, S, 16), normal(16, 3 * HIDDEN) / 4, normal(3 * HIDDEN)
    y, present = run("Attention", x, w, b, mask, None, extra, num_heads=N, unidirectional=unidirectional)
    q, k, v = np.split(x.astype(float) @ w + b, 3, axis=-1)
    close(y, exact(heads(q), heads(k), heads(v), bias + extra)[0])
    close(present, np.stack((heads(k), heads(v))))


def test_a_batch_of_nothing_but_padding_attends_evenly():
    q, k, v = normal(B, S, HIDDEN), normal(B, S, HIDDEN), normal(B, S, HIDDEN)
    y = run("MultiHeadAttention", q, k, v, None, ONES * 0, num_heads=N, n_outputs=1, mask_filter_value=-50.0)[0]
    close(y, exact(heads(q), heads(k), heads(v))[0])


def test_past_of_multi_head_attention_and_attention():
    q, k, v = normal(B, S, HIDDEN), normal(B, S, HIDDEN), normal(B, S, HIDDEN)
    past = normal(2, B, N, 3, D)
    all_k, all_v = np.concatenate((past[0], heads(k)), 2), np.concatenate((past[1], heads(v)), 2)
    y, present_k, present_v, _ = run("MultiHeadAttention", q, k, v, None, None, None, *past, num_heads=N, unidirectional=1, n_outputs=3)
    close(y, exact(heads(q), all_k, all_v, causal(S, S + 3, 3))[0])
    close(present_k, all_k)
    close(present_v, all_v)
    x, w = normal(B, S, 16), normal(16, 3 * HIDDEN) / 4
    q, k, v = np.split(x.astype(float) @ w, 3, axis=-1)
    all_k, all_v = np.concatenate((past[0], heads(k)), 2), np.concatenate((past[1], heads(v)), 2)
    y, present = run("Attention", x, w, None, None, past, num_heads=N, unidirectional=1)
    close(y, exact(heads(q), all_k, all_v, causal(S, S + 3, 3))[0])
    close(present, np.stack((all_k, all_v)))


def test_value_heads_of_another_size():
    x, w, b = normal(B, S, 16), normal(16, 2 * HIDDEN + 24) / 4, normal(2 * HIDDEN + 24)
    y, _ = run("Attention", x, w, b, num_heads=N, qkv_hidden_sizes=[HIDDEN, HIDDEN, 24])
    q, k, v = np.split(x.astype(float) @ w + b, [HIDDEN, 2 * HIDDEN], axis=-1)
    close(y, exact(heads(q), heads(k), heads(v))[0])
    with pytest.raises(NodeError, match="projections of sizes"):
        run("Attention", x, w, b, num_heads=N)


def test_decoder_writes_into_its_buffer():
    q, k, v = normal(B, 1, HIDDEN), normal(B, 1, HIDDEN), normal(B, 1, HIDDEN)
    buffer = normal(2, B, N, 9, D)
    old = buffer.copy()
    y, present_k, present_v, _ = run(
        "DecoderMaskedMultiHeadAttention", q, k, v, None, None, *buffer, np.int32([3]), num_heads=N, past_present_share_buffer=1
    )
    all_k, all_v = (np.concatenate((old[i][:, :, :3], heads(x)), 2) for i, x in ((0, k), (1, v)))
    close(y, exact(heads(q), all_k, all_v)[0])
    for present, new, was in ((present_k, all_k, old[0]), (present_v, all_v, old[1])):
        close(present[:, :, :4], new)
        np.testing.assert_array_equal(present[:, :, 4:], was[:, :, 4:])
    np.testing.assert_array_equal(buffer, old)
    packed = np.concatenate((q, k, v), axis=-1)
    y = run("DecoderMaskedMultiHeadAttention", packed, num_heads=N)[0]
    close(y, exact(heads(q), heads(k), heads(v))[0])
