"""Exact products of integer matrices through float32 BLAS.

float32 holds integers up to 2**24. A product is cut along its inner dimension into pieces none of whose partial sums can
pass that bound, whatever the order they are added in; the pieces' results are added as int32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sardonyx_ep_cpu.ops.matrix.product import product

__all__ = [
    "LARGEST_BYTE",
    "IntegerMatrix",
    "by_row",
    "integer_matrix",
    "integer_product",
    "pieces",
    "prepare_right",
    "right_factor",
    "shifted",
]

_EXACT = 1 << 24
LARGEST_BYTE = 255
"""The greatest magnitude of an 8-bit integer less a zero point."""


def shifted(xp: Any, x: Any, zero: Any) -> Any:
    """x - zero in float32 for x of 8 bits; `zero` broadcasts to x or is None."""
    real = x.astype(xp.float32)
    if zero is not None:
        real -= zero
    return real


def pieces(xp: Any, sums: Any) -> list[slice]:
    """Cuts of the inner dimension so that exact sums result with a left factor of at most LARGEST_BYTE.

    `sums` [..., K, N] are the magnitudes of the right factor.
    """
    length = sums.shape[-2]
    cuts, stack = [], [(0, length)]
    while stack:
        first, last = stack.pop()
        part = sums[..., first:last, :]
        if last - first > 1 and float(xp.max(xp.sum(part, axis=-2), initial=0)) * LARGEST_BYTE >= _EXACT:
            middle = (first + last) // 2
            stack += [(middle, last), (first, middle)]
        else:
            cuts.append(slice(first, last))
    return cuts


@dataclass(frozen=True, slots=True)
class IntegerMatrix:
    """A right factor [..., K, N] less its zero point, in float32, and the cuts of K that keep its products exact."""

    matrix: Any
    cuts: list[slice]
    shifted: bool


def integer_matrix(xp: Any, b: Any, zero: Any) -> IntegerMatrix:
    """Prepare b [..., K, N] (8 bits) as a right factor; `zero` broadcasts to b or is None."""
    matrix = shifted(xp, b, zero)
    return IntegerMatrix(matrix, pieces(xp, xp.abs(matrix)), zero is not None)


def prepare_right(b: int, zero: int) -> Callable[[Any, list[Any], dict[str, Any]], IntegerMatrix | None]:
    """A kernel's `prepare` for a right factor and its zero point at these inputs, None where the factor is no constant."""

    def prepare(xp: Any, inputs: list[Any], attrs: dict[str, Any]) -> IntegerMatrix | None:
        matrix = inputs[b]
        if matrix is None or matrix.ndim < 2 or matrix.dtype.kind not in "iu":
            return None
        return integer_matrix(xp, matrix.T if attrs.get("transB") else matrix, inputs[zero] if zero < len(inputs) else None)

    return prepare


def right_factor(xp: Any, b: Any, zero: Any, prepared: IntegerMatrix | None) -> IntegerMatrix:
    """What `prepare_right` made, unless it did not know the zero point; a vector becomes one column."""
    if prepared is not None and prepared.shifted == (zero is not None):
        return prepared
    return integer_matrix(xp, b if b.ndim > 1 else b[:, None], zero)


def integer_product(xp: Any, a: Any, zero: Any, b: IntegerMatrix) -> Any:
    """(a - zero) @ b, exact, for a [..., M, K] of 8 bits: float32 where it fits, else int32, which wraps around.

    `zero` is one number, or has one per row, as [M] or [..., M, 1], or is None.
    """
    left = shifted(xp, a, by_row(zero))
    if len(b.cuts) <= 1:
        return product(xp, left, b.matrix)
    parts = (product(xp, left[..., cut], b.matrix[..., cut, :]) for cut in b.cuts)
    total = next(parts).astype(xp.int32)
    for part in parts:
        total += part.astype(xp.int32)
    return total


def by_row(parameter: Any) -> Any:
    """A scale or zero point of the left factor, so that it broadcasts to [..., M, N]; None stays None."""
    if parameter is None or parameter.ndim != 1:
        return parameter
    return parameter.reshape(()) if parameter.size == 1 else parameter[:, None]
