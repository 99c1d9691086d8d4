import numpy as np
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.errors import NodeError, RunCancelled

X = np.arange(6, dtype=np.float32)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def value(name, type_=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, type_, shape)


def graph(nodes, inputs, outputs, name="body"):
    return helper.make_graph(nodes, name, inputs, outputs)


I64, BOOL, FLOAT = TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT


def loop_body(nodes, states, scans=(), more=()):
    """A Loop body over float states; it goes on as long as `go_in` says unless `nodes` give `go_out`."""
    given = any("go_out" in n.output for n in nodes)
    nodes = list(nodes) + ([] if given else [node("Identity", ["go_in"], ["go_out"])])
    inputs = [value("i", I64, []), value("go_in", BOOL, []), *(value(f"{s}_in") for s in states)]
    outputs = [value("go_out", BOOL, []), *(value(f"{s}_out") for s in states), *scans]
    return graph(nodes, inputs, outputs)


def run(model, feeds, names=None):
    return sardonyx.InferenceSession(model, providers=["cpu"]).run(names, feeds)


@pytest.mark.parametrize("flag", [np.array(True), np.array([False]), np.array([[True]])])
def test_if_takes_one_branch(make_model, flag):
    branches = {
        "then_branch": graph([node("Neg", ["x"], ["r"])], [], [value("r")]),
        "else_branch": graph([node("Abs", ["x"], ["r"])], [], [value("r")]),
    }
    model = make_model([node("If", ["flag"], ["y"], **branches)], ["x", value("flag", BOOL, None)], [value("y")])
    np.testing.assert_array_equal(run(model, {"x": X, "flag": flag})[0], -X if flag.all() else X)


def test_if_needs_one_condition(make_model):
    branches = {k: graph([node("Identity", ["x"], ["r"])], [], [value("r")]) for k in ("then_branch", "else_branch")}
    model = make_model([node("If", ["flag"], ["y"], **branches)], ["x", value("flag", BOOL, None)], [value("y")])
    with pytest.raises(NodeError, match=r"condition must have one element, it has shape \[2\]"):
        run(model, {"x": X, "flag": np.array([True, False])})


def test_loop_counts_and_stacks(make_model):
    body = loop_body([node("Add", ["s_in", "x"], ["s_out"]), node("Mul", ["s_out", "s_out"], ["sq"])], ["s"], [value("sq", FLOAT, ["n"])])
    model = make_model([node("Loop", ["m", "", "x"], ["s", "all"], body=body)], ["x", value("m", I64, [])], [value("s"), value("all")])
    last, stacked = run(model, {"x": X, "m": np.array(3)})
    np.testing.assert_array_equal(last, 4 * X)
    np.testing.assert_array_equal(stacked, np.stack([(k * X) ** 2 for k in (2, 3, 4)]))


@pytest.mark.parametrize(("m", "go"), [(0, True), (5, False), (-1, True)])
def test_a_loop_without_iterations_gives_its_initial_state_and_an_empty_scan(make_model, m, go):
    body = loop_body([node("Neg", ["s_in"], ["s_out"]), node("Cast", ["s_in"], ["c"], to=I64)], ["s"], [value("c", I64, [6])])
    inputs = ["x", value("m", I64, []), value("go", BOOL, [])]
    model = make_model([node("Loop", ["m", "go", "x"], ["s", "all"], body=body)], inputs, [value("s"), value("all", I64)])
    state, scan = run(model, {"x": X, "m": np.array(m), "go": np.array(go)})
    np.testing.assert_array_equal(state, X)
    assert (scan.shape, scan.dtype) == ((0, 6), np.int64)


def test_loop_ends_by_its_condition(make_model):
    nodes = [
        node("Mul", ["s_in", "two"], ["s_out"]),
        node("ReduceMax", ["s_out"], ["top"], keepdims=0),
        node("Less", ["top", "limit"], ["go_out"]),
    ]
    constants = {"two": np.float32(2), "limit": np.float32(100)}
    loop = node("Loop", ["", "", "x"], ["s"], body=loop_body(nodes, ["s"]))
    np.testing.assert_array_equal(run(make_model([loop], ["x"], [value("s")], constants), {"x": X})[0], X * 32)


def test_captures_reach_through_two_levels(make_model):
    deep = {
        "then_branch": graph([node("Add", ["s_in", "a"], ["r"])], [], [value("r")]),
        "else_branch": graph([node("Sub", ["s_in", "x"], ["r"])], [], [value("r")]),
    }
    nodes = [node("Mod", ["i", "two"], ["odd"]), node("Cast", ["odd"], ["is_odd"], to=BOOL), node("If", ["is_odd"], ["s_out"], **deep)]
    model = make_model(
        [node("Mul", ["x", "x"], ["a"]), node("Loop", ["m", "", "x"], ["s"], body=loop_body(nodes, ["s"]))],
        ["x", value("m", I64, [])],
        [value("s")],
        {"two": np.array(2)},
    )
    np.testing.assert_array_equal(run(model, {"x": X, "m": np.array(3)})[0], X - X + X * X - X)


def test_names_may_be_the_same_inside_and_outside(make_model):
    body = graph(
        [node("Add", ["s", "x"], ["t"]), node("Identity", ["go"], ["go2"])],
        [value("i", I64, []), value("go", BOOL, []), value("s")],
        [value("go2", BOOL, []), value("t")],
    )
    nodes = [node("Loop", ["m", "", "x"], ["y"], body=body), node("Loop", ["m", "", "y"], ["z"], body=body)]
    model = make_model(nodes, ["x", value("m", I64, [])], [value("z")])
    np.testing.assert_array_equal(run(model, {"x": X, "m": np.array(2)})[0], 5 * X)


def scan_model(make_model, **attributes):
    body = graph(
        [node("Add", ["s", "e"], ["s2"]), node("Identity", ["s2"], ["o"])], [value("s"), value("e")], [value("s2"), value("o")], "scan"
    )
    scan = node("Scan", ["init", "x"], ["last", "all"], body=body, num_scan_inputs=1, **attributes)
    return make_model([scan], [value("init", FLOAT, [2]), value("x", FLOAT, None)], [value("last"), value("all")])


@pytest.mark.parametrize("back_in", [0, 1])
@pytest.mark.parametrize("back_out", [0, 1])
@pytest.mark.parametrize("in_axis", [0, 1, -1])
@pytest.mark.parametrize("out_axis", [0, 1, -1])
def test_scan_directions_and_axes(make_model, back_in, back_out, in_axis, out_axis):
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    steps = np.cumsum(x[::-1] if back_in else x, 0)
    model = scan_model(
        make_model,
        scan_input_axes=[in_axis],
        scan_output_axes=[out_axis],
        scan_input_directions=[back_in],
        scan_output_directions=[back_out],
    )
    last, stacked = run(model, {"init": np.zeros(2, np.float32), "x": np.moveaxis(x, 0, in_axis)})
    np.testing.assert_array_equal(last, steps[-1])
    np.testing.assert_array_equal(stacked, np.moveaxis(steps[::-1] if back_out else steps, 0, out_axis))


def test_an_error_inside_a_body_names_the_inner_node(make_model):
    inner = helper.make_node("Add", ["s_in", "x"], ["s_out"], name="the_culprit")
    body = loop_body([inner], ["s"])
    model = make_model([node("Loop", ["m", "", "z"], ["s"], body=body)], ["x", "z", value("m", I64, [])], [value("s")])
    with pytest.raises(NodeError, match=r"the_culprit. \(Add-14\)"):
        run(model, {"x": X, "z": X[:4], "m": np.array(2)})


def test_iterations_whose_outputs_differ_in_shape_are_an_error(make_model):
    body = loop_body(
        [node("Concat", ["s_in", "x"], ["s_out"], axis=0), node("Identity", ["s_out"], ["o"])], ["s"], [value("o", FLOAT, ["k"])]
    )
    model = make_model([node("Loop", ["m", "", "x"], ["s", "all"], body=body)], ["x", value("m", I64, [])], [value("s"), value("all")])
    with pytest.raises(NodeError, match=r"different shapes: \[\[12\], \[18\]\]"):
        run(model, {"x": X, "m": np.array(2)})


def test_terminate_ends_an_endless_loop(make_model):
    model = make_model([node("Loop", ["", "", "x"], ["s"], body=loop_body([node("Neg", ["s_in"], ["s_out"])], ["s"]))], ["x"], [value("s")])
    session = sardonyx.InferenceSession(model, providers=["cpu"])

    class AfterSome(sardonyx.RunOptions):
        asked = 0

        def __getattribute__(self, name):
            if name == "terminate":
                AfterSome.asked += 1
                return AfterSome.asked > 50
            return object.__getattribute__(self, name)

    with pytest.raises(RunCancelled):
        session.run(None, {"x": X}, AfterSome())
    options = sardonyx.RunOptions()
    options.terminate = True
    with pytest.raises(RunCancelled):
        session.run(None, {"x": X}, options)
