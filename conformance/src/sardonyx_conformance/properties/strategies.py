"""Strategies: shapes, arrays, indices and small graphs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from onnx import TensorProto, helper

from sardonyx_conformance.cases.build import model_of

__all__ = ["FLOATS", "INTEGERS", "broadcastable", "numbers", "quick", "random_graph", "shapes"]

FLOATS = (np.float16, np.float32, np.float64)
INTEGERS = (np.int8, np.uint8, np.int32, np.int64)

quick = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)


def shapes(low: int = 0, high: int = 4, least: int = 0) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of rank low..high, empty axes included unless `least` is 1."""
    return npst.array_shapes(min_dims=low, max_dims=high, min_side=least, max_side=5)


def numbers(shape: tuple[int, ...], dtype: Any, bound: int = 50) -> st.SearchStrategy[np.ndarray]:
    """Arrays of moderate numbers, small multiples of 1/8 so that sums in any order are nearly alike."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return npst.arrays(dtype, shape)
    low = 0 if dtype.kind == "u" else -bound
    scale = 8 if dtype.kind == "f" else 1
    values = npst.arrays(np.int32, shape, elements=st.integers(low * scale, bound * scale), fill=st.nothing())
    return values.map(lambda a: (a / scale).astype(dtype))


@st.composite
def broadcastable(draw: Any, dtypes: Any, count: int = 2) -> list[np.ndarray]:
    """Arrays of one dtype whose shapes broadcast."""
    dtype = draw(st.sampled_from(dtypes))
    found = draw(npst.mutually_broadcastable_shapes(num_shapes=count, min_side=0, max_side=4, max_dims=4))
    return [draw(numbers(s, dtype)) for s in found.input_shapes]


UNARY = ("Relu", "Neg", "Abs", "Tanh", "Sigmoid", "Identity", "Softmax", "Sqrt")
BINARY = ("Add", "Sub", "Mul", "Max", "Min")


@st.composite
def random_graph(draw: Any) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model of 1 to 12 nodes over float32 values of a few shapes, constants among them, with one to three outputs."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    values: dict[str, tuple[int, ...]] = {"x": (rows, columns), "z": (rows, columns)}
    constants = {
        "k": draw(numbers((rows, columns), np.float32, 4)),
        "one": np.float32(1),
        "zero": np.float32(0),
        "row": draw(numbers((columns,), np.float32, 4)),
    }
    values |= {name: np.shape(v) for name, v in constants.items()}
    nodes = []
    for i in range(draw(st.integers(1, 12))):
        out = f"v{i}"
        node, shape = draw(_node(values, out, constants))
        nodes.append(node)
        values[out] = shape
    made = [f"v{i}" for i in range(len(nodes))]
    outputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique=True).map(lambda o: [*o, made[-1]]))
    feeds = {name: draw(numbers((rows, columns), np.float32, 8)) for name in ("x", "z")}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["r", "c"]) for name in feeds]
    used = {n for node in nodes for n in node.input}
    fixed = {k: np.asarray(v) for k, v in constants.items() if k in used}
    return model_of(nodes, inputs, list(dict.fromkeys(outputs)), fixed), feeds


@st.composite
def _node(draw: Any, values: dict[str, tuple[int, ...]], out: str, constants: dict[str, Any]) -> tuple[onnx.NodeProto, tuple[int, ...]]:
    """A node that gives `out`, and its shape."""
    name = draw(st.sampled_from(sorted(values)))
    shape = values[name]
    kind = draw(st.sampled_from(["unary", "binary", "transpose", "reshape", "concat", "reduce", "matmul", "slice", "cast", "where"]))
    if kind == "binary":
        others = [n for n, s in values.items() if _broadcasts(s, shape)]
        other = draw(st.sampled_from(sorted(others)))
        return helper.make_node(draw(st.sampled_from(BINARY)), [name, other], [out]), np.broadcast_shapes(shape, values[other])
    if kind == "transpose" and shape:
        perm = draw(st.permutations(range(len(shape))))
        return helper.make_node("Transpose", [name], [out], perm=list(perm)), tuple(shape[p] for p in perm)
    if kind == "reshape":
        target = f"{out}_shape"
        new = draw(st.sampled_from([(-1,), (1, -1), (-1, 1)]))
        constants[target] = np.array(new)
        return helper.make_node("Reshape", [name, target], [out]), tuple(math.prod(shape) if d == -1 else d for d in new)
    if kind == "concat" and shape:
        axis = draw(st.integers(0, len(shape) - 1))
        return helper.make_node("Concat", [name, name], [out], axis=axis), tuple(2 * d if i == axis else d for i, d in enumerate(shape))
    if kind == "reduce" and shape:
        axes = f"{out}_axes"
        constants[axes] = np.array([-1])
        op = draw(st.sampled_from(["ReduceSum", "ReduceMax", "ReduceMean"]))
        return helper.make_node(op, [name, axes], [out], keepdims=1), (*shape[:-1], 1)
    if kind == "matmul" and len(shape) == 2:
        return helper.make_node("Gemm", [name, name], [out], transB=1), (shape[0], shape[0])
    if kind == "slice" and shape and shape[0] > 1:
        begin, end = f"{out}_begin", f"{out}_end"
        constants[begin], constants[end] = np.array([1]), np.array([2**31])
        return helper.make_node("Slice", [name, begin, end], [out]), (shape[0] - 1, *shape[1:])
    op = draw(st.sampled_from(UNARY if shape else [u for u in UNARY if u != "Softmax"]))
    if op == "Sqrt":
        op = "Softplus"
    return helper.make_node(op, [name], [out]), shape


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(x == y or x == 1 or y == 1 for x, y in zip(reversed(a), reversed(b), strict=False))
