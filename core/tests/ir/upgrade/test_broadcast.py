"""Broadcasting of opset 1 to 6: numbers before and after."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx.ir.load import load

A = np.arange(1, 121, dtype=np.float32).reshape(2, 3, 4, 5)
OPS = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}


@pytest.mark.parametrize(
    ("b", "axis", "shape"),
    [
        ((3, 4), 1, (3, 4, 1)),
        ((2,), 0, (2, 1, 1, 1)),
        ((5,), None, (5,)),
        ((4, 5), -1, (4, 5)),
        ((5,), -1, (5,)),
        ((3, 4), -3, (3, 4, 1)),
        ((5,), 3, (5,)),
        ((1,), 0, (1, 1, 1, 1)),
        ((), None, ()),
    ],
)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("constant", [True, False])
def test_anchored_at_an_axis(tools, op, b, axis, shape, constant):
    values = np.arange(1, 1 + np.prod(b), dtype=np.float32).reshape(b)
    attrs = {"broadcast": 1} | ({} if axis is None else {"axis": axis})
    feeds = {"a": A} if constant else {"a": A, "b": values}
    model = tools.one_node(op, feeds, 6, {"b": values} if constant else None, **attrs)
    ops = f"Unsqueeze {op}" if not constant and shape != b else op
    tools.upgraded(model, feeds, [OPS[op](A, values.reshape(shape))], ops)


def test_logic_and_comparison(tools):
    a, b = A[0] > 20, np.array([True, False, True])
    model = tools.one_node("Xor", {"a": a, "b": b}, 1, broadcast=1, axis=0)
    tools.upgraded(model, {"a": a, "b": b}, [a ^ b[:, None, None]], "Unsqueeze Xor")
    model = tools.one_node("Greater", {"a": A[0]}, 1, {"b": np.float32([10, 30, 50])}, broadcast=1, axis=0)
    tools.upgraded(model, {"a": A[0]}, [A[0] > np.float32([10, 30, 50])[:, None, None]], "Greater")


def test_old_attributes_go(tools):
    model = tools.one_node("Add", {"a": A, "b": A}, 1, consumed_inputs=[0, 0], axis=2)
    assert tools.upgraded(model, {"a": A, "b": A}, [A + A], "Add").graph.nodes[0].attrs == {}


def test_unknown_rank_is_kept(tools):
    model = tools.one_node("Add", {"a": A, "b": A[0, :, 0, 0]}, 6, broadcast=1, axis=1)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    node = load(model).graph.nodes[0]
    assert (node.since, node.attrs) == (6, {"broadcast": 1, "axis": 1})


@pytest.mark.parametrize("constant", [True, False])
def test_prelu_slope_by_channel(tools, constant):
    x, slope = A - 60, np.float32([0.5, 2, 4])
    feeds = {"x": x} if constant else {"x": x, "slope": slope}
    model = tools.one_node("PRelu", feeds, 6, {"slope": slope} if constant else None)
    want = np.where(x < 0, x * slope[:, None, None], x)
    tools.upgraded(model, feeds, [want], "PRelu" if constant else "Unsqueeze PRelu")


def test_prelu_shared_slope(tools):
    x, slope = A - 60, np.float32([0.5])
    model = tools.one_node("PRelu", {"x": x}, 1, {"slope": slope})
    tools.upgraded(model, {"x": x}, [np.where(x < 0, x / 2, x)], "PRelu")


def test_gemm(tools):
    a, b, c = A[0, 0], A[0, 1].T.copy(), np.float32([1, 2, 3, 4])
    model = tools.one_node("Gemm", {"a": a, "b": b, "c": c}, 6, broadcast=1, alpha=0.5)
    tools.upgraded(model, {"a": a, "b": b, "c": c}, [0.5 * a @ b + c], "Gemm")
