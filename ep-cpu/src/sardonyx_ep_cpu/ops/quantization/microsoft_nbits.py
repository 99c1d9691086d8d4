"""MatMulNBits of com.microsoft: a product with weights of 2 to 8 bits, quantized in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.matrix.product import product
from sardonyx_ep_cpu.ops.quantization.bits import unpack_bits
from sardonyx_ep_cpu.precision import widen

__all__ = ["block_weights", "ops"]

ops = KernelSet("com.microsoft")

_LARGEST_CONSTANT = 1 << 24  # weights that are dequantized once, when the model is compiled
_CHUNK = 1 << 20  # weights dequantized at a time otherwise


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The dequantized weights [N, K], and whether zero points and group indices were known."""

    weights: Any
    zeros: bool
    groups: bool


def block_weights(xp: Any, packed: Any, scales: Any, zeros: Any, groups: Any, k: int, block_size: int, bits: int) -> Any:
    """float32 weights [N, K] from packed [N, blocks, bytes], scales [N, blocks] and zero points, or None for 2**(bits - 1).

    Zero points are packed like the weights, [N, ceil(blocks * bits / 8)], or are numbers of a float dtype [N, blocks].
    `groups` [K] names each column's block; None means consecutive ones.
    """
    rows, blocks = packed.shape[:2]
    values = unpack_bits(xp, packed.reshape(rows, -1), bits).astype(xp.float32)
    scales = widen(scales).reshape(rows, blocks, 1)
    if zeros is None:
        zeros = float(1 << (bits - 1))
    elif zeros.dtype == xp.uint8:
        zeros = unpack_bits(xp, zeros.reshape(rows, -1), bits)[:, :blocks, None]
    else:
        zeros = widen(zeros).reshape(rows, blocks, 1)
    if groups is None:
        values = values.reshape(rows, blocks, block_size)
        values -= zeros
        values *= scales
        return values.reshape(rows, -1)[:, :k]
    values = values[:, :k]
    values -= zeros if isinstance(zeros, float) else zeros[:, groups, 0]
    values *= scales[:, groups, 0]
    return values


def _prepare(xp: Any, inputs: list[Any], attrs: dict[str, Any]) -> _Prepared | None:
    _, packed, scales, zeros, groups = (*inputs, None, None, None)[:5]
    if packed is None or scales is None or attrs["N"] * attrs["K"] > _LARGEST_CONSTANT or not packed.size:
        return None
    weights = block_weights(xp, packed, scales, zeros, groups, attrs["K"], attrs["block_size"], attrs.get("bits", 4))
    return _Prepared(weights, zeros is not None, groups is not None)


@ops.add("MatMulNBits", prepare=_prepare)
def matmul_nbits(
    xp,
    a,
    b,
    scales,
    zero_points=None,
    g_idx=None,
    bias=None,
    *,
    K,
    N,
    accuracy_level=0,
    bits=4,
    block_size,
    weight_prepacked=0,
    prepared=None,
):
    """A [..., K] times the transpose of dequantized weights [N, K] (see `block_weights`), plus bias [N], in A's dtype.

    Computed in float32 whatever `accuracy_level` permits. Weights with a dimension of 0 count as zeros.
    """
    if weight_prepacked:
        raise NodeError(f"weight_prepacked={weight_prepacked} is a layout of CUDA; only 0 is supported")
    if a.shape[-1] != K or b.ndim != 3:
        raise NodeError(f"A has shape {a.shape} and B {b.shape}, but K is {K} and B must be [N, blocks, bytes]")
    y = _product(xp, widen(a), b, scales, zero_points, g_idx, K, N, block_size, bits, prepared)
    if bias is not None:
        y += bias
    return y.astype(a.dtype, copy=False)


def _product(xp, a, b, scales, zeros, groups, k, n, block_size, bits, prepared):
    if not b.size:
        return xp.zeros((*a.shape[:-1], n), xp.float32)
    if prepared is not None and (prepared.zeros, prepared.groups) == (zeros is not None, groups is not None):
        return product(xp, a, prepared.weights.T)
    if b.shape != (n, -(-k // block_size), block_size * bits // 8):
        raise NodeError(f"B has shape {b.shape}, which does not fit N={n}, K={k}, block_size={block_size}, bits={bits}")
    scales, zeros = scales.reshape(n, -1), None if zeros is None else zeros.reshape(n, -1)
    y = xp.empty((*a.shape[:-1], n), xp.float32)
    step = max(1, _CHUNK // max(1, k))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        weights = block_weights(xp, b[rows], scales[rows], None if zeros is None else zeros[rows], groups, k, block_size, bits)
        y[..., rows] = product(xp, a, weights.T)
    return y
