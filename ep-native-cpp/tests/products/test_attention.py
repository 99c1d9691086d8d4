"""Attention against float64: masks of every kind, sizes with parts of vectors over, scores that are no numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Node = Callable[..., list[np.ndarray]]


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None, softcap: float = 0, causal: bool = False
) -> np.ndarray:
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if softcap:
        scores = np.tanh(scores / softcap) * softcap
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ v


def heads(rng: np.random.Generator, rows: int, keys: int, size: int, value: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(rng.standard_normal((2, 3, n, d), np.float32) for n, d in ((rows, size), (keys, size), (keys, value)))


@pytest.mark.parametrize("kind", ["none", "added", "added to all keys", "kept", "kept for all keys", "causal", "softcap"])
@pytest.mark.parametrize(("rows", "keys", "size", "value"), [(1, 7, 8, 8), (4, 130, 64, 64), (29, 29, 32, 20), (60, 197, 40, 64)])
def test_attention(node: Node, kind: str, rows: int, keys: int, size: int, value: int) -> None:
    rng = np.random.default_rng(keys)
    q, k, v = heads(rng, rows, keys, size, value)
    mask, options = None, {}
    columns = 1 if kind.endswith("all keys") else keys
    if kind.startswith("added"):
        mask = rng.standard_normal((2, 1, rows, columns), np.float32)
    elif kind.startswith("kept"):
        mask = rng.random((2, 1, rows, columns)) < 0.7
        mask[..., 0] = True
    elif kind == "softcap":
        options = {"softcap": 2.0}
    elif kind == "causal":
        options = {"is_causal": 1}
    (y,) = node("Attention", q, k, v, mask, opset=23, **options)
    np.testing.assert_allclose(y, attention(q, k, v, mask, options.get("softcap", 0), kind == "causal"), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("rows", [2, 20])
def test_scores_that_are_no_numbers(node: Node, rows: int) -> None:
    q, k, v = heads(np.random.default_rng(0), rows, 37, 16, 16)
    mask = np.zeros((2, 1, rows, 37), np.float32)
    mask[:, :, 0] = -np.inf
    mask[:, :, 1] = -np.inf
    mask[:, :, 1, 36] = np.nan
    (y,) = node("Attention", q, k, v, mask, opset=23)
    assert (y[:, :, 0] == 0).all()  # every key is masked out
    assert np.isnan(y[:, :, 1]).all()
    np.testing.assert_allclose(y[:, :, 2:], attention(q, k, v)[:, :, 2:], rtol=2e-5, atol=2e-5)
