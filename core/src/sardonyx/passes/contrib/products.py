"""FusedMatMul, FusedGemm, FusedConv."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.passes.match import attribute
from sardonyx.passes.rules import Edit, Outcome, constant, no, rule

__all__ = ["PRODUCTS"]


@rule("FusedMatMul", "TransposeMatMul", domain="com.microsoft")
def standard_matmul(node: Node, graph: Graph) -> Outcome:
    """alpha * A' B': Transpose, MatMul and Mul as far as they are needed."""
    out = node.outputs[0]
    if attribute(node, "transBatchA", 0) or attribute(node, "transBatchB", 0):
        return no("it moves the batch axes")
    edit = Edit(node)
    operands: list[Value | None] = []
    for v, name in zip(node.inputs, ("transA", "transB"), strict=True):
        if v is None or v.rank is None or out is None or out.dtype is None:
            return no("the ranks are not known")
        if attribute(node, name, 0) and v.rank > 1:
            v = edit.add("Transpose", [v], {"perm": [*range(v.rank - 2), v.rank - 1, v.rank - 2]})
        operands.append(v)
    assert out is not None
    alpha = attribute(node, "alpha", 1.0)
    y = edit.add("MatMul", operands, like=out)
    if alpha != 1:
        y = edit.add("Mul", [y, constant(np.asarray(alpha, out.dtype), "alpha")], like=out)
    return edit.replace(out, y)


@rule("FusedGemm", domain="com.microsoft")
def standard_gemm(node: Node, graph: Graph) -> Outcome:
    """Gemm and an activation."""
    out = node.outputs[0]
    assert out is not None
    edit = Edit(node)
    y = edit.add("Gemm", node.inputs, {k: v for k, v in node.attrs.items() if k in ("alpha", "beta", "transA", "transB")}, like=out)
    params = [node.attrs[k] for k in ("activation_alpha", "activation_beta", "activation_gamma") if k in node.attrs]
    done = _activated(edit, y, attribute(node, "activation", ""), params, out)
    return edit.replace(out, done) if done is not None else no("its activation has no standard operator here")


@rule("FusedConv", domain="com.microsoft")
def standard_conv(node: Node, graph: Graph) -> Outcome:
    """Conv, plus a fourth input, and an activation."""
    out = node.outputs[0]
    assert out is not None
    edit = Edit(node)
    attrs = {k: v for k, v in node.attrs.items() if not k.startswith("activation")}
    y = edit.add("Conv", node.inputs[:3], attrs, like=out)
    if node.input(3) is not None:
        y = edit.add("Add", [y, node.input(3)], like=out)
    done = _activated(edit, y, attribute(node, "activation", ""), attribute(node, "activation_params", []), out)
    return edit.replace(out, done) if done is not None else no("its activation has no standard operator here")


def _activated(edit: Edit, y: Value, name: str, params: list[float], like: Value) -> Value | None:
    """The named activation of y."""
    if not name:
        return y
    if name in ("Relu", "Tanh", "Sigmoid", "Softplus", "Softsign", "HardSwish") and not params:
        return edit.add(name, [y], like=like)
    if name == "LeakyRelu" and len(params) == 1:
        return edit.add(name, [y], {"alpha": params[0]}, like=like)
    if name == "HardSigmoid" and len(params) == 2:
        return edit.add(name, [y], {"alpha": params[0], "beta": params[1]}, like=like)
    if name == "Clip" and len(params) == 2:
        return edit.add(name, [y, *(constant(np.asarray(p, like.dtype), "bound") for p in params)], like=like)
    return None


PRODUCTS = (standard_matmul, standard_gemm, standard_conv)
