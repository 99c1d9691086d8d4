import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.errors import SardonyxError

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, kind=F, dims=None):
    return helper.make_tensor_value_info(name, kind, dims)


def const(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


def body(nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, "body", inputs, outputs, list(constants))


def session(nodes, inputs, outputs, constants=(), level="ORT_ENABLE_ALL", ep="native"):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    options = sardonyx.SessionOptions()
    options.strict = True
    options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
    made = sardonyx.InferenceSession(model.SerializeToString(), options, providers=[ep])
    if ep == "native":
        assert {n.ep for n in made.explain().nodes} <= {"native", "host"}
    return made


@pytest.fixture(params=["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"])
def level(request):
    return request.param


def test_if_takes_a_branch(level):
    n = helper.make_node
    then = body([n("Add", ["x", "k"], ["a"])], [], [info("a", F, [None])], [const("k", np.float32(10))])
    other = body([n("Neg", ["x"], ["b"]), n("Concat", ["b", "x"], ["c"], axis=0)], [], [info("c", F, [None])])
    s = session(
        [n("If", ["p"], ["y"], then_branch=then, else_branch=other)],
        [info("p", B, []), info("x", F, ["n"])],
        [info("y", F, [None])],
        level=level,
    )
    x = np.array([1, 2], np.float32)
    for _ in range(2):
        assert s.run(None, {"p": np.array(True), "x": x})[0].tolist() == [11, 12]
        assert s.run(None, {"p": np.array(False), "x": x})[0].tolist() == [-1, -2, 1, 2]


def test_if_gives_captured_values_and_constants(level):
    n = helper.make_node
    then = body([], [], [info("x", F, ["n"])])
    other = body([], [], [info("k", F, [2])], [const("k", np.array([7, 8], np.float32))])
    s = session(
        [n("Abs", ["z"], ["x"]), n("If", ["p"], ["y"], then_branch=then, else_branch=other), n("Neg", ["y"], ["w"])],
        [info("p", B, []), info("z", F, ["n"])],
        [info("y", F, [None]), info("w", F, [None])],
        level=level,
    )
    z = np.array([-3, 4], np.float32)
    got = s.run(None, {"p": np.array(True), "z": z})
    assert [g.tolist() for g in got] == [[3, 4], [-3, -4]]
    got = s.run(None, {"p": np.array(False), "z": z})
    assert [g.tolist() for g in got] == [[7, 8], [-7, -8]]


def loop(level, with_limit=True, with_condition=True):
    """y is doubled until it exceeds a bound, or for the number of trips; every value is kept."""
    n = helper.make_node
    inner = body(
        [
            n("Add", ["s", "s"], ["t"]),
            n("ReduceMax", ["t"], ["m"], keepdims=0),
            n("Less", ["m", "bound"], ["go"]),
            n("Mul", ["t", "k"], ["kept"]),
        ],
        [info("i", I, []), info("c", B, []), info("s", F, ["n"])],
        [info("go", B, []), info("t", F, ["n"]), info("kept", F, ["n"])],
        [const("k", np.float32(1))],
    )
    names = ["limit" if with_limit else "", "start" if with_condition else "", "x"]
    kinds = {"limit": info("limit", I, []), "start": info("start", B, []), "x": info("x", F, ["n"])}
    return session(
        [n("Loop", names, ["y", "all"], body=inner)],
        [kinds[k] for k in names if k] + [info("bound", F, [])],
        [info("y", F, [None]), info("all", F, [None, None])],
        level=level,
    )


def test_loop_by_condition_and_count(level):
    x, bound = np.array([1, 3], np.float32), np.array(20, np.float32)
    s = loop(level)
    y, every = s.run(None, {"limit": np.array(10), "start": np.array(True), "x": x, "bound": bound})
    assert y.tolist() == [8, 24]
    assert every.tolist() == [[2, 6], [4, 12], [8, 24]]
    y, every = s.run(None, {"limit": np.array(2), "start": np.array(True), "x": x, "bound": bound})
    assert every.tolist() == [[2, 6], [4, 12]]
    y, every = s.run(None, {"limit": np.array(5), "start": np.array(False), "x": x, "bound": bound})
    assert y.tolist() == [1, 3]
    assert every.shape[0] == 0
    y, every = loop(level, with_limit=False).run(None, {"start": np.array(True), "x": x, "bound": bound})
    assert len(every) == 3
    y, every = loop(level, with_condition=False).run(None, {"limit": np.array(1), "x": x, "bound": bound})
    assert y.tolist() == [2, 6]


def test_loop_with_growing_state(level):
    n = helper.make_node
    inner = body(
        [n("Unsqueeze", ["i", "zero"], ["u"]), n("Concat", ["s", "u"], ["t"], axis=0), n("Identity", ["c"], ["go"])],
        [info("i", I, []), info("c", B, []), info("s", I, [None])],
        [info("go", B, []), info("t", I, [None])],
        [const("zero", np.array([0]))],
    )
    s = session(
        [n("Loop", ["limit", "", "x"], ["y"], body=inner)],
        [info("limit", I, []), info("x", I, [None])],
        [info("y", I, [None])],
        level=level,
    )
    assert s.run(None, {"limit": np.array(4), "x": np.array([9])})[0].tolist() == [9, 0, 1, 2, 3]


def test_scan_axes_and_directions(level):
    n = helper.make_node
    inner = body(
        [n("Add", ["s", "x"], ["t"]), n("Mul", ["t", "z"], ["u"])],
        [info("s", F, [2]), info("x", F, [2]), info("z", F, [2])],
        [info("t", F, [2]), info("u", F, [2])],
    )
    for in_axis, back, out_axis, out_back in [(0, 0, 0, 0), (1, 1, 1, 0), (0, 1, -1, 1), (-1, 0, 0, 1)]:
        node = n(
            "Scan", ["s0", "xs", "zs"], ["s1", "us"], body=inner, num_scan_inputs=2,
            scan_input_axes=[in_axis, 0], scan_input_directions=[back, 0], scan_output_axes=[out_axis], scan_output_directions=[out_back],
        )  # fmt: skip
        feeds = {"s0": np.ones(2, np.float32), "zs": np.arange(6, dtype=np.float32).reshape(3, 2)}
        xs = np.arange(10, 16, dtype=np.float32).reshape(3, 2)
        feeds["xs"] = np.moveaxis(xs, 0, in_axis).copy()
        ins, outs = (
            [info("s0", F, [2]), info("xs", F, [None, None]), info("zs", F, [None, 2])],
            [info("s1", F, [2]), info("us", F, [None, None])],
        )
        got = session([node], ins, outs, level=level).run(None, feeds)
        state, rows = feeds["s0"], []
        for t in range(3):
            state = state + xs[2 - t if back else t]
            rows.append(state * feeds["zs"][t])
        np.testing.assert_array_equal(got[0], state)
        np.testing.assert_array_equal(got[1], np.stack(rows[::-1] if out_back else rows, out_axis))


def test_nested_bodies_and_outer_captures(level):
    n = helper.make_node
    then, other = body([n("Add", ["s", "x"], ["a"])], [], [info("a", F, [2])]), body([n("Sub", ["s", "w"], ["b"])], [], [info("b", F, [2])])
    inner = body(
        [
            n("Mod", ["i", "two"], ["r"]),
            n("Equal", ["r", "zero"], ["even"]),
            n("If", ["even"], ["t"], then_branch=then, else_branch=other),
            n("Identity", ["c"], ["go"]),
        ],
        [info("i", I, []), info("c", B, []), info("s", F, [2])],
        [info("go", B, []), info("t", F, [2])],
        [const("two", np.array(2)), const("zero", np.array(0))],
    )
    s = session(
        [n("Neg", ["x"], ["w"]), n("Loop", ["limit", "", "x"], ["y"], body=inner)],
        [info("limit", I, []), info("x", F, [2])],
        [info("y", F, [2])],
        level=level,
    )
    assert s.run(None, {"limit": np.array(3), "x": np.array([1, 2], np.float32)})[0].tolist() == [4, 8]


def test_a_failure_names_the_nodes():
    n = helper.make_node
    inner = body(
        [n("Gather", ["x", "i"], ["t"], name="inner_gather"), n("Identity", ["c"], ["go"])],
        [info("i", I, []), info("c", B, [])],
        [info("go", B, []), info("t", F, [])],
    )
    s = session(
        [n("Loop", ["limit", ""], ["all"], body=inner, name="outer_loop")],
        [info("limit", I, []), info("x", F, [None])],
        [info("all", F, [None])],
    )
    with pytest.raises(SardonyxError, match=r"inner_gather.*index 2 is out of range.*outer_loop"):
        s.run(None, {"limit": np.array(5), "x": np.array([1, 2], np.float32)})


def test_sequences_are_refused():
    n = helper.make_node
    then = body([n("SequenceConstruct", ["x"], ["a"])], [], [helper.make_tensor_sequence_value_info("a", F, None)])
    other = body([n("SequenceConstruct", ["x", "x"], ["b"])], [], [helper.make_tensor_sequence_value_info("b", F, None)])
    with pytest.raises(SardonyxError):
        session(
            [n("If", ["p"], ["q"], then_branch=then, else_branch=other), n("SequenceLength", ["q"], ["y"])],
            [info("p", B, []), info("x", F, [None])],
            [info("y", I, [])],
        )
