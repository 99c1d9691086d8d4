"""Products with constant weights that are dequantized in blocks, as MatMulNBits, which never holds them in float32."""

from __future__ import annotations

import numpy as np

from sardonyx.ep.rules import Edit, Outcome, constant, made_by, no, only_use, rule
from sardonyx.ir.dtypes import dtype_name, from_name
from sardonyx.ir.graph import Graph, Node, Value

__all__ = ["blocked_weights", "nbits_bias"]

_BITS = {from_name(n): bits for bits in (2, 4, 8) for n in (f"int{bits}", f"uint{bits}")}


@rule("Add")
def nbits_bias(node: Node, graph: Graph) -> Outcome:
    """Add(MatMulNBits(A, B), constant [N]) -> MatMulNBits(A, B, bias)."""
    for i in (0, 1):
        y, bias = node.inputs[i], node.inputs[1 - i]
        product = y.producer if y is not None else None
        if product is None or product.key != ("com.microsoft", "MatMulNBits") or not only_use(y) or product.input(5) is not None:
            continue
        if bias is None or bias.const is None or bias.shape != (product.attrs["N"],) or bias.dtype != np.float32:
            return no("the operand added is no constant vector of the product's columns")
        edit = Edit(node, product)
        inputs = [*product.inputs, None, None, None][:5]
        fused = edit.add("MatMulNBits", [*inputs, bias], dict(product.attrs), domain="com.microsoft", like=node.outputs[0])
        return edit.replace(node.outputs[0], fused)  # type: ignore[arg-type]
    return None


@rule("MatMul")
def blocked_weights(node: Node, graph: Graph) -> Outcome:
    """MatMul(A, DequantizeLinear(constant [K, N] in blocks of K)) -> MatMulNBits; also where the constant is [N, K], transposed."""
    a, b = node.inputs
    transpose = made_by(b, "Transpose")
    weights = made_by(transpose.inputs[0] if transpose is not None else b, "DequantizeLinear")
    if a is None or weights is None or a.dtype != np.float32 or not a.rank:
        return None
    block, (q, scale, zero) = weights.attrs.get("block_size", 0), (*weights.inputs, None)[:3]
    if not block or made_by(a, "DequantizeLinear") is not None:
        return None
    if any(v is not None and v.const is None for v in (q, scale, zero)) or q is None or scale is None or scale.dtype != np.float32:
        return no("its weights are no constants, or have scales that are not float32")
    if q.dtype not in _BITS or q.rank != 2 or block < 16 or block % 16:
        return no("its weights are no matrix of 2, 4 or 8 bits in blocks of a multiple of 16")
    if weights.attrs.get("axis", 1) % 2 != (1 if transpose is not None else 0):
        return no("its blocks do not lie along K")
    transposed = transpose is None
    lines, scales, zeros = _lines(q, transposed), _lines(scale, transposed), None if zero is None else _lines(zero, transposed)
    edit = Edit(node, weights) if transpose is None else Edit(node, transpose, weights)
    n, k = lines.shape
    bits = _BITS[q.dtype]
    inputs = [a, *_packed(bits, block, _is_signed(q.dtype), lines, scales, zeros)]
    attrs = {"N": n, "K": k, "bits": bits, "block_size": block}
    y = edit.add("MatMulNBits", inputs, attrs, domain="com.microsoft", like=node.outputs[0])
    return edit.replace(node.outputs[0], y)  # type: ignore[arg-type]


def _is_signed(dtype: np.dtype) -> bool:
    return not dtype_name(dtype).startswith("u")


def _lines(v: Value, transposed: bool) -> np.ndarray:
    """A constant by columns of the product: [N, ...]. Numbers of few bits are given as bytes."""
    assert v.const is not None
    array = v.const.numpy()
    if v.dtype in _BITS:
        array = array.astype(np.int8 if _is_signed(v.dtype) else np.uint8).view(np.uint8)
    return array.T if transposed else array


def _packed(bits: int, block: int, signed: bool, q: np.ndarray, scale: np.ndarray, zero: np.ndarray | None) -> list[Value | None]:
    """MatMulNBits' weights, scales and zero points: unsigned numbers, signed ones moved by 2^(bits - 1)."""
    shift = np.uint8(1 << (bits - 1) if signed else 0)
    n, k = q.shape
    blocks = scale.shape[1]
    whole = np.zeros((n, blocks * block), np.uint8)
    np.add(q, shift, out=whole[:, :k])
    weights = _fields(whole, bits).reshape(n, blocks, block * bits // 8)
    if zero is None and not signed:
        zero = np.zeros((n, blocks), np.uint8)
    parts = (weights, np.ascontiguousarray(scale), None if zero is None else _fields(zero + shift, bits))
    return [None if x is None else constant(x) for x in parts]


def _fields(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Numbers of `bits` bits along the last axis, the first in a byte's low bits."""
    per = 8 // bits
    lead, count = numbers.shape[:-1], numbers.shape[-1]
    padded = np.zeros((*lead, -(-count // per) * per), np.uint8)
    padded[..., :count] = numbers
    result = padded[..., ::per].copy()
    for i in range(1, per):
        result |= padded[..., i::per] << np.uint8(i * bits)
    return result
