"""Fused matrix products of com.microsoft: FusedMatMul, FusedGemm, GemmFastGelu."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx_ep_cpu.ops.elementwise.activations import gelu
from sardonyx_ep_cpu.ops.matrix.matmul import gemm
from sardonyx_ep_cpu.ops.matrix.product import product
from sardonyx_ep_cpu.ops.recurrent.activations import make_activations
from sardonyx_ep_cpu.precision import widen

ops = KernelSet("com.microsoft")


@ops.add("FusedMatMul")
def fused_matmul(
    xp: Any, a: Any, b: Any, *, alpha: float = 1.0, transA: int = 0, transB: int = 0, transBatchA: int = 0, transBatchB: int = 0
) -> Any:
    """alpha * A' B'. transBatch: the first dimension is the matrix's row, after the batch dimensions; trans: the last two
    dimensions are swapped (after that). Vectors are never transposed."""
    y = product(xp, widen(_arranged(xp, a, transA, transBatchA)), widen(_arranged(xp, b, transB, transBatchB)))
    return xp.asarray(y if alpha == 1.0 else y * alpha).astype(a.dtype, copy=False)


@ops.add("TransposeMatMul")
def transpose_matmul(xp: Any, a: Any, b: Any, *, alpha: float = 1.0, transA: int = 0, transB: int = 0) -> Any:
    """FusedMatMul's older form."""
    return fused_matmul(xp, a, b, alpha=alpha, transA=transA, transB=transB)


def _arranged(xp: Any, x: Any, trans: int, trans_batch: int) -> Any:
    if x.ndim < 2:
        return x
    if trans_batch:
        x = xp.moveaxis(x, 0, -2)
    return x.swapaxes(-1, -2) if trans else x


@ops.add("FusedGemm")
def fused_gemm(
    xp: Any,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    activation: str | None = None,
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Any:
    """Gemm followed by an activation of the recurrent operators' set (any, by name), or by none."""
    y = gemm(xp, widen(a), widen(b), widen(c), alpha=alpha, beta=beta, transA=transA, transB=transB)
    if activation:
        alphas = [] if activation_alpha is None else [activation_alpha]
        betas = [] if activation_beta is None else [activation_beta]
        make_activations(xp, 1, [activation], alphas, betas)[0](y)
    return y.astype(a.dtype, copy=False)


@ops.add("GemmFastGelu")
def gemm_fast_gelu(xp: Any, x: Any, w: Any, bias: Any = None) -> Any:
    """Gelu by the tanh formula of x w + bias; x (..., K), w (K, N), bias (N,)."""
    y = product(xp, widen(x), widen(w))
    if bias is not None:
        y += widen(bias)
    return gelu(xp, y, approximate="tanh").astype(x.dtype, copy=False)
