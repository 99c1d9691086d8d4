"""MatMul and Gemm."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.matrix.product import product
from sardonyx_ep_cpu.precision import is_half, widen

ops = KernelSet()


def widen_constants(xp: Any, inputs: list[Any], attrs: dict[str, Any]) -> list[Any] | None:
    """Constant float16 and bfloat16 inputs as float32 (None for the others), or None where there are none."""
    wide = [widen(x) if x is not None and is_half(x.dtype) else None for x in inputs]
    return wide if any(x is not None for x in wide) else None


def _widened(inputs: tuple[Any, ...], prepared: list[Any] | None) -> list[Any]:
    if prepared is None:
        return [widen(x) for x in inputs]
    return [widen(x) if wide is None else wide for x, wide in zip(inputs, prepared, strict=False)]


@ops.add("MatMul", since=1, prepare=widen_constants)
def matmul(xp: Any, a: Any, b: Any, *, prepared: list[Any] | None = None) -> Any:
    """numpy.matmul of (..., M, K) and (..., K, N); any dtype, see `product`."""
    if prepared is not None:
        return xp.asarray(product(xp, *_widened((a, b), prepared))).astype(a.dtype)
    y = product(xp, a, b)
    return y if y.ndim else xp.asarray(y)


def _gemm(xp: Any, a: Any, b: Any, c: Any, alpha: float, beta: float, trans_a: int, trans_b: int) -> Any:
    """alpha * A' B' + beta * C in the working precision; C may be None."""
    if a.ndim != 2 or b.ndim != 2:
        raise NodeError(f"Gemm takes matrices, but A has shape {a.shape} and B has shape {b.shape}")
    y = product(xp, a.T if trans_a else a, b.T if trans_b else b)
    if y.dtype.kind in "iu":
        y = _scaled_integers(y, alpha)
        return y if c is None or beta == 0.0 else _add_bias(y, _scaled_integers(c, beta))
    if alpha != 1.0:
        y *= alpha
    if c is not None and beta != 0.0:
        _add_bias(y, c if beta == 1.0 else c * beta)
    return y


def _add_bias(y: Any, c: Any) -> Any:
    try:
        y += c
    except ValueError as error:
        raise NodeError(f"C of shape {c.shape} does not broadcast to the product's shape {y.shape}") from error
    return y


def _scaled_integers(x: Any, factor: float) -> Any:
    if factor == 1.0:
        return x
    if float(factor).is_integer() and (factor >= 0 or x.dtype.kind == "i"):
        return x * x.dtype.type(factor)
    return (x * factor).astype(x.dtype)


@ops.add("Gemm", since=7, prepare=widen_constants)
def gemm(
    xp: Any,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    prepared: list[Any] | None = None,
) -> Any:
    """alpha * A' B' + beta * C: A' (M, K), B' (K, N), C broadcast to (M, N) or absent.

    Raises NodeError for operands that are no matrices and for a C that does not broadcast to the product.
    """
    if prepared is None and not is_half(a.dtype):
        return _gemm(xp, a, b, c, alpha, beta, transA, transB)
    wide = _widened((a, b, c), prepared)
    return _gemm(xp, wide[0], wide[1], wide[2] if c is not None else None, alpha, beta, transA, transB).astype(a.dtype)


@ops.add("Gemm", since=1)
def gemm_1(
    xp: Any, a: Any, b: Any, c: Any, *, alpha: float = 1.0, beta: float = 1.0, broadcast: int = 0, transA: int = 0, transB: int = 0
) -> Any:
    """Gemm with a required C, whose shape must be the result's unless `broadcast` is set."""
    y = gemm(xp, a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)
    if not broadcast and c.shape != y.shape:
        raise NodeError(f"C has shape {c.shape}, the product {y.shape}: without broadcast=1 they must be equal")
    return y
