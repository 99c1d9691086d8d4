import numpy as np
import pytest

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.types import TensorType
from sardonyx.runtime.work import Rates, Work, work_of


def value(name, *shape, dtype="f4"):
    return Value(name, TensorType(np.dtype(dtype), tuple(shape)))


def test_products_and_convolutions():
    matmul = Node("MatMul", [value("a", "n", 3, 4), value("b", 4, 5)], [value("y", "n", 3, 5)])
    assert work_of(matmul, {"n": 2}) == Work(2 * 2 * 3 * 5 * 4, 4 * (24 + 20 + 30))
    assert work_of(matmul, {}) is None
    x, y = matmul.inputs[0], matmul.outputs[0]
    assert work_of(matmul, {}, {x: (2, 3, 4), y: (2, 3, 5)}) == work_of(matmul, {"n": 2})
    gemm = Node("Gemm", [value("a", 4, 3), value("b", 4, 5)], [value("y", 3, 5)], {"transA": 1})
    assert work_of(gemm, {}).flops == 2 * 3 * 5 * 4
    conv = Node("Conv", [value("x", 1, 6, 8, 8), value("w", 4, 3, 3, 3)], [value("y", 1, 4, 6, 6)], {"group": 2})
    assert work_of(conv, {}).flops == 2 * 4 * 36 * 27
    transposed = Node("ConvTranspose", [value("x", 1, 6, 8, 8), value("w", 6, 4, 2, 2)], [value("y", 1, 4, 16, 16)], {"strides": [2, 2]})
    assert work_of(transposed, {}).flops == 2 * 6 * 64 * 16
    attention = Node("Attention", [value("q", 2, 3, 8), value("k", 2, 7, 8), value("v", 2, 7, 8)], [value("y", 2, 3, 8)])
    assert work_of(attention, {}).flops == 2 * (2 * 3 * 7 * 8) * 2


def test_other_operators_move_bytes():
    relu = Node("Relu", [value("x", 10, dtype="f2")], [value("y", 10, dtype="f2")])
    assert work_of(relu, {}) == Work(0, 40)
    assert Rates(1e9, 1e6).share(Work(0, 40), 1e-4) == pytest.approx(0.4)
    assert Rates(1e9, 1e6).share(Work(50_000, 40), 1e-4) == pytest.approx(0.5)
