import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

RNG = np.random.default_rng(0)
SIZES = dict(zip("abcdehijkqX", (2, 3, 4, 5, 2, 3, 4, 5, 2, 6, 2), strict=True))


def run(equation, *inputs):
    kernel = kernels.find("", "Einsum", 12)
    prepared = kernel.prepare(np, [None] * len(inputs), {"equation": equation})
    got = kernel.function(np, *inputs, equation=equation, prepared=prepared)
    np.testing.assert_array_equal(got, kernel.function(np, *inputs, equation=equation))
    assert isinstance(got, np.ndarray)
    return got


EQUATIONS = [
    "ij,jk->ik",
    "ij,jk",
    "bij,bjk->bik",
    "i,i->",
    "ij->",
    "ii->i",
    "ii->",
    "ij->ji",
    "ij->j",
    "i,j->ij",
    "ij,ij->ij",
    "abc,cd,de->abe",
    "bqhc,bkhc->bhqk",
    "aab,b->a",
    "iji,j->i",
    "ab,bc,cd,da->",
    "ij,kj",
    "ba",
    "Xa,aX",
    " i j , j k -> i k ",
    "abc,abd->abcd",
    "abcd->",
]


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
def test_explicit_letters(equation, dtype):
    terms = equation.replace(" ", "").split("->")[0].split(",")
    inputs = [RNG.integers(0, 9, [SIZES[c] for c in term]).astype(dtype) for term in terms]
    got = run(equation, *inputs)
    exact = np.einsum(equation.replace(" ", ""), *(x.astype(np.int64) for x in inputs))
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, exact.astype(dtype))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (1, 5, 4, 6)]),
        ("...ij->...ji", [(2, 3, 4)]),
        ("i...->...", [(2, 3, 4)]),
        ("...,...", [(2, 3), (2, 3)]),
        ("...,...->...", [(), ()]),
        ("...i,i", [(2, 3), (3,)]),
        ("i...j,j->i...", [(2, 3, 4, 5), (5,)]),
        ("ij,jk->ik", [(1, 3), (3, 0)]),
        ("ij,jk->ik", [(2, 0), (0, 3)]),
    ],
)
def test_ellipsis_and_empty(equation, shapes):
    inputs = [RNG.standard_normal(shape) for shape in shapes]
    np.testing.assert_allclose(run(equation, *inputs), np.einsum(equation, *inputs), rtol=1e-12, atol=1e-12)


def test_ellipsis_that_the_output_lacks_is_summed():
    x = RNG.standard_normal((2, 3, 4))
    np.testing.assert_allclose(run("...i->i", x), x.sum((0, 1)))


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("...,...->...", [(), (2, 3)], "ellipsis stands for"),
        ("ij,jk->iz", [(2, 3), (3, 4)], "in no operand"),
        ("ij,jk->ii", [(2, 3), (3, 4)], "repeated"),
        ("ij,jk", [(2, 3)], "2 terms"),
        ("ij", [(3,)], "does not fit the shape"),
        ("i", [(3, 4)], "does not fit the shape"),
        ("ij,jk", [(2, 3), (4, 4)], "sizes 3 and 4"),
        ("i.j", [(2, 3)], "letters and one ellipsis"),
        ("i......", [(2, 3)], "letters and one ellipsis"),
        ("i1", [(2, 3)], "letters and one ellipsis"),
        ("ij->i->j", [(2, 3)], "letters and one ellipsis"),
    ],
)
def test_errors(equation, shapes, message):
    with pytest.raises(NodeError, match=message):
        run(equation, *(np.ones(shape) for shape in shapes))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_sums_in_float32(dtype):
    x = np.ones(4096, dtype)
    got = run("i,i->", x, x)
    assert got.dtype == dtype
    assert got == 4096


def test_integers_wrap():
    x = np.full((3, 40), 200, np.uint8)
    np.testing.assert_array_equal(run("ij,kj->ik", x, x), np.full((3, 3), 200 * 200 * 40 % 256, np.uint8))
