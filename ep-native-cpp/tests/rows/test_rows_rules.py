"""Chains of elementwise operators, and additions before a normalisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper

from sardonyx.ep import CompileContext
from sardonyx.ir.graph import Graph
from sardonyx.ir.load import load
from sardonyx_ep_native.rules import prepare

Run = Callable[..., list[np.ndarray]]
F = np.float32


def n(op: str, inputs: str, output: str, **attrs: Any) -> Any:
    return helper.make_node(op, inputs.split(), [output], **attrs)


@pytest.fixture
def prepared(build: Any) -> Callable[..., Graph]:
    """`prepared(nodes, feeds, weights, outputs=("y",))` -> the graph after the provider's rules."""

    def call(nodes: list[Any], feeds: dict[str, np.ndarray], weights: dict[str, np.ndarray], outputs: Sequence[str] = ("y",)) -> Graph:
        graph = load(build(nodes, feeds, weights, outputs)).graph
        prepare(graph, CompileContext(options={}))
        return graph

    return call


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(F)


X, ROW, COLUMN = {"x": values(3, 40, 70)}, values(70, seed=1), values(40, 1, seed=2)
DIAMOND = [n("Mul", "x row", "a"), n("Sigmoid", "a", "s"), n("Tanh", "a", "t"), n("Sub", "s t", "d"), n("Add", "d column", "y")]
WEIGHTS = {"row": ROW, "column": COLUMN}


def test_a_diamond_is_one_chain(run: Run, prepared: Any) -> None:
    graph = prepared(DIAMOND, X, WEIGHTS)
    assert ops(graph) == ["Chain"]
    assert graph.nodes[0].attrs["program"].count(";") == 4
    a = X["x"].astype(np.float64) * ROW
    want = 1 / (1 + np.exp(-a)) - np.tanh(a) + COLUMN
    np.testing.assert_allclose(run(DIAMOND, X, WEIGHTS)[0], want, rtol=1e-5, atol=1e-6)


def test_numbers_of_operators(run: Run, prepared: Any) -> None:
    nodes = [
        n("LeakyRelu", "x", "a", alpha=0.3),
        n("Clip", "a low high", "b"),
        n("Elu", "b", "c", alpha=2.0),
        n("HardSigmoid", "c", "d", alpha=0.1, beta=0.4),
        n("Pow", "d three", "y"),
    ]
    weights = {"low": np.array(-0.5, F), "high": np.array(2, F), "three": np.array(3, F)}
    assert ops(prepared(nodes, X, weights)) == ["Chain"]
    x = X["x"].astype(np.float64)
    b = np.clip(np.where(x < 0, 0.3 * x, x), -0.5, 2)
    want = np.clip(0.1 * np.where(b < 0, 2 * np.expm1(b), b) + 0.4, 0, 1) ** 3
    np.testing.assert_allclose(run(nodes, X, weights)[0], want, rtol=2e-6)


def test_batch_normalization_joins(run: Run, prepared: Any) -> None:
    feeds = {"x": values(2, 5, 6, 7)}
    weights = {"s": values(5, seed=1), "b": values(5, seed=2), "m": values(5, seed=3), "v": np.abs(values(5, seed=4)) + 0.5}
    nodes = [n("BatchNormalization", "x s b m v", "a"), n("Relu", "a", "y")]
    assert ops(prepared(nodes, feeds, weights)) == ["Chain"]
    shape = (5, 1, 1)
    scale = weights["s"].astype(np.float64) / np.sqrt(weights["v"] + 1e-5)
    want = np.maximum((feeds["x"] - weights["m"].reshape(shape)) * scale.reshape(shape) + weights["b"].reshape(shape), 0)
    np.testing.assert_allclose(run(nodes, feeds, weights)[0], want, rtol=1e-5, atol=1e-5)


def test_a_value_that_others_read_stays(prepared: Any) -> None:
    nodes = [n("Mul", "x row", "a"), n("Exp", "a", "y"), n("Transpose", "a", "z")]
    assert "Chain" not in ops(prepared(nodes, X, WEIGHTS, ("y", "z")))


def test_an_output_stays(prepared: Any) -> None:
    assert "Chain" not in ops(prepared([n("Mul", "x row", "a"), n("Exp", "a", "y")], X, WEIGHTS, ("y", "a")))


def test_a_smaller_term_is_made_before(prepared: Any) -> None:
    feeds = {**X, "r": values(70)}
    assert ops(prepared([n("Exp", "r", "e"), n("Mul", "x e", "y")], feeds, {})) == ["Exp", "Mul"]


def test_other_types_are_left_alone(prepared: Any) -> None:
    feeds = {"x": values(3, 4).astype(np.float16)}
    assert ops(prepared([n("Exp", "x", "a"), n("Tanh", "a", "y")], feeds, {})) == ["Exp", "Tanh"]


def test_long_chains_are_cut(run: Run, prepared: Any) -> None:
    nodes = [n("Add" if i % 2 else "Mul", f"{'x' if i == 0 else f't{i - 1}'} w{i}", f"t{i}" if i < 39 else "y") for i in range(40)]
    weights = {f"w{i}": values(70, seed=i) for i in range(40)}
    want = X["x"].astype(np.float64)
    for i in range(40):
        want = want + weights[f"w{i}"] if i % 2 else want * weights[f"w{i}"]
    graph = prepared(nodes, X, weights)
    assert len(graph.nodes) < 10
    np.testing.assert_allclose(run(nodes, X, weights)[0], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", ["LayerNormalization", "RMSNormalization"])
@pytest.mark.parametrize("sum_is_read", [False, True])
def test_norm_residual(op: str, sum_is_read: bool, run: Run, prepared: Any, build: Any) -> None:
    feeds = {"x": values(3, 40, 70), "r": values(3, 40, 70, seed=1)}
    inputs = "t s b" if op[0] == "L" else "t s"
    nodes, outputs = [n("Add", "x r", "t"), n(op, inputs, "y")], ("y", "t") if sum_is_read else ("y",)
    weights = {"s": values(70, seed=2), "b": values(70, seed=3)}
    if op[0] == "R":
        del weights["b"]
    graph = prepared(nodes, feeds, weights, outputs)
    assert ops(graph) == ["AddLayerNorm"]
    assert set(graph.nodes[0].origins) == {node.name for node in load(build(nodes, feeds, weights, outputs)).graph.nodes}
    total = feeds["x"] + feeds["r"].astype(np.float64)
    centred = total - (total.mean(-1, keepdims=True) if op[0] == "L" else 0)
    want = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weights["s"] + weights.get("b", 0)
    got = run(nodes, feeds, weights, outputs)
    np.testing.assert_allclose(got[0], want, rtol=1e-5, atol=1e-5)
    if sum_is_read:
        np.testing.assert_allclose(got[1], total, rtol=1e-6, atol=1e-7)


def test_norm_residual_needs_equal_shapes(prepared: Any) -> None:
    feeds = {"x": values(3, 40, 70), "r": values(70)}
    nodes = [n("Add", "x r", "t"), n("LayerNormalization", "t s", "y")]
    assert ops(prepared(nodes, feeds, {"s": values(70)})) == ["Add", "LayerNormalization"]


def test_statistics_keep_the_addition_apart(prepared: Any) -> None:
    feeds = {"x": values(3, 70), "r": values(3, 70, seed=1)}
    nodes = [n("Add", "x r", "t"), helper.make_node("LayerNormalization", ["t", "s"], ["y", "mean"])]
    assert ops(prepared(nodes, feeds, {"s": values(70)}, ("y", "mean"))) == ["Add", "LayerNormalization"]


def test_plans_follow_the_shapes(session: Any) -> None:
    """One session, several shapes: nothing of the last shape stays."""
    graph = helper.make_graph(
        [n("Exp", "x", "a"), n("Add", "a x", "b"), n("Softmax", "b", "y")],
        "g",
        [helper.make_tensor_value_info("x", 1, ["batch", "length"])],
        [helper.make_tensor_value_info("y", 1, None)],
    )
    s = session(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString(), 1)
    for shape in ((2, 3), (1, 70), (2, 3), (5, 1)):
        x = values(*shape)
        b = np.exp(x.astype(np.float64)) + x
        e = np.exp(b - b.max(-1, keepdims=True))
        np.testing.assert_allclose(s.run(None, {"x": x})[0], e / e.sum(-1, keepdims=True), rtol=2e-6)
