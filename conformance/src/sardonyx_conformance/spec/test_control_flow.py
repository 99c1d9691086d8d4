"""If, Loop and Scan: what bodies may return, capture and leave out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from sardonyx.errors import InvalidModel
from sardonyx_conformance.cases.build import model_of, tensor
from sardonyx_conformance.target import Target

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def declare(name: str, dtype: int, shape: Sequence[Any] | None) -> onnx.ValueInfoProto:
    """A value's declaration."""
    return helper.make_tensor_value_info(name, dtype, shape)


def body(
    nodes: Sequence[onnx.NodeProto], inputs: Sequence[Any], outputs: Sequence[Any], initializers: Sequence[onnx.TensorProto] = ()
) -> onnx.GraphProto:
    """A body; inputs and outputs are (name, dtype, shape)."""
    return helper.make_graph(list(nodes), "body", [declare(*i) for i in inputs], [declare(*o) for o in outputs], list(initializers))


def constant(name: str, value: Any) -> onnx.NodeProto:
    """A Constant node."""
    return helper.make_node("Constant", [], [name], value=tensor(f"{name}_value", np.asarray(value)))


def test_if_of_constants(run_op: Any) -> None:
    """Branches that hold nothing but Constants."""
    yes = body([constant("a", np.float32(3))], [], [("a", FLOAT, [])])
    no = body([constant("b", np.float32(-4))], [], [("b", FLOAT, [])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=yes, else_branch=no)
    model = model_of([node], [declare("c", BOOL, [])], ["y"])
    assert run_op.model(model, {"c": np.array(True)})[0] == 3
    assert run_op.model(model, {"c": np.array(False)})[0] == -4


def test_if_returns_an_outer_value(run_op: Any) -> None:
    """A branch may give an outer value as it is: an input, a constant, a node's result."""
    yes = body([], [], [("x", FLOAT, [2])])
    no = body([], [], [("k", FLOAT, [2])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=yes, else_branch=no)
    model = model_of([node], [declare("c", BOOL, []), declare("x", FLOAT, [2])], ["y"], {"k": np.array([7, 8], np.float32)})
    x = np.array([1, 2], np.float32)
    assert run_op.model(model, {"c": np.array(True), "x": x})[0].tolist() == [1, 2]
    assert run_op.model(model, {"c": np.array(False), "x": x})[0].tolist() == [7, 8]


def test_nested_capture(run_op: Any) -> None:
    """A body inside a body sees the values of all graphs around it."""
    inner = body([helper.make_node("Add", ["x", "t"], ["z"])], [], [("z", FLOAT, None)])
    other = body([helper.make_node("Neg", ["t"], ["m"])], [], [("m", FLOAT, None)])
    middle = body([helper.make_node("If", ["d"], ["r"], then_branch=inner, else_branch=other)], [], [("r", FLOAT, None)])
    outer_else = body([helper.make_node("Identity", ["x"], ["w"])], [], [("w", FLOAT, None)])
    nodes = [helper.make_node("Mul", ["x", "x"], ["t"]), helper.make_node("If", ["c"], ["y"], then_branch=middle, else_branch=outer_else)]
    model = model_of(nodes, [declare("c", BOOL, []), declare("d", BOOL, []), declare("x", FLOAT, [None])], ["y"])
    x = np.array([2, 3], np.float32)
    yes, no = np.array(True), np.array(False)
    assert run_op.model(model, {"c": yes, "d": yes, "x": x})[0].tolist() == [6, 12]
    assert run_op.model(model, {"c": yes, "d": no, "x": x})[0].tolist() == [-4, -9]
    assert run_op.model(model, {"c": no, "d": no, "x": x})[0].tolist() == [2, 3]


def loop_body() -> onnx.GraphProto:
    """s <- s + i; scans s; goes on while s < limit."""
    nodes = [
        helper.make_node("Add", ["s_in", "i"], ["s"]),
        helper.make_node("Less", ["s", "limit"], ["go"]),
        helper.make_node("Identity", ["s"], ["scan"]),
    ]
    inputs: list[Any] = [("i", INT64, []), ("go_in", BOOL, []), ("s_in", INT64, [])]
    return body(nodes, inputs, [("go", BOOL, []), ("s", INT64, []), ("scan", INT64, [])])


@pytest.mark.parametrize("unnamed", [None, 0, 1])
def test_loop_outputs_may_be_unnamed(run_op: Any, unnamed: int | None) -> None:
    """An empty output name leaves the output out."""
    names = ["last", "all"]
    if unnamed is not None:
        names[unnamed] = ""
    node = helper.make_node("Loop", ["m", "", "zero"], names, body=loop_body())
    wanted = [n for n in names if n]
    model = model_of([node], [declare("m", INT64, []), declare("limit", INT64, [])], wanted, {"zero": np.array(0)})
    got = dict(zip(wanted, run_op.model(model, {"m": np.array(10), "limit": np.array(9)}), strict=True))
    assert "last" not in got or got["last"] == 10
    assert "all" not in got or got["all"].tolist() == [0, 1, 3, 6, 10]


@pytest.mark.parametrize(("trips", "condition"), [(0, True), (5, False)])
def test_loop_without_iterations(run_op: Any, trips: int, condition: bool) -> None:
    """The state is the initial one; the scan is empty, of its declared type."""
    node = helper.make_node("Loop", ["m", "c", "start"], ["last", "all"], body=loop_body())
    inputs = [declare("m", INT64, []), declare("c", BOOL, []), declare("limit", INT64, [])]
    model = model_of([node], inputs, ["last", "all"], {"start": np.array(42)})
    last, scans = run_op.model(model, {"m": np.array(trips), "c": np.array(condition), "limit": np.array(100)})
    assert last == 42
    assert scans.shape == (0,)
    assert scans.dtype == np.int64


def test_loop_without_limits_ends_by_its_condition(run_op: Any) -> None:
    """Neither a trip count nor a condition: the body decides."""
    node = helper.make_node("Loop", ["", "", "zero"], ["last"], body=_without_scan())
    model = model_of([node], [declare("limit", INT64, [])], ["last"], {"zero": np.array(0)})
    assert run_op.model(model, {"limit": np.array(20)})[0] == 21


def _without_scan() -> onnx.GraphProto:
    graph = loop_body()
    del graph.output[2]
    return graph


def test_loop_grows_its_state(run_op: Any) -> None:
    """A state may change its shape from one iteration to the next."""
    nodes = [helper.make_node("Concat", ["s_in", "s_in"], ["s"], axis=0), helper.make_node("Identity", ["go_in"], ["go"])]
    graph = body(nodes, [("i", INT64, []), ("go_in", BOOL, []), ("s_in", FLOAT, None)], [("go", BOOL, []), ("s", FLOAT, None)])
    node = helper.make_node("Loop", ["m", "", "x"], ["y"], body=graph)
    model = model_of([node], [declare("m", INT64, []), declare("x", FLOAT, [None])], ["y"])
    y = run_op.model(model, {"m": np.array(3), "x": np.array([1, 2], np.float32)})[0]
    assert y.tolist() == [1, 2] * 8


def test_loop_swaps_its_states(run_op: Any) -> None:
    """States are replaced together, after the iteration."""
    graph = body(
        [helper.make_node("Identity", ["go_in"], ["go"])],
        [("i", INT64, []), ("go_in", BOOL, []), ("a", FLOAT, []), ("b", FLOAT, [])],
        [("go", BOOL, []), ("b", FLOAT, []), ("a", FLOAT, [])],
    )
    node = helper.make_node("Loop", ["m", "", "p", "q"], ["r", "s"], body=graph)
    model = model_of([node], [declare("m", INT64, []), declare("p", FLOAT, []), declare("q", FLOAT, [])], ["r", "s"])
    got = run_op.model(model, {"m": np.array(3), "p": np.array(1, np.float32), "q": np.array(2, np.float32)})
    assert [float(v) for v in got] == [2, 1]


def scan_body() -> onnx.GraphProto:
    """Running sums."""
    nodes = [helper.make_node("Add", ["s_in", "x"], ["s"]), helper.make_node("Identity", ["s"], ["y"])]
    return body(nodes, [("s_in", FLOAT, None), ("x", FLOAT, None)], [("s", FLOAT, None), ("y", FLOAT, None)])


@pytest.mark.parametrize("backwards", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scan_axes_and_directions(run_op: Any, axis: int, backwards: int) -> None:
    """Scans run along any axis, in either direction, of inputs and outputs."""
    node = helper.make_node(
        "Scan",
        ["s0", "xs"],
        ["s", "ys"],
        body=scan_body(),
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_output_axes=[axis],
        scan_input_directions=[backwards],
        scan_output_directions=[backwards],
    )
    model = model_of([node], [declare("s0", FLOAT, [None]), declare("xs", FLOAT, [None, None])], ["s", "ys"])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    last, sums = run_op.model(model, {"s0": np.zeros(x.sum(axis).shape, np.float32), "xs": x})
    ordered = np.flip(x, axis) if backwards else x
    want = ordered.cumsum(axis)
    np.testing.assert_array_equal(last, x.sum(axis))
    np.testing.assert_array_equal(sums, np.flip(want, axis) if backwards else want)


def test_body_constants_after_saving(run_op: Any) -> None:
    """Initializers of a body belong to the body."""
    nodes = [helper.make_node("Add", ["s_in", "k"], ["s"]), helper.make_node("Identity", ["go_in"], ["go"])]
    graph = body(
        nodes,
        [("i", INT64, []), ("go_in", BOOL, []), ("s_in", FLOAT, [])],
        [("go", BOOL, []), ("s", FLOAT, [])],
        [tensor("k", np.array(2.5, np.float32))],
    )
    node = helper.make_node("Loop", ["m", "", "x"], ["y"], body=graph)
    model = model_of([node], [declare("m", INT64, []), declare("x", FLOAT, [])], ["y"])
    assert run_op.model(model, {"m": np.array(4), "x": np.array(1, np.float32)})[0] == 11


def test_sequence_state(run_op: Any) -> None:
    """A state may be a sequence."""
    nodes = [
        helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
        helper.make_node("SequenceInsert", ["q_in", "f"], ["q"]),
        helper.make_node("Identity", ["go_in"], ["go"]),
    ]
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    graph = helper.make_graph(
        nodes,
        "body",
        [declare("i", INT64, []), declare("go_in", BOOL, []), helper.make_value_info("q_in", kind)],
        [declare("go", BOOL, []), helper.make_value_info("q", kind)],
    )
    outer = [
        helper.make_node("SequenceEmpty", [], ["none"], dtype=FLOAT),
        helper.make_node("Loop", ["m", "", "none"], ["many"], body=graph),
        helper.make_node("ConcatFromSequence", ["many"], ["y"], axis=0, new_axis=1),
    ]
    model = model_of(outer, [declare("m", INT64, [])], ["y"])
    assert run_op.model(model, {"m": np.array(3)})[0].tolist() == [0, 1, 2]


def test_body_input_that_is_an_initializer(target: Target, variant: str) -> None:
    """A body's input that has an initializer too is a fault of the model, and said to be one."""
    graph = _without_scan()
    graph.initializer.append(tensor("s_in", np.array(0)))
    node = helper.make_node("Loop", ["m", "", "zero"], ["last"], body=graph)
    model = model_of([node], [declare("m", INT64, []), declare("limit", INT64, [])], ["last"], {"zero": np.array(0)})
    with pytest.raises(InvalidModel, match="s_in"):
        target.session(model, variant)
