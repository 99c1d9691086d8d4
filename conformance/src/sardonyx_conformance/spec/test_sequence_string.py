"""Sequences, optionals and strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from sardonyx_conformance.cases.build import model_of, tensor, value_info

ABC = [np.array([1], np.float32), np.array([2, 3], np.float32), np.array([4], np.float32)]


@pytest.mark.parametrize(("place", "want"), [(0, [1]), (-1, [4]), (2, [4]), (-3, [1])])
def test_sequence_at(run_op: Any, place: int, want: list[float]) -> None:
    """Positions count from either end."""
    assert run_op("SequenceAt", ABC, np.array(place)).tolist() == want


@pytest.mark.parametrize("place", [3, -4])
def test_sequence_at_out_of_range(run_op: Any, place: int) -> None:
    """A position beyond the sequence is an error."""
    run_op.fails("SequenceAt", ABC, np.array(place))
    run_op.fails("SequenceErase", ABC, np.array(place))


def test_sequence_insert_and_erase(run_op: Any) -> None:
    """In front, at a place from the end, at the end; the input is not changed."""
    x = np.array([9], np.float32)
    lengths = [len(v) for v in ABC]
    assert run_op("SequenceInsert", ABC, x, np.array(0))[0].tolist() == [9]
    assert run_op("SequenceInsert", ABC, x, np.array(-1))[2].tolist() == [9]
    assert run_op("SequenceInsert", ABC, x)[3].tolist() == [9]
    assert [v.tolist() for v in run_op("SequenceErase", ABC)] == [[1], [2, 3]]
    assert [len(v) for v in ABC] == lengths


def test_split_to_sequence(run_op: Any) -> None:
    """By a scalar, by a list, and one by one without the axis."""
    x = np.arange(7, dtype=np.float32)
    assert [len(v) for v in run_op("SplitToSequence", x, np.array(3))] == [3, 3, 1]
    assert [len(v) for v in run_op("SplitToSequence", x, np.array([2, 5]))] == [2, 5]
    ones = run_op("SplitToSequence", x, keepdims=0)
    assert [v.shape for v in ones] == [()] * 7


def test_string_constants(run_op: Any) -> None:
    """String initializers, Constant nodes and attributes survive load and optimization; equal ones may be shared."""
    words = np.array(["", "ä", "日本", "plain"], object)
    nodes = [
        helper.make_node("Constant", [], ["a"], value_strings=["x", "y"]),
        helper.make_node("Constant", [], ["b"], value_strings=["x", "y"]),
        helper.make_node("Constant", [], ["c"], value=tensor("t", np.array(["x", "z"], object))),
        helper.make_node("Equal", ["a", "b"], ["same"]),
        helper.make_node("Equal", ["a", "c"], ["other"]),
        helper.make_node("Gather", ["words", "i"], ["picked"]),
    ]
    model = model_of(nodes, [value_info("i", np.array([0]))], ["same", "other", "picked"], {"words": words})
    same, other, picked = run_op.model(model, {"i": np.array([3, 2, 1, 0])[:1]})
    assert same.tolist() == [True, True]
    assert other.tolist() == [True, False]
    assert picked.tolist() == ["plain"]


def test_string_initializer_as_output(run_op: Any) -> None:
    """A string constant that is an output comes back as text."""
    words = np.array([["", "ä"], ["日本", "a b"]], object)
    node = helper.make_node("Identity", ["words"], ["y"])
    declared = helper.make_tensor_value_info("y", TensorProto.STRING, [2, 2])
    y = run_op.model(model_of([node], [], [declared], {"words": words}), {})[0]
    assert y.tolist() == words.tolist()


def test_string_operators(run_op: Any) -> None:
    """Concatenation broadcasts; splitting pads with empty strings; matching is by the whole string."""
    assert run_op("StringConcat", np.array(["a", "b"], object), np.array(["!"], object)).tolist() == ["a!", "b!"]
    parts, counts = run_op("StringSplit", np.array(["a b c", "", " d  e "], object), outputs=2)
    assert parts.tolist() == [["a", "b", "c"], ["", "", ""], ["d", "e", ""]]
    assert counts.tolist() == [3, 0, 2]
    parts, counts = run_op("StringSplit", np.array(["a,,b"], object), outputs=2, delimiter=",", maxsplit=1)
    assert parts.tolist() == [["a", ",b"]]
    matches = run_op("RegexFullMatch", np.array(["abc", "abcd", ""], object), pattern="a.c")
    assert matches.tolist() == [True, False, False]


def test_string_normalizer(run_op: Any) -> None:
    """Stop words go, case changes; nothing left is one empty string."""
    x = np.array(["Monday", "tuesday", "MONDAY"], object)
    y = run_op("StringNormalizer", x, case_change_action="UPPER", is_case_sensitive=0, stopwords=["monday"])
    assert y.tolist() == ["TUESDAY"]
    y = run_op("StringNormalizer", x[:1], case_change_action="NONE", is_case_sensitive=0, stopwords=["monday"])
    assert y.tolist() == [""]


@pytest.mark.parametrize("given", [True, False])
def test_optional(run_op: Any, given: bool) -> None:
    """An optional input that is empty, and one that is not."""
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
    node = helper.make_node("OptionalHasElement", ["x"], ["y"])
    model = model_of([node], [helper.make_value_info("x", kind)], ["y"])
    assert bool(run_op.model(model, {"x": np.zeros(2, np.float32) if given else None})[0]) is given


def test_unique(run_op: Any) -> None:
    """Sorted or in order of appearance, with indices, inverse and counts."""
    x = np.array([2, 1, 1, 3, 4, 3], np.float32)
    y, first, inverse, counts = run_op("Unique", x, outputs=4, sorted=0)
    assert y.tolist() == [2, 1, 3, 4]
    assert first.tolist() == [0, 1, 3, 4]
    assert inverse.tolist() == [0, 1, 1, 2, 3, 2]
    assert counts.tolist() == [1, 2, 2, 1]


def test_sparse_initializer(run_op: Any) -> None:
    """A sparse initializer is a dense tensor when it runs."""
    values = tensor("k", np.array([5, 7], np.float32))
    indices = tensor("", np.array([1, 4], np.int64))
    node = helper.make_node("Add", ["x", "k"], ["y"])
    model = model_of([node], [value_info("x", np.zeros((2, 3), np.float32))], ["y"])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2, 3]))
    assert run_op.model(model, {"x": np.ones((2, 3), np.float32)})[0].tolist() == [[1, 6, 1], [1, 8, 1]]


def test_function_with_attribute_reference(run_op: Any) -> None:
    """A model-local function takes its attributes from the call, or from its own defaults."""
    inner = helper.make_node("LeakyRelu", ["a"], ["b"])
    inner.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    function = helper.make_function("local", "Bend", ["a"], ["b"], [inner], [helper.make_opsetid("", 17)], attributes=["slope"])
    nodes = [helper.make_node("Bend", ["x"], ["y"], domain="local", slope=0.5)]
    model = model_of(nodes, [value_info("x", np.zeros(2, np.float32))], ["y"], opset=17, domains={"local": 1})
    model.functions.append(function)
    assert run_op.model(model, {"x": np.array([-2, 2], np.float32)})[0].tolist() == [-1, 2]
