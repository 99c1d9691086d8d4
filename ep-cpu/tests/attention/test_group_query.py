import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

RNG = np.random.default_rng(0)
B, S, N, K, D, PAST = 2, 5, 4, 2, 8, 7
ANGLES = RNG.random((30, D // 2)) * 3
COS, SIN = np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)
SIZES = {"num_heads": N, "kv_num_heads": K}


def run(*inputs, **attributes):
    return kernels.find("com.microsoft", "GroupQueryAttention", 1).function(np, *inputs, **SIZES, **attributes)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def i32(*values):
    return np.array(values, np.int32)


def turned(x, positions, interleaved):
    """x (heads, sequence, size) times exp(i angle), pair by pair."""
    half = D // 2
    first, second = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (slice(0, half), slice(half, None))
    z = (x[..., first] + 1j * x[..., second]) * np.exp(1j * ANGLES[positions])
    y = np.empty_like(x)
    y[..., first], y[..., second] = z.real, z.imag
    return y


def check(q, k, v, past, spans, *, rotary=False, window=None, is_causal=True, bias=None, sink=None, softcap=0.0, **attributes):
    """One sequence after another: spans gives the positions [start, end) of its new tokens. Returns the kernel's outputs."""
    optional = attributes.pop("inputs", ())
    total = attributes.pop("total", max(end for _, end in spans))
    cos, sin = (COS, SIN) if rotary else (None, None)
    got = run(
        q,
        k,
        v,
        *past,
        i32(*(end - 1 for _, end in spans)),
        i32(total),
        cos,
        sin,
        *optional,
        **({"softcap": softcap} if softcap else {}),
        **attributes,
    )
    for b, (start, end) in enumerate(spans):
        count = end - start
        qs, ks, vs = (x[b, :count].reshape(count, x.shape[2] // D, D).swapaxes(0, 1).astype(float) for x in (q, k, v))
        if rotary:
            qs, ks = (turned(x, np.arange(start, end), attributes.get("rotary_interleaved", 0)) for x in (qs, ks))
        if past[0] is not None:
            ks, vs = np.concatenate((past[0][b, :, :start], ks), 1), np.concatenate((past[1][b, :, :start], vs), 1)
        np.testing.assert_allclose(got[1][b, :, :end], ks, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(got[2][b, :, :end], vs, rtol=1e-5, atol=1e-5)
        s = np.einsum("hqd,hkd->hqk", qs, np.repeat(ks, N // K, axis=0)) * attributes.get("scale", D**-0.5)
        s = softcap * np.tanh(s / softcap) if softcap else s
        if bias is not None:
            s = s + np.broadcast_to(bias, (B, N, q.shape[1], total))[b, :, :count, :end]
        i, j = np.arange(start, end)[:, None], np.arange(end)
        s = np.where((is_causal & (j > i)) | (window is not None and j <= i - window), -np.inf, s)
        top = s.max(-1, keepdims=True)
        e = np.exp(s - top)
        p = e / (e.sum(-1, keepdims=True) + (0 if sink is None else np.exp(np.reshape(sink, (-1, 1, 1)) - top)))
        y = (p @ np.repeat(vs, N // K, axis=0)).swapaxes(0, 1).reshape(count, N * D)
        np.testing.assert_allclose(got[0][b, :count], y, rtol=1e-5, atol=1e-5)
    return got


def prompt():
    return normal(B, S, N * D), normal(B, S, K * D), normal(B, S, K * D)


def token():
    return normal(B, 1, N * D), normal(B, 1, K * D), normal(B, 1, K * D)


def cache(length=PAST):
    return normal(B, K, length, D), normal(B, K, length, D)


@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("interleaved", [0, 1])
def test_prompt_and_next_token(rotary, interleaved):
    options = {"rotary": rotary, "do_rotary": int(rotary), "rotary_interleaved": interleaved}
    check(*prompt(), (None, None), [(0, 5), (0, 3)], **options)
    check(*token(), cache(), [(7, 8), (7, 8)], **options)
    check(*token(), cache(), [(7, 8), (4, 5)], **options)
    got = check(*token(), cache(20), [(7, 8), (4, 5)], **options)
    assert got[1].shape == (B, K, 20, D)


def test_packed_query():
    q, k, v = prompt()
    packed = np.concatenate((q, k, v), axis=-1)
    lens = (None, None, i32(4, 4), i32(5))
    np.testing.assert_array_equal(run(packed, None, None, *lens)[0], run(q, k, v, *lens)[0])


def test_window_softcap_sinks_and_bias():
    for window in (1, 2, 3):
        check(*token(), cache(), [(7, 8), (4, 5)], window=window, local_window_size=window)
        check(*prompt(), (None, None), [(0, 5), (0, 2)], window=window, local_window_size=window)
    check(*token(), cache(), [(7, 8), (7, 8)], softcap=0.5)
    sink, bias = normal(N), normal(1, N, 1, 8)
    check(*token(), cache(), [(7, 8), (7, 8)], sink=np.zeros(1), smooth_softmax=1)
    check(*token(), cache(), [(7, 8), (7, 8)], sink=sink, inputs=(None, None, sink))
    check(*token(), cache(), [(7, 8), (7, 8)], bias=bias, inputs=(None, bias))
    check(*prompt(), (None, None), [(0, 5), (0, 5)], is_causal=False, causal=0, scale=0.3)


def test_right_padded_chunks():
    counts = i32(3, 5)
    options = {"rotary": True, "do_rotary": 1, "total": 20, "inputs": (None,) * 7 + (counts,)}
    got = check(*prompt(), cache(20), [(7, 10), (2, 7)], **options)
    assert not got[0][0, 3:].any()
    counts[0] = 0
    check(*prompt(), cache(20), [(7, 7), (2, 7)], **options)


def test_scores_can_be_shown():
    q, k, v = token()
    past = cache()
    lens = (i32(7, 7), i32(8))
    y, _, _, raw = run(q, k, v, *past, *lens, qk_output=1)
    p = run(q, k, v, *past, *lens, qk_output=2)[3]
    np.testing.assert_allclose(p, np.exp(raw) / np.exp(raw).sum(-1, keepdims=True), rtol=1e-5)
    np.testing.assert_array_equal(y, run(q, k, v, *past, *lens)[0])


def test_norms_of_queries_and_keys():
    q, k, v = prompt()
    weights = normal(D), normal(D)
    lens = (None, None, i32(4, 4), i32(5))
    rms = [x / np.sqrt((x.reshape(B, S, -1, D) ** 2).mean(-1, keepdims=True) + 1e-6).repeat(D, -1).reshape(x.shape) for x in (q, k)]
    scaled = [x * np.tile(w, x.shape[-1] // D) for x, w in zip(rms, weights, strict=True)]
    got = run(q, k, v, *lens, *(None,) * 7, *weights)
    np.testing.assert_allclose(got[0], run(*scaled, v, *lens)[0], rtol=1e-4, atol=1e-5)


def test_errors():
    q, k, v = token()
    past = cache()
    for lens, message in (((i32(9, 7), i32(8)), "do not fit"), ((i32(7, 9), i32(10)), "do not fit"), ((i32(7), i32(8)), "batch of 2")):
        with pytest.raises(NodeError, match=message):
            run(q, k, v, *past, *lens)
    with pytest.raises(NodeError, match="cos_cache"):
        run(q, k, v, *past, i32(7, 7), i32(8), do_rotary=1)
    with pytest.raises(NodeError, match="the cos cache holds 5"):
        run(q, k, v, *past, i32(7, 7), i32(8), COS[:5], SIN[:5], do_rotary=1)
    with pytest.raises(NodeError, match="not implemented"):
        run(q, k, v, *past, i32(7, 7), i32(8), k_quant_type="PER_TENSOR")
