"""What goes wrong in a run is a SardonyxError that names the node; the session works on afterwards."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.errors import InvalidInput, NodeError, NotSupported, RunCancelled, SardonyxError
from sardonyx_conformance.cases.build import model_of
from sardonyx_conformance.contract.models import SAMPLES
from sardonyx_conformance.target import Target

F = np.float32


def declared(name: str, array: np.ndarray) -> Any:
    """An input of any shape of the array's rank."""
    kind = TensorProto.INT64 if array.dtype == np.int64 else TensorProto.FLOAT
    return helper.make_tensor_value_info(name, kind, [f"{name}{i}" for i in range(array.ndim)])


BAD: list[tuple[str, list[np.ndarray], list[np.ndarray], dict[str, Any]]] = [
    ("Add", [np.ones((2, 3), F), np.ones((2, 4), F)], [np.ones((2, 3), F), np.ones((2, 3), F)], {}),
    ("Mul", [np.ones((5,), F), np.ones((4,), F)], [np.ones((4,), F), np.ones((4,), F)], {}),
    ("MatMul", [np.ones((2, 3), F), np.ones((4, 5), F)], [np.ones((2, 3), F), np.ones((3, 5), F)], {}),
    ("Gemm", [np.ones((2, 3), F), np.ones((4, 5), F)], [np.ones((2, 3), F), np.ones((3, 5), F)], {}),
    ("Concat", [np.ones((2, 3), F), np.ones((3, 4), F)], [np.ones((2, 3), F), np.ones((2, 4), F)], {"axis": 1}),
    ("Gather", [np.ones((2, 3), F), np.array([5])], [np.ones((2, 3), F), np.array([1])], {}),
    ("Gather", [np.ones((2, 3), F), np.array([-3])], [np.ones((2, 3), F), np.array([-2])], {}),
    ("Reshape", [np.ones((2, 3), F), np.array([4, 2])], [np.ones((2, 3), F), np.array([3, 2])], {}),
    ("Reshape", [np.ones((2, 3), F), np.array([-1, -1])], [np.ones((2, 3), F), np.array([-1, 2])], {}),
    ("Expand", [np.ones((2, 3), F), np.array([4, 3])], [np.ones((2, 3), F), np.array([4, 2, 3])], {}),
    ("Conv", [np.ones((1, 3, 4, 4), F), np.ones((2, 2, 1, 1), F)], [np.ones((1, 2, 4, 4), F), np.ones((2, 2, 1, 1), F)], {}),
]


@pytest.mark.parametrize(("op", "bad", "good", "attrs"), BAD, ids=[f"{b[0]}-{i}" for i, b in enumerate(BAD)])
def test_node_error(op: str, bad: list[Any], good: list[Any], attrs: dict[str, Any], target: Target, variant: str) -> None:
    """Shapes and values that do not fit: a NodeError with the node's name and operator, and the next run is right."""
    names = [f"x{i}" for i in range(len(bad))]
    node = helper.make_node(op, names, ["t"], name="the_node", **attrs)
    last = helper.make_node("Identity", ["t"], ["y"], name="after")
    model = model_of([node, last], [declared(n, x) for n, x in zip(names, bad, strict=True)], ["y"], opset=17)
    session = target.session(model, variant)
    before = session.run(None, dict(zip(names, good, strict=True)))
    with pytest.raises(SardonyxError) as caught:
        session.run(None, dict(zip(names, bad, strict=True)))
    error = caught.value
    assert isinstance(error, NodeError), f"{type(error).__name__}: {error}"
    assert error.node == "the_node" or "the_node" in error.origins
    assert "the_node" in str(error)
    assert op in str(error)
    for a, b in zip(before, session.run(None, dict(zip(names, good, strict=True))), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("feeds", "word"),
    [
        ({}, "x"),
        ({"x": np.ones((4, 6), np.float64)}, "double"),
        ({"x": np.ones((4,), F)}, "rank"),
        ({"x": np.ones((4, 6), F), "other": np.ones(1, F)}, "other"),
        ({"x": "text"}, "x"),
        ({"x": None}, "x"),
    ],
    ids=["missing", "dtype", "rank", "unknown", "text", "none"],
)
def test_wrong_feeds(feeds: dict[str, Any], word: str, target: Target) -> None:
    """A feed that does not fit is the caller's mistake, said before anything runs."""
    session = target.session(SAMPLES[0].model)
    with pytest.raises(InvalidInput, match=word):
        session.run(None, feeds)


def test_terminated_run(target: Target) -> None:
    """A run that is told to end either ends as cancelled or had finished; the next one is not affected."""
    sample = next(s for s in SAMPLES if s.name == "chain")
    session = target.session(sample.model)
    options = sardonyx.RunOptions()
    options.terminate = True
    with contextlib.suppress(RunCancelled):
        session.run(None, sample.copies(), options)
    np.testing.assert_allclose(session.run(None, sample.copies())[0], sample.want[0], rtol=1e-4, atol=1e-5)


def test_unknown_operator(target: Target) -> None:
    """An operator of somebody else's is refused with its name, domain and a reason."""
    node = helper.make_node("Nope", ["x"], ["y"], name="stranger", domain="com.example.nowhere")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    model = model_of([node], [x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])], domains={"com.example.nowhere": 1})
    with pytest.raises(NotSupported) as caught:
        sardonyx.InferenceSession(model, target.options("optimized"), providers=[target.ep])
    for word in ("stranger", "com.example.nowhere", "Nope", f"{target.ep}: "):
        assert word in str(caught.value)
