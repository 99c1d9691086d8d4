"""Products with constant weights, plain and by Strassen's algorithm, against float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Node = Callable[..., list[np.ndarray]]


# Rows: few, of blocks that do not divide evenly, odd; columns: of wide panels and narrow ones, with a part of a panel over.
@pytest.mark.parametrize("m", [1, 2, 3, 5, 17, 96, 97, 131, 201, 455])
@pytest.mark.parametrize(("k", "n"), [(512, 384), (1026, 256), (768, 320), (515, 384), (64, 50)])
def test_matmul(node: Node, m: int, k: int, n: int) -> None:
    rng = np.random.default_rng(m * k + n)
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    expected = a.astype(np.float64) @ b
    (y,) = node("MatMul", a, b, fixed=[1])
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("m", [4, 129])
def test_gemm_with_epilogue(node: Node, m: int) -> None:
    rng = np.random.default_rng(m)
    a, b, c = rng.standard_normal((m, 520), np.float32), rng.standard_normal((384, 520), np.float32), rng.standard_normal(384, np.float32)
    expected = a.astype(np.float64) @ b.T.astype(np.float64) + c
    (y,) = node("Gemm", a, b, c, fixed=[1, 2], transB=1)
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
