"""Einsum against numpy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sardonyx.errors import SardonyxError

SIZES = dict(zip("abcdefghijk", (2, 3, 5, 4, 7, 6, 3, 2, 9, 8, 5), strict=True))


def operands(equation: str, dots: tuple[int, ...] = ()) -> list[np.ndarray]:
    rng = np.random.default_rng(len(equation))
    shapes = []
    for term in equation.replace(" ", "").split("->")[0].split(","):
        before, _, after = term.partition("...")
        shapes.append([*(SIZES[c] for c in before), *(dots if "..." in term else ()), *(SIZES[c] for c in after)])
    return [rng.standard_normal(s).astype("f4") for s in shapes]


def check(node: Any, equation: str, xs: list[np.ndarray], fixed: tuple[int, ...] = ()) -> None:
    """AssertionError if the result differs from numpy's by more than rounding."""
    want = np.einsum(equation.replace(" ", ""), *(x.astype("f8") for x in xs))
    (y,) = node("Einsum", *xs, fixed=fixed, equation=equation)
    assert y.shape == want.shape
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-4)


EQUATIONS = (
    """
ij,jk->ik;ij,kj->ik;ji,jk->ki;ij,jk->ki;ij,jk;ij,j->i;i,i->;i,j->ij;ij,ij->ij;ij,ij->;ij,ji->i
bij,bjk->bik;abcd,abed->abce;abcd,abde->abce;abce,abed->acbd;acbd,aebd->abce;bij,jk->bik;abc,cde->abde;abde,cde->abc;ab,bcd,de->ace
ij->ji;ij->i;ij->;ii->i;ii->;iij->j;iji->ij;abc->cab;ij;ba;ii,ij->j;abc,abc,abc->a;ab,cd->;ab,cd->dbca;i,ij,j->
""".replace("\n", ";")
    .strip(";")
    .split(";")
)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations(node: Any, equation: str) -> None:
    xs = operands(equation)
    check(node, equation, xs)
    if len(xs) == 2:
        check(node, equation, xs, fixed=(1,))


@pytest.mark.parametrize(
    "equation", ["...ij,...jk->...ik", "i...,i...->...", "...i->...", "a...b,b->...a", "...,...->...", "... , i -> i ..."]
)
@pytest.mark.parametrize("dots", [(), (3,), (2, 3)])
def test_ellipses(node: Any, equation: str, dots: tuple[int, ...]) -> None:
    check(node, equation, operands(equation, dots))


def test_sizes_of_one_broadcast(node: Any) -> None:
    rng = np.random.default_rng(0)
    for shapes in (((1, 4, 5), (3, 5, 6)), ((3, 4, 1), (3, 5, 6)), ((3, 4, 5), (1, 1, 6))):
        check(node, "bij,bjk->bik", [rng.standard_normal(s).astype("f4") for s in shapes])


def test_empty_operands(node: Any) -> None:
    check(node, "ij,jk->ik", [np.ones((2, 0), "f4"), np.ones((0, 3), "f4")])
    check(node, "ij,jk->ik", [np.ones((0, 2), "f4"), np.ones((2, 3), "f4")])
    check(node, "ij->i", [np.ones((2, 0), "f4")])


def test_large_enough_for_threads(node: Any) -> None:
    rng = np.random.default_rng(0)
    q, k = rng.standard_normal((2, 70, 3, 64)).astype("f4"), rng.standard_normal((2, 90, 3, 64)).astype("f4")
    check(node, "bqhd,bkhd->bhqk", [q, k])
    check(node, "bqhd,hde->bqe", [q, rng.standard_normal((3, 64, 50)).astype("f4")], fixed=(1,))


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("...,...->...", [(), (2, 3)], "an ellipsis stands for"),
        ("ij,jk->ik", [(2, 3), (4, 5)], "sizes 3 and 4"),
        ("ij->i", [(2, 3, 4)], "does not fit"),
    ],
)
def test_equations_that_do_not_fit_fail(node: Any, equation: str, shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(SardonyxError, match=message):
        node("Einsum", *(np.ones(s, "f4") for s in shapes), equation=equation)
