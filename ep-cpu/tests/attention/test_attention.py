"""Attention of ai.onnx against its definition, row by row in float64."""

import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

BF16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(0)
B, HEADS, GROUPS, QUERIES, KEYS, SIZE, V_SIZE = 2, 4, 2, 5, 7, 8, 6


def run(*inputs, since=25, **attributes):
    with np.errstate(all="ignore"):
        return kernels.find("", "Attention", since).function(np, *inputs, **attributes)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def qkv(dtype=np.float32, queries=QUERIES, keys=KEYS, groups=GROUPS):
    return (
        normal(B, HEADS, queries, SIZE, dtype=dtype),
        normal(B, groups, keys, SIZE, dtype=dtype),
        normal(B, groups, keys, V_SIZE, dtype=dtype),
    )


def exact(q, k, v, bias=None, offset=0, causal=False, left=-1, right=-1, lengths=None, softcap=0, scale=None):
    """(Y, scores raw, capped, with bias, probabilities), all float64; bias broadcasts, offset is a number or one per batch."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    raw = np.einsum("bhqd,bhkd->bhqk", q, k) * (q.shape[3] ** -0.5 if scale is None else scale)
    capped = softcap * np.tanh(raw / softcap) if softcap else raw
    full = capped + (0 if bias is None else np.broadcast_to(bias, raw.shape))
    p = np.zeros_like(full)
    offsets = np.broadcast_to(offset, len(q))
    for b, h, i in np.ndindex(full.shape[:3]):
        at, j = i + offsets[b], np.arange(k.shape[2])
        hidden = (bool(causal) & (j > at)) | ((left >= 0) & (j < at - left)) | ((right >= 0) & (j > at + right))
        if lengths is not None:
            hidden |= j >= lengths[b]
        full[b, h, i, hidden] = -np.inf
        row = full[b, h, i]
        if np.isfinite(row).any():
            e = np.exp(row - row.max())
            p[b, h, i] = e / e.sum()
    return p @ v, raw, capped, full, p


def close(got, right, rtol=1e-5):
    np.testing.assert_allclose(got.astype(np.float64), right, rtol=rtol, atol=rtol)


def test_plain_and_heads_packed_into_the_last_axis():
    for groups in (1, 2, 4):
        q, k, v = qkv(groups=groups)
        y, present_k, present_v, _ = run(q, k, v, n_outputs=3)
        right = exact(q, k, v)[0]
        close(y, right)
        np.testing.assert_array_equal(present_k, k)
        np.testing.assert_array_equal(present_v, v)
        packed = [x.swapaxes(1, 2).reshape(B, x.shape[2], -1) for x in (q, k, v)]
        y = run(*packed, q_num_heads=HEADS, kv_num_heads=groups, n_outputs=1)[0]
        close(y, right.swapaxes(1, 2).reshape(B, QUERIES, -1))


@pytest.mark.parametrize("shape", [(KEYS,), (QUERIES, KEYS), (HEADS, QUERIES, KEYS), (B, 1, 1, KEYS), (B, HEADS, QUERIES, KEYS)])
@pytest.mark.parametrize("causal", [0, 1])
def test_masks(shape, causal):
    q, k, v = qkv()
    bias = normal(*shape)
    close(run(q, k, v, bias, is_causal=causal, n_outputs=1)[0], exact(q, k, v, bias, causal=causal)[0])
    allowed = RNG.random(shape) > 0.4
    right = exact(q, k, v, np.where(allowed, 0, -np.inf), causal=causal)[0]
    close(run(q, k, v, allowed, is_causal=causal, n_outputs=1)[0], right)


def test_short_masks_are_padded_and_masks_of_one_column_broadcast_in_opset_23():
    q, k, v = qkv()
    allowed = np.ones((QUERIES, 4), bool)
    right = exact(q, k[:, :, :4], v[:, :, :4])[0]
    for mask in (allowed, np.zeros((QUERIES, 4), np.float32)):
        close(run(q, k, v, mask, n_outputs=1)[0], right)
    column = normal(QUERIES, 1)
    close(run(q, k, v, column, since=23, n_outputs=1)[0], exact(q, k, v)[0])
    close(run(q, k, v, np.zeros((QUERIES, 1), np.float32), since=24, n_outputs=1)[0], exact(q, k[:, :, :1], v[:, :, :1])[0])


def test_integer_masks_are_added():
    q, k, v = qkv()
    mask = RNG.integers(-3, 3, (QUERIES, KEYS))
    close(run(q, k, v, mask, n_outputs=1)[0], exact(q, k, v, mask)[0])


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (3, 2), (1, 4)])
def test_causal_rows_see_the_past(queries, keys):
    q, k, v = qkv(queries=queries, keys=keys)
    past_k, past_v = normal(B, GROUPS, 3, SIZE), normal(B, GROUPS, 3, V_SIZE)
    y, present_k, present_v, _ = run(q, k, v, None, past_k, past_v, is_causal=1, n_outputs=3)
    all_k, all_v = np.concatenate((past_k, k), 2), np.concatenate((past_v, v), 2)
    close(y, exact(q, all_k, all_v, offset=3, causal=True)[0])
    np.testing.assert_array_equal(present_k, all_k)
    np.testing.assert_array_equal(present_v, all_v)


@pytest.mark.parametrize("n_outputs", [1, 4])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("lengths", [(7, 5), (2, 0), (6, 7)])
def test_external_cache(n_outputs, causal, lengths):
    q, k, v = qkv()
    lens = np.int64(lengths)
    right = exact(q, k, v, offset=lens - QUERIES if causal else 0, causal=causal, lengths=lens)[0]
    close(run(q, k, v, None, None, None, lens, is_causal=causal, n_outputs=n_outputs)[0], right)
    mask = normal(B, 1, QUERIES, KEYS)
    right = exact(q, k, v, mask, offset=lens - QUERIES, causal=causal, left=2, lengths=lens)[0]
    got = run(q, k, v, mask, None, None, lens, is_causal=causal, left_window_size=2, n_outputs=n_outputs)[0]
    close(got, right)


def test_padding_of_an_external_cache_is_never_touched():
    q, k, v = qkv()
    k[:, :, 5:] = np.nan
    v[:, :, 5:] = np.inf
    close(run(q, k, v, None, None, None, np.int64([5, 5]), n_outputs=1)[0], exact(q, k[:, :, :5], v[:, :, :5])[0])


@pytest.mark.parametrize(("left", "right"), [(2, -1), (-1, 1), (2, 1), (0, 0), (9, 9)])
@pytest.mark.parametrize("causal", [0, 1])
def test_windows(left, right, causal):
    q, k, v = qkv()
    attributes = {"left_window_size": left, "right_window_size": right, "is_causal": causal, "n_outputs": 1}
    close(run(q, k, v, **attributes)[0], exact(q, k, v, causal=causal, left=left, right=right)[0])


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_a_row_without_keys_is_zero(n_outputs):
    q, k, v = qkv()
    allowed = np.ones((QUERIES, KEYS), bool)
    allowed[2] = False
    for mask in (allowed, np.where(allowed, 0, -np.inf).astype(np.float32)):
        y, _, _, qk = run(q, k, v, mask, qk_matmul_output_mode=3, n_outputs=n_outputs)
        assert not y[:, :, 2].any()
        assert np.isfinite(y).all()
        if n_outputs == 4:
            assert not qk[:, :, 2].any()


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("softcap", [0.0, 0.7])
def test_scores_are_shown_at_the_stage_asked_for(mode, softcap):
    q, k, v = qkv()
    bias = normal(QUERIES, KEYS)
    right = exact(q, k, v, bias, causal=True, softcap=softcap, scale=0.3)
    y, _, _, qk = run(q, k, v, bias, is_causal=1, softcap=softcap, scale=0.3, qk_matmul_output_mode=mode)
    close(y, right[0])
    close(qk, right[1 + mode])
    close(run(q, k, v, bias, is_causal=1, softcap=softcap, scale=0.3, n_outputs=1)[0], right[0])


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float16, 2e-3), (BF16, 1e-2)])
@pytest.mark.parametrize("precision", [None, 1, 10, 11])
def test_dtypes(dtype, rtol, precision):
    q, k, v = qkv(dtype)
    right = exact(q, k, v, causal=True)
    y, _, _, qk = run(q, k, v, is_causal=1, softmax_precision=precision, qk_matmul_output_mode=3)
    assert y.dtype == qk.dtype == dtype
    close(y, right[0], rtol)
    close(qk, right[4], rtol)


def test_great_half_precision_inputs_do_not_overflow():
    q = np.full((1, 1, 2, 64), 60, np.float16)
    assert (run(q, q, np.ones_like(q), n_outputs=1)[0] == 1).all()


def test_long_inputs_are_taken_in_blocks():
    q, k, v = normal(2, 2, 300, 16), normal(2, 1, 600, 16), normal(2, 1, 600, 4)
    for bias in (None, normal(300, 600), normal(2, 1, 1, 600), normal(2, 2, 300, 600)):
        close(run(q, k, v, bias, is_causal=1, n_outputs=1)[0], exact(q, k, v, bias, causal=True)[0], 2e-5)


def test_empty_sequences():
    q, k, v = qkv()
    assert run(q[:, :, :0], k, v, n_outputs=1)[0].shape == (B, HEADS, 0, V_SIZE)
    assert not run(q, k[:, :, :0], v[:, :, :0], n_outputs=1)[0].any()


def test_errors():
    q, k, v = qkv()
    past = normal(B, GROUPS, 3, SIZE)
    lens = np.int64([7, 7])
    for inputs, attributes, message in (
        ((q, k, v, None, past), {}, "together"),
        ((q, k, v, None, past, past[..., :V_SIZE], lens), {}, "excludes"),
        ((q, k, v, None, None, None, np.int64([8, 1])), {}, r"\[0, 7\]"),
        ((q, k, v, None, None, None, np.int64([1])), {}, "2 numbers"),
        ((q, k, v), {"left_window_size": -2}, "window"),
        ((q[0], k[0], v[0]), {}, "rank 3"),
        ((q[0], k[0], v[0]), {"q_num_heads": 3, "kv_num_heads": 3}, "split into 3 heads"),
        ((q[:, :3], k, v), {}, "do not fit"),
        ((q, k, v[:, :, 1:]), {}, "do not fit"),
    ):
        with pytest.raises(NodeError, match=message):
            run(*inputs, n_outputs=1, **attributes)
