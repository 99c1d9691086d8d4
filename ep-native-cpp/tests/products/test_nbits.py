"""MatMulNBits against float64 products of dequantized weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sardonyx.errors import SardonyxError


def packed(values: np.ndarray, bits: int) -> np.ndarray:
    """Numbers of `bits` bits, the first in the low bits of a byte, along the last axis."""
    per = 8 // bits
    padded = np.zeros((*values.shape[:-1], -(-values.shape[-1] // per) * per), np.uint8)
    padded[..., : values.shape[-1]] = values
    parts = padded.reshape(*padded.shape[:-1], -1, per) << (np.arange(per, dtype=np.uint8) * np.uint8(bits))
    return np.bitwise_or.reduce(parts, axis=-1).astype(np.uint8)


class Weights:
    """Quantized weights of a product, and what they stand for."""

    def __init__(self, n: int, k: int, bits: int, block: int, zeros: str):
        rng = np.random.default_rng(n + k + bits)
        blocks = -(-k // block)
        q = rng.integers(0, 1 << bits, (n, blocks, block), dtype=np.uint8)
        self.scales = rng.uniform(0.01, 0.1, (n, blocks)).astype("f4")
        self.zeros: np.ndarray | None = None
        zero = np.full((n, blocks), 1 << (bits - 1), "f8")
        if zeros == "packed":
            numbers = rng.integers(0, 1 << bits, (n, blocks), dtype=np.uint8)
            self.zeros, zero = packed(numbers, bits), numbers.astype("f8")
        elif zeros == "floats":
            zero = rng.uniform(0, 1 << bits, (n, blocks)).astype("f4").astype("f8")
            self.zeros = zero.astype("f4")
        self.packed = packed(q, bits)
        self.exact = ((q - zero[..., None]) * self.scales[..., None].astype("f8")).reshape(n, -1)[:, :k]
        self.attrs = {"N": n, "K": k, "bits": bits, "block_size": block}


def check(node: Any, w: Weights, a: np.ndarray, bias: np.ndarray | None = None, groups: np.ndarray | None = None) -> None:
    """AssertionError if the product differs by more than rounding."""
    inputs = (a, w.packed, w.scales, w.zeros, groups, bias)
    fixed = [i for i, x in enumerate(inputs) if x is not None and i > 0]
    (y,) = node("MatMulNBits", *inputs, fixed=fixed, domain="com.microsoft", **w.attrs)
    want = a.astype("f8") @ w.exact.T + (0 if bias is None else bias)
    assert y.shape == want.shape
    # The bound of a sum of k products of magnitude |a| |q| scale.
    atol = 4e-7 * float(np.abs(a).sum(axis=-1).max(initial=0)) * float(w.scales.max()) * (1 << w.attrs["bits"])
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [16, 32, 128])
@pytest.mark.parametrize("zeros", ["", "packed", "floats"])
def test_kinds_of_weights(node: Any, bits: int, block: int, zeros: str) -> None:
    w = Weights(45, 150, bits, block, zeros)
    for m in (1, 3, 7):
        check(node, w, np.random.default_rng(m).standard_normal((m, 150)).astype("f4"), np.arange(45, dtype="f4"))


@pytest.mark.parametrize("n", [1, 8, 16, 17, 32, 48, 96, 100])
@pytest.mark.parametrize("shape", [(), (1,), (2, 1), (2, 4), (0,)])
def test_sizes(node: Any, n: int, shape: tuple[int, ...]) -> None:
    check(node, Weights(n, 64, 4, 32, ""), np.random.default_rng(n).standard_normal((*shape, 64)).astype("f4"))


def test_half_precision(node: Any) -> None:
    w = Weights(40, 96, 4, 32, "floats")
    a = np.random.default_rng(0).standard_normal((2, 96)).astype("f2")
    inputs = (a, w.packed, w.scales.astype("f2"), None, None, np.arange(40, dtype="f2"))
    (y,) = node("MatMulNBits", *inputs, fixed=(1, 2, 5), domain="com.microsoft", **w.attrs)
    q = (w.exact / w.scales.astype("f8").repeat(32, axis=1) + w.zeros.astype("f8").repeat(32, axis=1)).round() - 8  # type: ignore[union-attr]
    want = a.astype("f8") @ (q * inputs[2].astype("f8").repeat(32, axis=1)).T + inputs[5]
    assert y.dtype == np.float16
    np.testing.assert_allclose(y.astype("f8"), want, rtol=1e-3, atol=1e-2)


def test_large_enough_for_threads(node: Any) -> None:
    w = Weights(700, 1024, 4, 32, "packed")
    for m in (1, 4, 40):
        check(node, w, np.random.default_rng(m).standard_normal((m, 1024)).astype("f4"))


def test_blocks_named_in_order(node: Any) -> None:
    check(node, Weights(20, 64, 4, 16, ""), np.ones((1, 64), "f4"), groups=(np.arange(64) // 16).astype("i4"))


def test_blocks_in_another_order_are_refused(node: Any) -> None:
    with pytest.raises(SardonyxError, match="consecutive blocks"):
        check(node, Weights(20, 64, 4, 16, ""), np.ones((1, 64), "f4"), groups=(np.arange(64)[::-1] // 16).astype("i4"))


def test_weights_that_do_not_fit_fail(node: Any) -> None:
    w = Weights(20, 64, 4, 16, "")
    w.scales = w.scales[:, :3]
    with pytest.raises(SardonyxError, match="input 2 has shape"):
        check(node, w, np.ones((1, 64), "f4"))
