"""Matrix products with what follows them."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.dtypes import is_float
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.passes.extended.convolutions import batch_norm_terms
from sardonyx.passes.match import attribute, broadcasts_into, made_by, only_use
from sardonyx.passes.rules import Edit, Outcome, constant, no, rule
from sardonyx.passes.weights import times

__all__ = ["GEMMS"]


@rule("Add")
def fuse_gemm(node: Node, graph: Graph) -> Outcome:
    """MatMul of two matrices, or Gemm without C, plus a bias that broadcasts into the result: Gemm."""
    for i in (0, 1):
        y, bias = node.inputs[i], node.inputs[1 - i]
        product = made_by(y, "MatMul", "Gemm")
        if product is None or y is None or bias is None:
            continue
        if product.op == "Gemm" and product.input(2) is not None and attribute(product, "beta", 1.0) != 0:
            continue
        out = node.outputs[0]
        if not only_use(y) or any(v is None or v.rank != 2 for v in product.inputs[:2]) or y.dtype is None or not is_float(y.dtype):
            return no("the product has another user, or its operands are no float matrices")
        if out is None or not broadcasts_into(bias.shape, y.shape) or bias.rank == 0:
            return no("the bias does not broadcast into the result")
        attrs = {k: v for k, v in product.attrs.items() if k in ("alpha", "transA", "transB")}
        edit = Edit(node, product)
        return edit.replace(out, edit.add("Gemm", [*product.inputs[:2], bias], attrs, like=out))
    return None


@rule("BatchNormalization")
def fold_batch_norm_gemm(node: Node, graph: Graph) -> Outcome:
    """Gemm or MatMul of matrices with constant weights, then BatchNormalization: Gemm with scaled weights and a bias."""
    y, out = node.inputs[0], node.outputs[0]
    product = made_by(y, "Gemm", "MatMul")
    if product is None or y is None or out is None or y.rank != 2:
        return None
    terms, weights = batch_norm_terms(node), product.inputs[1]
    bias = _constant_bias(product)
    if terms is None or not only_use(y) or weights is None or weights.const is None or bias is None or weights.rank != 2:
        return no("something in it is not constant, or the product has another user")
    scale, shift = terms
    transposed = bool(attribute(product, "transB", 0))
    new = times(weights, scale[:, None] if transposed else scale)
    c = constant((bias * scale + shift).astype(weights.const.dtype), node.name + "/bias")
    edit = Edit(node, product)
    attrs = {k: v for k, v in product.attrs.items() if k in ("alpha", "transA", "transB")}
    return edit.replace(out, edit.add("Gemm", [product.inputs[0], new, c], attrs, like=out))


def _constant_bias(product: Node) -> np.ndarray | None:
    """beta * C of a Gemm in float64 (0 where it has none), or None if C is not constant or has rows of its own."""
    c: Value | None = product.input(2)
    if c is None:
        return np.zeros(())
    if c.const is None or (len(c.const.shape) == 2 and c.const.shape[0] != 1):
        return None
    return c.const.numpy().reshape(-1).astype(np.float64) * attribute(product, "beta", 1.0)


GEMMS = (fuse_gemm, fold_batch_norm_gemm)
