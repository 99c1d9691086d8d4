"""Packing of weights for MatMulNBits and its likes: the functions of onnxruntime's extension module, which fill arrays.

The source is a matrix [K, N], in blocks of `block_size` rows. Block b of column n has a scale and a zero point.
"""

from __future__ import annotations

import numpy as np

__all__ = [
    "quantize_matmul_2bits",
    "quantize_matmul_4bits",
    "quantize_matmul_8bits",
    "quantize_matmul_bnb4",
    "quantize_qdq_matmul_2bits",
    "quantize_qdq_matmul_4bits",
]


def _quantized(source: np.ndarray, block: int, bits: int, symmetric: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(codes [blocks, block, N] from 0, scales [blocks, N], zero points [blocks, N]); rows past the last are of value 0."""
    rows, columns = source.shape
    blocks = -(-rows // block)
    x = np.zeros((blocks * block, columns), np.float32)
    x[:rows] = source
    x = x.reshape(blocks, block, columns)
    top, middle = (1 << bits) - 1, 1 << (bits - 1)
    low, high = np.minimum(x.min(1), 0), np.maximum(x.max(1), 0)
    if symmetric:
        scales = np.where(np.abs(high) > np.abs(low), high, low) / np.float32(-middle)
        zeros = np.full(scales.shape, middle, np.uint8)
    else:
        scales = (high - low) / np.float32(top)
        with np.errstate(divide="ignore", invalid="ignore"):
            zeros = np.where(scales != 0, np.clip(np.rint(-low / scales), 0, top), 0).astype(np.uint8)
    with np.errstate(divide="ignore"):
        inverse = np.where(scales != 0, np.float32(1) / scales, np.float32(0))
    codes = np.clip(_round(x * inverse[:, None] + zeros[:, None]), 0, top).astype(np.uint8)
    return codes, scales.astype(np.float32), zeros


def _round(x: np.ndarray) -> np.ndarray:
    """To the nearest integer, halves away from zero."""
    return np.trunc(x + np.copysign(np.float32(0.5), x))


def _packed(codes: np.ndarray, bits: int, missing: int = 0) -> np.ndarray:
    """Codes of the last axis packed into bytes, the first in the lowest bits."""
    per = 8 // bits
    short = -codes.shape[-1] % per
    if short:
        codes = np.concatenate([codes, np.full((*codes.shape[:-1], short), missing, np.uint8)], -1)
    parts = codes.reshape(*codes.shape[:-1], -1, per)
    return np.bitwise_or.reduce(parts << (np.arange(per, dtype=np.uint8) * bits), -1).astype(np.uint8)


def _matmul(
    bits: int, dst: np.ndarray, src: np.ndarray, scale: np.ndarray, zero_points: np.ndarray, block_size: int, symmetric: bool
) -> None:
    codes, scales, zeros = _quantized(src, block_size, bits, symmetric)
    packed = _packed(codes.transpose(2, 0, 1), bits).reshape(dst.shape)
    last = src.shape[0] - (len(codes) - 1) * block_size
    dst[:, :-1] = packed[:, :-1]
    dst[:, -1, : -(-last * bits // 8)] = packed[:, -1, : -(-last * bits // 8)]
    scale[...] = scales.T.reshape(scale.shape)
    if zero_points.size and not symmetric:
        zero_points[...] = _packed(zeros.T, bits, 1 << (bits - 1)).reshape(zero_points.shape)


def quantize_matmul_2bits(
    dst: np.ndarray, src: np.ndarray, scale: np.ndarray, zero_points: np.ndarray, block_size: int, N: int, K: int, is_symmetric: bool
) -> None:
    """Fill `dst` uint8 [N, blocks, block_size / 4], `scale` [N, blocks] and `zero_points` (packed) from `src` [K, N]."""
    _matmul(2, dst, src, scale, zero_points, block_size, is_symmetric)


def quantize_matmul_4bits(
    dst: np.ndarray, src: np.ndarray, scale: np.ndarray, zero_points: np.ndarray, block_size: int, N: int, K: int, is_symmetric: bool
) -> None:
    """Fill `dst` uint8 [N, blocks, block_size / 2], `scale` [N, blocks] and `zero_points` (packed) from `src` [K, N]."""
    _matmul(4, dst, src, scale, zero_points, block_size, is_symmetric)


def quantize_matmul_8bits(
    dst: np.ndarray, src: np.ndarray, scale: np.ndarray, zero_points: np.ndarray, block_size: int, N: int, K: int, is_symmetric: bool
) -> None:
    """Fill `dst` uint8 [N, blocks, block_size], `scale` [N, blocks] and `zero_points` from `src` [K, N]."""
    _matmul(8, dst, src, scale, zero_points, block_size, is_symmetric)


def _qdq(bits: int, dst: np.ndarray, src: np.ndarray, scale: np.ndarray, zero_points: np.ndarray, block_size: int, symmetric: bool) -> bool:
    codes, scales, zeros = _quantized(src, block_size, bits, symmetric)
    rows = codes.reshape(-1, codes.shape[-1])[: src.shape[0]]
    if symmetric:
        rows, zeros = rows ^ np.uint8(1 << (bits - 1)), np.zeros_like(zeros)
    flat = _packed(rows.reshape(-1), bits)
    dst.reshape(-1)[: flat.size] = flat
    scale[...] = scales.reshape(scale.shape)
    if zero_points.size:
        flat = _packed(zeros.reshape(-1), bits)
        zero_points.reshape(-1)[: flat.size] = flat
    return symmetric


def quantize_qdq_matmul_2bits(
    dst: np.ndarray, src: np.ndarray, scale: np.ndarray, zero_points: np.ndarray, block_size: int, N: int, K: int, is_symmetric: bool
) -> bool:
    """As quantize_qdq_matmul_4bits, with 2 bits."""
    return _qdq(2, dst, src, scale, zero_points, block_size, is_symmetric)


def quantize_qdq_matmul_4bits(
    dst: np.ndarray, src: np.ndarray, scale: np.ndarray, zero_points: np.ndarray, block_size: int, N: int, K: int, is_symmetric: bool
) -> bool:
    """Fill `dst` [K, N] packed along rows of the matrix, `scale` [blocks, N] and `zero_points` for DequantizeLinear; whether
    the codes are signed."""
    return _qdq(4, dst, src, scale, zero_points, block_size, is_symmetric)


# The values of the codes, as bitsandbytes has them: a float of 4 bits without its sign, and the quantiles of the normal distribution.
FP4 = np.array([0, 5.208333333e-03, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25], np.float32)
NF4 = np.array(
    [
        *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334),
        *(-0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
        *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
    ],
    np.float32,
)


def quantize_matmul_bnb4(dst: np.ndarray, src: np.ndarray, absmax: np.ndarray, block_size: int, quant_type: int, N: int, K: int) -> None:
    """Fill `dst` uint8 [N * K / 2] (the first code in the high bits) and `absmax` [blocks] from `src` [K, N], read in the order of memory;
    `quant_type` 0: FP4, 1: NF4."""
    x = np.ascontiguousarray(src, np.float32).reshape(-1)
    size = x.size
    x = np.concatenate([x, np.zeros(-size % block_size, np.float32)])
    blocks = x.reshape(-1, block_size)
    largest = np.abs(blocks).max(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(largest[:, None] != 0, blocks / largest[:, None], 0)
    codes = _nearest(NF4, relative) if quant_type == 1 else _nearest(FP4, np.abs(relative)) | np.where(relative < 0, 8, 0)
    codes = codes.astype(np.uint8).reshape(-1)[:size]
    pairs = np.concatenate([codes, np.zeros(codes.size % 2, np.uint8)]).reshape(-1, 2)
    dst.reshape(-1)[: len(pairs)] = pairs[:, 0] << 4 | pairs[:, 1]
    absmax.reshape(-1)[: largest.size] = largest


def _nearest(table: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The index of the value in `table` that is nearest, for each element."""
    order = np.argsort(table)
    values = table[order]
    return order[np.searchsorted((values[1:] + values[:-1]) / 2, x)]
