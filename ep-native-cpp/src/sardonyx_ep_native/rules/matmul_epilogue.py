"""Bias, residual and activation of a matrix product, done by its epilogue while the tile is in registers."""

from __future__ import annotations

import numpy as np

from sardonyx.ep.rules import Edit, Outcome, no, only_use, rule, same_shape
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx_ep_native.rules.activation import activation

__all__ = ["matmul_activation", "matmul_bias", "matmul_residual"]


def _product(value: Value | None) -> Node | None:
    node = value.producer if value is not None else None
    if node is None or (node.domain, node.op) not in (("", "MatMul"), ("sx", "FusedMatMul")) or node.inputs[0] is None:
        return None
    if node.inputs[0].dtype != np.float32 or not only_use(value) or node.attrs.get("activation"):
        return None
    return node


def _fused(edit: Edit, product: Node, like: Value | None, bias: Value | None, residual: Value | None, extra: dict[str, object]) -> Value:
    attrs = {**product.attrs, **extra}
    return edit.add("FusedMatMul", [product.inputs[0], product.inputs[1], bias, residual], attrs, domain="sx", like=like)


@rule("Add")
def matmul_bias(node: Node, graph: Graph) -> Outcome:
    """Add(MatMul(A, B), constant [N]) -> FusedMatMul(A, B, bias)."""
    for i in (0, 1):
        product, bias = _product(node.inputs[i]), node.inputs[1 - i]
        if product is None or bias is None or bias.const is None or product.input(2) is not None or product.input(3) is not None:
            continue
        b = product.inputs[1]
        if b is None or b.rank is None or b.rank < 2 or bias.shape is None:
            continue
        if len(bias.shape) != 1 or bias.shape[0] != b.shape[-1]:  # type: ignore[index]
            return no("the operand added is no vector of the product's columns")
        edit = Edit(node, product)
        return edit.replace(node.outputs[0], _fused(edit, product, node.outputs[0], bias, None, {}))  # type: ignore[arg-type]
    return None


@rule("Add")
def matmul_residual(node: Node, graph: Graph) -> Outcome:
    """Add(FusedMatMul(A, B, bias), R) with R of the output's shape -> FusedMatMul(A, B, bias, R)."""
    for i in (1, 0):
        product, other = _product(node.inputs[i]), node.inputs[1 - i]
        if product is None or other is None or other.const is not None or product.input(3) is not None:
            continue
        if not same_shape(product.outputs[0], other) or product.inputs[1] is None or product.inputs[1].rank is None:  # type: ignore[arg-type]
            return no("the operand added has not surely the product's shape")
        edit = Edit(node, product)
        return edit.replace(node.outputs[0], _fused(edit, product, node.outputs[0], product.input(2), other, {}))  # type: ignore[arg-type]
    return None


@rule("Relu", "Sigmoid", "HardSwish", "Tanh", "Gelu", "Swish", "LeakyRelu", "Elu", "HardSigmoid", "Clip", "Mish", "Softplus")
def matmul_activation(node: Node, graph: Graph) -> Outcome:
    """act(FusedMatMul(A, B, bias, R)) -> FusedMatMul with the activation in its epilogue."""
    product = _product(node.inputs[0])
    attrs = activation(node)
    if product is None or attrs is None:
        return None
    edit = Edit(node, product)
    return edit.replace(node.outputs[0], _fused(edit, product, node.outputs[0], product.input(2), product.input(3), attrs))  # type: ignore[arg-type]
