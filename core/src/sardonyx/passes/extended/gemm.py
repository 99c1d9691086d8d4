"""Matrix products with what follows them."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.dtypes import is_float
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.passes.extended.convolutions import batch_norm_terms
from sardonyx.passes.match import attribute, broadcasts_into, made_by, only_use, same_shape
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


@rule("Mul", "Div")
def fold_scale(node: Node, graph: Graph) -> Outcome:
    """MatMul by constant weights, with or without a constant bias, times a constant per column: scaled weights and bias."""
    for i in (0, 1) if node.op == "Mul" else (0,):
        y, factor, out = node.inputs[i], node.inputs[1 - i], node.outputs[0]
        add = made_by(y, "Add") if only_use(y) else None
        bias = next((v for v in add.inputs if v is not None and v.const is not None), None) if add is not None else None
        inner = next((v for v in add.inputs if v is not bias), None) if add is not None and bias is not None else y
        product = made_by(inner, "MatMul")
        weights = product.inputs[1] if product is not None else None
        if product is None or weights is None or weights.const is None or len(weights.const.shape) != 2 or out is None or inner is None:
            continue
        columns = _column_vector(factor, weights.const.shape[1])
        if columns is None or not only_use(y) or not only_use(inner) or not same_shape(inner, out) or weights.const.dtype.itemsize < 4:
            return no("the factor is not one constant per column, or the product has another user")
        if node.op == "Div":
            if not columns.all():
                return no("it divides by zero")
            columns = 1 / columns
        edit = Edit(node, product) if add is None or bias is None else Edit(node, add, product)
        result = edit.add("MatMul", [product.inputs[0], times(weights, columns)], like=out)
        if bias is not None:
            shift = _column_vector(bias, weights.const.shape[1])
            if shift is None:
                return no("the bias is not one constant per column")
            result = edit.add("Add", [result, constant((shift * columns).astype(weights.const.dtype), bias.name)], like=out)
        return edit.replace(out, result)
    return None


def _column_vector(value: Value | None, columns: int) -> np.ndarray | None:
    """A constant as one float64 per column, if broadcasting it along rows means that."""
    if value is None or value.const is None or value.const.dtype.kind not in "fV":
        return None
    shape = value.const.shape
    if value.const.size == 1:
        return np.full(columns, float(value.const.numpy().reshape(-1)[0]))
    if shape[-1] != columns or value.const.size != columns:
        return None
    return value.const.numpy().reshape(-1).astype(np.float64)


def _constant_bias(product: Node) -> np.ndarray | None:
    """beta * C of a Gemm in float64 (0 where it has none), or None if C is not constant or has rows of its own."""
    c: Value | None = product.input(2)
    if c is None:
        return np.zeros(())
    if c.const is None or (len(c.const.shape) == 2 and c.const.shape[0] != 1):
        return None
    return c.const.numpy().reshape(-1).astype(np.float64) * attribute(product, "beta", 1.0)


GEMMS = (fold_scale, fuse_gemm, fold_batch_norm_gemm)
