"""Rules of matrix products, against finite differences."""

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((2, 3), (3, 4)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((2, 2, 3), (3, 2)),
        ((2, 3), (2, 3, 2)),
        ((2, 1, 2, 3), (2, 3, 2)),
        ((3,), (2, 3, 2)),
        ((2, 2, 3), (3,)),
    ],
)
def test_matmul(a, b, check, rng):
    check("y = MatMul(a, b)", {"a": rng.standard_normal(a), "b": rng.standard_normal(b)})


def test_matmul_of_unknown_rank(check, rng):
    """Ranks that only show while running: at least 2 is taken for granted."""
    feeds = {"a": rng.standard_normal((2, 2, 3)), "b": rng.standard_normal((3, 2)), "s": np.array([2, 2, 3]), "r": np.array([3, 2])}
    check("p = Reshape(a, s) q = Reshape(b, r) y = MatMul(p, q)", feeds)


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("right", [0, 1])
def test_gemm(left, right, check, rng):
    a, b = rng.standard_normal((3, 2) if left else (2, 3)), rng.standard_normal((4, 3) if right else (3, 4))
    node = f"Gemm<alpha=0.5, beta=2.0, transA={left}, transB={right}>"
    check(f"y = {node}(a, b, c)", {"a": a, "b": b, "c": rng.standard_normal(4)})
    check(f"y = {node}(a, b)", {"a": a, "b": b}, second=False)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 2)]),
        ("ij,jk", [(2, 3), (3, 2)]),
        ("bij, bjk -> bik", [(2, 2, 3), (2, 3, 2)]),
        ("ij,kj,k->ik", [(2, 3), (2, 3), (2,)]),
        ("...ij,...jk->...ik", [(2, 2, 3), (1, 3, 2)]),
        ("ij->ji", [(2, 3)]),
    ],
)
def test_einsum(equation, shapes, check, rng):
    names = "abc"[: len(shapes)]
    feeds = {k: rng.standard_normal(s) for k, s in zip(names, shapes, strict=True)}
    check(f'y = Einsum<equation="{equation}">({", ".join(names)})', feeds)


def test_attention(check, rng):
    """Through the function body."""
    feeds = {k: rng.standard_normal((1, 2, 3, 2)) for k in ("q", "k", "v")}
    check("y = Attention(q, k, v)", feeds, opset=23, rtol=1e-5)
