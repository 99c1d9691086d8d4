"""Attention: causal masks with caches, rows without any key, grouped heads, soft caps, windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

RNG = np.random.default_rng(0)


def draw(*shape: int) -> np.ndarray:
    """Normal float32 numbers."""
    return RNG.standard_normal(shape).astype(np.float32)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, allowed: np.ndarray, bias: Any = 0.0, softcap: float = 0.0) -> np.ndarray:
    """The definition in float64 for [batch, heads, sequence, size]; rows without a key are 0."""
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat(groups, 1), v.repeat(groups, 1)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    weights = np.exp(scores + bias) * allowed
    total = weights.sum(-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0) @ v


def band(rows: int, columns: int, offset: int) -> np.ndarray:
    """Key j is allowed for query i iff j <= i + offset."""
    return np.arange(columns)[None] <= np.arange(rows)[:, None] + offset


@pytest.mark.parametrize("opset", [23, 24])
@pytest.mark.parametrize("past", [0, 3])
def test_causal_with_past(run_op: Any, past: int, opset: int) -> None:
    """Keys of the past are all visible; the diagonal starts after them."""
    q, k, v = draw(2, 2, 4, 8), draw(2, 2, 4, 8), draw(2, 2, 4, 8)
    old_k, old_v = draw(2, 2, past, 8), draw(2, 2, past, 8)
    rest = (None, old_k, old_v) if past else ()
    got = run_op("Attention", q, k, v, *rest, outputs=3 if past else 1, is_causal=1, opset=opset)
    y = got[0] if past else got
    whole = [np.concatenate([a, b], 2) for a, b in ((old_k, k), (old_v, v))]
    np.testing.assert_allclose(y, attend(q, whole[0], whole[1], band(4, 4 + past, past)), rtol=1e-4, atol=1e-5)
    if past:
        np.testing.assert_array_equal(got[1], whole[0])
        np.testing.assert_array_equal(got[2], whole[1])


def test_causal_with_external_cache(run_op: Any) -> None:
    """The diagonal ends at each sample's own number of valid keys; rows before its first key are 0."""
    q, k, v = draw(3, 1, 4, 8), draw(3, 1, 8, 8), draw(3, 1, 8, 8)
    valid = np.array([4, 8, 2], np.int64)
    y = run_op("Attention", q, k, v, None, None, None, valid, is_causal=1, opset=24)
    allowed = np.stack([band(4, 8, int(n) - 4) & (np.arange(8) < n) for n in valid])[:, None]
    np.testing.assert_allclose(y, attend(q, k, v, allowed), rtol=1e-4, atol=1e-5)
    assert not y[2, :, :2].any()


def test_padding_of_external_cache(run_op: Any) -> None:
    """Keys beyond the valid ones do not count, whatever they hold."""
    q, k, v = draw(2, 2, 3, 4), draw(2, 2, 6, 4), draw(2, 2, 6, 4)
    valid = np.array([2, 5], np.int64)
    k[0, :, 2:], v[0, :, 2:] = 1e30, 1e30
    y = run_op("Attention", q, k, v, None, None, None, valid, opset=24)
    allowed = (np.arange(6) < valid[:, None])[:, None, None]
    want = attend(q, np.where(allowed.swapaxes(-1, -2), k, 0), np.where(allowed.swapaxes(-1, -2), v, 0), allowed)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_fully_masked_rows(run_op: Any, kind: str) -> None:
    """A query that may look at nothing gets 0, not NaN."""
    q, k, v = draw(1, 2, 3, 4), draw(1, 2, 5, 4), draw(1, 2, 5, 4)
    allowed = RNG.random((3, 5)) < 0.6
    allowed[1] = False
    mask = allowed if kind == "bool" else np.where(allowed, 0, -np.inf).astype(np.float32)
    y = run_op("Attention", q, k, v, mask)
    np.testing.assert_allclose(y, attend(q, k, v, allowed), rtol=1e-4, atol=1e-5)
    assert not y[:, :, 1].any()


def test_grouped_heads(run_op: Any) -> None:
    """Consecutive query heads share a key head, in 4-D and in 3-D form."""
    q, k, v = draw(2, 6, 3, 4), draw(2, 2, 5, 4), draw(2, 2, 5, 4)
    want = attend(q, k, v, np.ones((3, 5), bool))
    np.testing.assert_allclose(run_op("Attention", q, k, v), want, rtol=1e-4, atol=1e-5)
    flat = [a.transpose(0, 2, 1, 3).reshape(2, a.shape[2], -1) for a in (q, k, v)]
    y = run_op("Attention", *flat, q_num_heads=6, kv_num_heads=2)
    np.testing.assert_allclose(y, want.transpose(0, 2, 1, 3).reshape(2, 3, -1), rtol=1e-4, atol=1e-5)


def test_mask_shorter_than_keys(run_op: Any) -> None:
    """Since opset 24 a mask may end early: keys beyond it are not allowed."""
    q, k, v = draw(1, 1, 3, 4), draw(1, 1, 6, 4), draw(1, 1, 6, 4)
    bias = draw(3, 4)
    y = run_op("Attention", q, k, v, bias, opset=24)
    padded = np.concatenate([bias, np.full((3, 2), -np.inf)], 1)
    np.testing.assert_allclose(y, attend(q, k, v, np.arange(6) < 4, padded), rtol=1e-4, atol=1e-5)


def test_softcap_and_scores(run_op: Any) -> None:
    """The cap comes before the mask; the fourth output shows the scores."""
    q, k, v = draw(1, 2, 3, 4) * 4, draw(1, 2, 3, 4) * 4, draw(1, 2, 3, 4)
    y, _, _, scores = run_op("Attention", q, k, v, outputs=4, softcap=2.0, is_causal=1)
    np.testing.assert_allclose(y, attend(q, k, v, band(3, 3, 0), softcap=2.0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(scores, q.astype(float) @ k.swapaxes(-1, -2).astype(float) / 2, rtol=1e-4, atol=1e-4)


def test_large_scores(run_op: Any) -> None:
    """No overflow."""
    q = np.full((1, 1, 2, 4), 1e15, np.float32)
    y = run_op("Attention", q, q, np.ones((1, 1, 2, 4), np.float32))
    np.testing.assert_allclose(y, 1)


def test_rotary_embedding(run_op: Any) -> None:
    """Half-split and interleaved rotations of the first dimensions."""
    x = draw(1, 2, 3, 8)
    angles = np.arange(12, dtype=np.float64).reshape(1, 3, 4) / 5
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    for interleaved in (0, 1):
        a, b = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :4], x[..., 4:])
        real, imaginary = a * cos[:, None] - b * sin[:, None], a * sin[:, None] + b * cos[:, None]
        want = np.stack([real, imaginary], -1).reshape(x.shape) if interleaved else np.concatenate([real, imaginary], -1)
        np.testing.assert_allclose(run_op("RotaryEmbedding", x, cos, sin, interleaved=interleaved), want, rtol=1e-4, atol=1e-5)
