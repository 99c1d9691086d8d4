"""Softmax, LogSoftmax and Hardmax over the rows of a matrix: numbers before and after."""

from __future__ import annotations

import numpy as np
import pytest

X = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


ROWS = {
    "Softmax": softmax,
    "LogSoftmax": lambda x: np.log(softmax(x)),
    "Hardmax": lambda x: np.eye(x.shape[-1], dtype=x.dtype)[x.argmax(-1)],
}


@pytest.mark.parametrize("op", ROWS)
@pytest.mark.parametrize(
    ("x", "axis", "simple"),
    [
        (X, 2, True),
        (X, -1, True),
        (X, 1, False),
        (X, 0, False),
        (X, None, False),
        (X[:, :, :1], 1, True),
        (X[:, :1], 1, True),
        (X[0], None, True),
    ],
)
@pytest.mark.parametrize("opset", [1, 11])
def test_rows(tools, op, x, axis, simple, opset):
    if axis is not None and axis < 0 and opset < 11:
        pytest.skip("negative axes came with 11")
    a = (1 if axis is None else axis) % x.ndim
    rows = x.reshape(int(np.prod(x.shape[:a])), -1)
    model = tools.one_node(op, {"x": x}, opset, **({} if axis is None else {"axis": axis}))
    tools.upgraded(model, {"x": x}, [ROWS[op](rows).reshape(x.shape)], op if simple else f"Flatten {op} Reshape", rtol=1e-5)


@pytest.mark.parametrize("known", ["dims", "rank", "nothing"])
def test_unknown_shapes(tools, known):
    model = tools.one_node("Softmax", {"x": X}, 11, axis=1)
    t = model.graph.input[0].type.tensor_type
    if known == "nothing":
        t.ClearField("shape")
    if known == "rank":
        for i, d in enumerate(t.shape.dim):
            d.dim_param = f"d{i}"
    ops = "Flatten Softmax Reshape" if known == "dims" else "Flatten Softmax Shape Reshape"
    tools.upgraded(model, {"x": X}, [softmax(X.reshape(2, 12)).reshape(X.shape)], ops, rtol=1e-5)


def test_empty_input_keeps_its_shape(tools):
    x = np.zeros((2, 0, 4), np.float32)
    model = tools.one_node("Softmax", {"x": x}, 11, axis=1)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "n"
    tools.upgraded(model, {"x": x}, [x], "Flatten Softmax Shape Reshape", engine=tools.onnxruntime)
