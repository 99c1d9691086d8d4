"""The matrix product that every operator of this package goes through."""

from __future__ import annotations

from typing import Any

from sardonyx_ep_cpu.precision import is_half, widen

__all__ = ["product"]

# Below this many multiplications an integer product is cheaper in a plain loop than through float64.
_SMALL_INTEGER_PRODUCT = 1 << 15
_EXACT_IN_FLOAT64 = float(1 << 53)


def product(xp: Any, a: Any, b: Any) -> Any:
    """numpy.matmul of `a` (..., M, K) and `b` (..., K, N) of one dtype, result (..., M, N) of that dtype.

    Vectors and broadcasting are as in numpy.matmul. float16 and bfloat16 are multiplied and summed in float32 and rounded
    once; integers are exact modulo 2**bits. Views with transposed or strided matrices are not copied.
    """
    dtype = a.dtype
    if dtype.char in "fd":
        return _float_product(xp, a, b)
    if is_half(dtype):
        return xp.asarray(_float_product(xp, widen(a), widen(b))).astype(dtype)
    if dtype.kind in "iu":
        return _integer_product(xp, a, b)
    return xp.matmul(a, b)


def _float_product(xp: Any, a: Any, b: Any) -> Any:
    shape = a.shape
    rank = len(shape)
    if rank < 2 or b.ndim != 2:
        return xp.matmul(a, b)
    if rank > 2:
        depth = shape[-1]
        if depth != b.shape[0] or not a.size:
            return xp.matmul(a, b)
        rows = a.size // depth
        return _rows_product(xp, a.reshape(rows, depth), b, rows).reshape(*shape[:-1], b.shape[1])
    return _rows_product(xp, a, b, shape[0])


def _rows_product(xp: Any, a: Any, b: Any, rows: int) -> Any:
    # BLAS repacks b for every product of matrices; for two or three rows, reading b once per row (gemv) is twice as fast.
    if 1 < rows < 4:
        return xp.matmul(a[:, None, :], b)[:, 0]
    return xp.matmul(a, b)


def _integer_product(xp: Any, a: Any, b: Any) -> Any:
    if a.size * b.shape[-1] < _SMALL_INTEGER_PRODUCT or not b.size:
        return xp.matmul(a, b)
    bound = _magnitude(xp, a) * _magnitude(xp, b) * a.shape[-1]
    if bound >= _EXACT_IN_FLOAT64:
        return xp.matmul(a, b)
    exact = _float_product(xp, a.astype(xp.float64), b.astype(xp.float64))
    return exact.astype(xp.int64).astype(a.dtype)


def _magnitude(xp: Any, x: Any) -> float:
    return max(float(xp.max(x)), -float(xp.min(x)))
