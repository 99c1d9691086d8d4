"""Casts of casts; Relu and Clip of each other (ort#9753, #10936, #11836, #23116: for any dtype and opset)."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.passes import apply_rules
from sardonyx.passes.basic.casts_and_clips import lossless, merge_clips

DTYPES = [
    ("float", np.float32),
    ("double", np.float64),
    ("float16", np.float16),
    ("int64", np.int64),
    ("int32", np.int32),
    ("int8", np.int8),
]


@pytest.mark.parametrize(("name", "dtype"), DTYPES, ids=[n for n, _ in DTYPES])
def test_clip_of_relu(check, name, dtype):
    """clip(relu(x), -1, 1) = clip(x, 0, 1)."""
    done = check(f"({name}[N, 9] x) => ({name}[N, 9] y) {{ r = Relu(x) y = Clip(r, a, b) }}", level="basic", a=dtype(-1), b=dtype(1))
    assert done.ops == {"Clip": 1}
    assert [v.const.numpy().item() for v in done.nodes[0].inputs[1:]] == [0, 1]
    assert done.nodes[0].inputs[1].dtype == dtype


@pytest.mark.parametrize("opset", [6, 11, 12, 13, 14])
def test_older_opsets(check, opset):
    bounds = "<min = -1.0, max = 1.0>(r)" if opset < 11 else "(r, a, b)"
    weights = {} if opset < 11 else {"a": np.float32(-1), "b": np.float32(1)}
    done = check(f"(float[2, 9] x) => (float[2, 9] y) {{ r = Relu(x) y = Clip{bounds} }}", level="basic", opset=opset, **weights)
    assert done.ops == {"Clip": 1}


def test_bfloat16(check):
    a, b = (np.asarray(v, ml_dtypes.bfloat16) for v in (-1, 1))
    assert check("(bfloat16[N, 9] x) => (bfloat16[N, 9] y) { r = Relu(x) y = Clip(r, a, b) }", level="basic", a=a, b=b).ops == {"Clip": 1}


BOUND = st.one_of(st.none(), st.integers(-3, 3))


@given(inner=st.tuples(BOUND, BOUND), outer=st.tuples(BOUND, BOUND), kinds=st.tuples(st.booleans(), st.booleans()))
@settings(max_examples=60, deadline=None)
def test_any_two_of_them_are_one(inner, outer, kinds):
    """min(max()) of min(max()), also with crossed or absent bounds, in int64 where every value is exact."""
    from sardonyx.ir.graph import Graph, Node, Value
    from sardonyx.ir.types import TensorType
    from sardonyx.passes.edit import constant

    def function(node, x):
        if node.op == "Relu":
            return np.maximum(x, 0)
        for f, v in zip((np.maximum, np.minimum), [*node.inputs[1:], None, None], strict=False):
            x = x if v is None else f(x, v.const.numpy())
        return x

    def make(bounds, relu, x, y):
        if relu:
            return Node("Relu", [x], [y], since=14, name=y.name)
        return Node("Clip", [x, *(None if b is None else constant(np.int64(b)) for b in bounds)], [y], since=13, name=y.name)

    x, t, y = (Value(n, TensorType(np.dtype(np.int64), (15,))) for n in "xty")
    graph = Graph("g", [x], [y], [make(inner, kinds[0], x, t), make(outer, kinds[1], t, y)])
    data = np.arange(-7, 8)
    want = function(graph.nodes[1], function(graph.nodes[0], data))
    assert apply_rules(graph, [merge_clips]) == 1
    np.testing.assert_array_equal(function(graph.nodes[0], data), want)


@pytest.mark.parametrize("text", ["r = Relu(x) y = Clip(r, z, b)", "r = Clip(x, n) y = Relu(r)"], ids=["variable bound", "NaN bound"])
def test_clips_that_stay(check, text):
    done = check("(float[9] x, float z) => (float[9] y) { " + text + " }", level="basic", b=np.float32(1), n=np.float32(np.nan))
    assert len(done.nodes) == 2


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        ("int32", "int64", True),
        ("int64", "int32", False),
        ("uint8", "int16", True),
        ("uint8", "int8", False),
        ("int8", "uint16", False),
        ("float16", "float32", True),
        ("bfloat16", "float32", True),
        ("bfloat16", "float16", False),
        ("float32", "float64", True),
        ("float64", "float32", False),
        ("int32", "float32", False),
        ("int32", "float64", True),
        ("int16", "float32", True),
        ("uint8", "bfloat16", True),
        ("int16", "float16", False),
        ("bool", "float16", True),
        ("float32", "int64", False),
    ],
)
def test_lossless(a, b, want):
    assert lossless(np.dtype(a), np.dtype(b)) is want


def test_cast_there_and_back_goes(check):
    assert check("(int32[5] x) => (int32[5] y) { a = Cast<to = 7>(x) b = Cast<to = 6>(a) y = Neg(b) }", level="basic").ops == {"Neg": 1}


def test_lossless_casts_merge(check):
    done = check("(float16[5] x) => (int32[5] y) { a = Cast<to = 1>(x) b = Cast<to = 11>(a) y = Cast<to = 6>(b) }", level="basic")
    assert done.ops == {"Cast": 1}


@pytest.mark.parametrize(("source", "left"), [("float16", 2), ("bool", 1), ("int8", 1)])
def test_a_cast_to_string_keeps_the_digits(check, source, left):
    done = check(f"({source}[5] x) => (string[5] y) {{ a = Cast<to = 1>(x) y = Cast<to = 8>(a) }}", level="basic")
    assert done.ops == {"Cast": left}


def test_lossy_casts_stay(check):
    done = check("(float[5] x) => (float[5] y) { a = Cast<to = 6>(x) b = Cast<to = 1>(a) y = Neg(b) }", level="basic")
    assert done.ops == {"Cast": 2, "Neg": 1}
