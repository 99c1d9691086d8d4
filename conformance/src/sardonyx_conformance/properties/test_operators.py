"""Operators against numpy in float64, on shapes and values of all kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx_conformance.cases.build import op_model
from sardonyx_conformance.properties.strategies import FLOATS, INTEGERS, broadcastable, numbers, quick, shapes
from sardonyx_conformance.target import Target

RTOL = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}


def run(target: Target, variant: str, op: str, inputs: list[Any], **attrs: Any) -> np.ndarray:
    """The operator's output, in a session whose input shapes are symbolic."""
    return target.run(op_model(op, inputs, attrs, dynamic=True), {f"x{i}": x for i, x in enumerate(inputs) if x is not None}, variant)[0]


def close(got: np.ndarray, want: np.ndarray, dtype: np.dtype) -> None:
    """The same shape and dtype, and values as near as the dtype allows."""
    assert got.shape == want.shape
    assert got.dtype == dtype
    rtol = RTOL.get(dtype.name, 0)
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=rtol * 10)


WIDE: dict[str, Any] = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum}


@pytest.mark.parametrize("op", WIDE)
@quick
@given(arrays=broadcastable((*FLOATS, *INTEGERS)))
def test_binary(op: str, arrays: list[np.ndarray], target: Target, variant: str) -> None:
    """Arithmetic broadcasts; integers wrap."""
    a, b = arrays
    wide = np.float64 if a.dtype.kind == "f" else a.dtype
    close(run(target, variant, op, [a, b]), WIDE[op](a.astype(wide), b.astype(wide)), a.dtype)


COMPARE: dict[str, Any] = {
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Equal": np.equal,
}


@pytest.mark.parametrize("op", COMPARE)
@quick
@given(arrays=broadcastable((*FLOATS, *INTEGERS)))
def test_comparison(op: str, arrays: list[np.ndarray], target: Target, variant: str) -> None:
    """Comparisons broadcast and give booleans."""
    close(run(target, variant, op, arrays), COMPARE[op](*arrays), np.dtype(bool))


UNARY: dict[str, Any] = {
    "Abs": np.abs,
    "Neg": np.negative,
    "Relu": lambda x: np.maximum(x, 0),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Tanh": np.tanh,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Round": np.rint,
    "Sin": np.sin,
    "Softplus": lambda x: np.logaddexp(0, x),
    "HardSigmoid": lambda x: np.clip(float(np.float32(0.2)) * x + 0.5, 0, 1),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Not": np.logical_not,
}


@pytest.mark.parametrize("op", UNARY)
@quick
@given(data=st.data(), shape=shapes())
def test_unary(op: str, data: st.DataObject, shape: tuple[int, ...], target: Target, variant: str) -> None:
    """Functions of each element."""
    x = data.draw(numbers(shape, bool if op == "Not" else data.draw(st.sampled_from(FLOATS))))
    close(run(target, variant, op, [x]), UNARY[op](x if op == "Not" else x.astype(np.float64)), x.dtype)


REDUCE: dict[str, Any] = {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceSumSquare": lambda x, axis, keepdims: np.sum(x * x, axis, keepdims=keepdims),
    "ReduceL1": lambda x, axis, keepdims: np.sum(np.abs(x), axis, keepdims=keepdims),
}


@pytest.mark.parametrize("op", REDUCE)
@quick
@given(data=st.data(), shape=shapes(1, 4, 1), keepdims=st.booleans())
def test_reduce(op: str, data: st.DataObject, shape: tuple[int, ...], keepdims: bool, target: Target, variant: str) -> None:
    """Any set of axes, some of them negative."""
    x = data.draw(numbers(shape, data.draw(st.sampled_from((np.float32, np.float64)))))
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    signed = np.array([a - len(shape) if data.draw(st.booleans()) else a for a in axes], np.int64)
    want = REDUCE[op](x.astype(np.float64), axis=tuple(axes), keepdims=keepdims)
    close(run(target, variant, op, [x, signed], keepdims=int(keepdims)), np.asarray(want), x.dtype)


@quick
@given(data=st.data(), shape=shapes(1, 3))
def test_slice(data: st.DataObject, shape: tuple[int, ...], target: Target, variant: str) -> None:
    """Starts, ends and steps anywhere. (Where numpy and ONNX differ, in starts before the first element going backwards,
    ONNX clamps to the first.)"""
    x = data.draw(numbers(shape, np.float32))
    axis = data.draw(st.integers(0, len(shape) - 1))
    n = shape[axis]
    step = data.draw(st.integers(-3, 3).filter(bool))
    start, end = data.draw(st.integers(-n if step < 0 else -9, 9)), data.draw(st.integers(-9, 9))
    place = tuple(slice(start, end, step) if i == axis else slice(None) for i in range(len(shape)))
    close(run(target, variant, "Slice", [x, *(np.array([v]) for v in (start, end, axis, step))]), x[place], x.dtype)


@quick
@given(data=st.data(), shape=shapes(1, 4, 1), wanted=shapes(0, 3))
def test_gather(data: st.DataObject, shape: tuple[int, ...], wanted: tuple[int, ...], target: Target, variant: str) -> None:
    """Indices of any shape along any axis, from either end."""
    x = data.draw(numbers(shape, np.float32))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    n = shape[axis]
    flat = data.draw(st.lists(st.integers(-n, n - 1), min_size=int(np.prod(wanted)), max_size=int(np.prod(wanted))))
    indices = np.array(flat, np.int64).reshape(wanted)
    close(run(target, variant, "Gather", [x, indices], axis=axis), np.take(x, indices, axis), x.dtype)


@quick
@given(data=st.data(), shape=shapes(1, 4))
def test_transpose(data: st.DataObject, shape: tuple[int, ...], target: Target, variant: str) -> None:
    """Every permutation."""
    x = data.draw(numbers(shape, np.float32))
    perm = data.draw(st.permutations(range(len(shape))))
    close(run(target, variant, "Transpose", [x], perm=list(perm)), x.transpose(perm), x.dtype)


@quick
@given(data=st.data(), shape=shapes(0, 4, 1))
def test_reshape(data: st.DataObject, shape: tuple[int, ...], target: Target, variant: str) -> None:
    """Any regrouping of the axes, with one -1 and zeros that copy."""
    x = data.draw(numbers(shape, np.float32))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(shape)), max_size=3)))
    parts = [shape[a:b] for a, b in zip([0, *cuts], [*cuts, len(shape)], strict=True)]
    new = [int(np.prod(p)) for p in parts]
    given_shape = list(new)
    unknown = data.draw(st.integers(-1, len(new) - 1))
    for i in range(len(new)):
        if i == unknown:
            given_shape[i] = -1
        elif i < len(shape) and new[i] == shape[i] and data.draw(st.booleans()):
            given_shape[i] = 0
    close(run(target, variant, "Reshape", [x, np.array(given_shape, np.int64)]), x.reshape(new), x.dtype)


@quick
@given(data=st.data(), rows=st.integers(0, 6), inner=st.integers(0, 6), columns=st.integers(0, 6), batch=shapes(0, 2, 1))
def test_matmul(data: st.DataObject, rows: int, inner: int, columns: int, batch: tuple[int, ...], target: Target, variant: str) -> None:
    """Batches broadcast; an inner dimension of 0 gives zeros."""
    dtype = data.draw(st.sampled_from((np.float32, np.float64, np.int32)))
    a, b = data.draw(numbers((*batch, rows, inner), dtype, 8)), data.draw(numbers((inner, columns), dtype, 8))
    want = a.astype(np.float64) @ b.astype(np.float64)
    close(run(target, variant, "MatMul", [a, b]), want, np.dtype(dtype))


@quick
@given(data=st.data(), shape=shapes(1, 4, 1))
def test_concat_and_split(data: st.DataObject, shape: tuple[int, ...], target: Target, variant: str) -> None:
    """Concatenation along any axis."""
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    parts = []
    for n in sizes:
        part = list(shape)
        part[axis] = n
        parts.append(data.draw(numbers(tuple(part), np.float32)))
    close(run(target, variant, "Concat", parts, axis=axis), np.concatenate(parts, axis), np.dtype(np.float32))


@quick
@given(data=st.data(), shape=shapes(1, 3, 1))
def test_softmax(data: st.DataObject, shape: tuple[int, ...], target: Target, variant: str) -> None:
    """Along any axis, of large numbers too."""
    x = data.draw(numbers(shape, np.float32, 1000))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    wide = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    close(run(target, variant, "Softmax", [x], axis=axis), wide / wide.sum(axis, keepdims=True), x.dtype)


@quick
@given(arrays=broadcastable((np.float32,), 3))
def test_where(arrays: list[np.ndarray], target: Target, variant: str) -> None:
    """All three inputs broadcast."""
    condition, a, b = arrays[0] > 0, arrays[1], arrays[2]
    close(run(target, variant, "Where", [condition, a, b]), np.where(condition, a, b), a.dtype)
