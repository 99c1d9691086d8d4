import importlib.util

import numpy as np
import pytest
from onnx import helper

import sardonyx

ENGINES = ["onnx.reference", "cpu"] + (["onnxruntime"] if importlib.util.find_spec("onnxruntime") else [])

LOOP = """<ir_version: 8, opset_import: ["": 17]> g (int64 m, float[N] x) => (float[N] y, float[T, N] all) {
    always = Constant<value = bool {1}>()
    w = Neg(x)
    y, all = Loop(m, always, w) <body = b (int64 i, bool go, float[N] s) => (bool on, float[N] r, float[N] q) {
        on = Identity(go)
        t = Cast<to = 1>(i)
        p = Add(s, t)
        q = Tanh(p)
        r = Add(q, x)
    }>
}"""

NESTED = """<ir_version: 8, opset_import: ["": 17]> g (int64 m, float[N] x) => (float[N] y) {
    always = Constant<value = bool {1}>()
    y = Loop(m, always, x) <body = b (int64 i, bool go, float[N] s) => (bool on, float[N] r) {
        on = Identity(go)
        two = Constant<value = int64 {2}>()
        late = Equal(i, two)
        u = If(late) <then_branch = yes () => (float[N] a) { a = Tanh(s) }, else_branch = no () => (float[N] c) { c = Abs(s) }>
        r = Loop(two, always, u) <body = d (int64 j, bool go2, float[N] v) => (bool on2, float[N] w) {
            on2 = Identity(go2)
            w = Add(v, x)
        }>
    }>
}"""

SCAN = """<ir_version: 8, opset_import: ["": 17]> g (float[3, N] x) => (float[N] y, float[3, N] all) {
    zero = Constant<value = float[2] {0.0, 0.0}>()
    y, all = Scan<num_scan_inputs = 1, body = b (float[N] s, float[N] e) => (float[N] r, float[N] q) {
        r = Add(s, e)
        q = Tanh(r)
    }>(zero, x)
}"""

GROWING = """<ir_version: 8, opset_import: ["": 17]> g (int64 m, float[N] x) => (float[K] y) {
    always = Constant<value = bool {1}>()
    y = Loop(m, always, x) <body = b (int64 i, bool go, float[K] s) => (bool on, float[L] r) {
        on = Identity(go)
        t = Concat<axis = 0>(s, x)
        r = Exp(t)
    }>
}"""

X = np.array([0.5, -1.0], np.float32)


def compare(model, feeds, providers=("cpu",), against="onnx.reference", **options):
    return sardonyx.compare(model, feeds, providers=list(providers), against=against, **options)


def loop_feeds(count):
    return {"m": np.array(count, np.int64), "x": X}


@pytest.mark.parametrize("engine", ENGINES)
def test_bodies_are_compared_with_every_engine(build, engine):
    result = compare(build(LOOP), loop_feeds(4), against=engine)
    assert result.ok
    assert not result.unseen
    assert [r.tensor for r in result.rows] == ["w", "on", "t", "p", "q", "r", "y", "all"]
    assert [r.within for r in result.rows] == ["", *["loop_y"] * 5, "", ""]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", [SCAN, GROWING, NESTED])
def test_scans_growing_states_and_bodies_in_bodies(build, engine, text):
    feeds = {"x": np.ones((3, 2), np.float32)} if text is SCAN else loop_feeds(4)
    result = compare(build(text), feeds, against=engine)
    assert result.ok
    assert not result.unseen
    expected = {SCAN: {"r", "q"}, GROWING: {"on", "t", "r"}, NESTED: {"on", "late", "a", "c", "u", "on2", "w", "r"}}[text]
    assert {r.tensor for r in result.rows if r.within} == expected


@pytest.mark.usefixtures("broken_provider")
def test_the_first_difference_in_a_body_has_its_iteration(build):
    result = compare(build(LOOP), {"m": np.array(3, np.int64), "x": np.zeros(2, np.float32)}, ["wrong", "cpu"])
    first = result.first
    assert (first.tensor, first.op, first.ep, first.within) == ("q", "Tanh", "wrong", "loop_y")
    assert first.iteration == (1,)  # Tanh of zero is right in the iteration before.
    text = result.explanation()
    assert "on wrong, in iteration 1 of loop_y: " in text
    assert "it reads 'p' (float[2]), which agrees" in text
    row = result.to_dict()["first"]
    assert (row["within"], row["iteration"]) == ("loop_y", [1])


@pytest.mark.usefixtures("broken_provider")
def test_what_a_body_reads_from_outside_is_said(build):
    result = compare(build(NESTED), loop_feeds(4), ["wrong", "cpu"])
    assert (result.first.tensor, result.first.iteration, result.first.within) == ("a", (2,), "if_u")
    assert "it reads 's' (float[N]), which comes into the body as the reference has it" in result.explanation()


@pytest.mark.usefixtures("broken_provider")
def test_a_branch_has_no_iteration(build):
    text = NESTED.replace("Tanh", "Neg").replace("Abs", "Neg").replace("w = Add(v, x)", "k = Tanh(v)\n            w = Add(k, x)")
    result = compare(build(text), loop_feeds(1), ["wrong", "cpu"])
    assert (result.first.tensor, result.first.iteration) == ("k", (0, 0))
    one = build(
        """<ir_version: 8, opset_import: ["": 17]> g (bool c, float[N] x) => (float[N] y) {
        y = If(c) <then_branch = t () => (float[N] a) { a = Tanh(x) }, else_branch = f () => (float[N] b) { b = Sin(x) }>
    }"""
    )
    result = compare(one, {"c": np.array(True), "x": X}, ["wrong", "cpu"])
    assert [(r.tensor, r.place) for r in result.rows] == [("a", "if_y"), ("y", "")]
    assert not result.ok


@pytest.mark.usefixtures("broken_provider")
def test_what_adds_up_is_told_from_what_a_node_does(build):
    text = LOOP.replace("q = Tanh(p)", "h = Tanh(p)\n        q = Add(h, p)")
    exact = compare(build(text), loop_feeds(3), ["wrong", "cpu"], rtol=1, atol=1)
    assert exact.ok
    result = compare(build(text), loop_feeds(30), ["wrong", "cpu"], rtol=0, atol=0.05)
    assert (result.first.tensor, result.first.within) == ("y", "")
    assert "small differences add up over the iterations" in result.explanation()


def test_other_bodies_are_said_not_to_be_looked_into(build):
    model = build(LOOP)
    body = helper.make_graph(
        [helper.make_node("Neg", ["e"], ["f"])],
        "each",
        [helper.make_tensor_value_info("e", 1, None)],
        [helper.make_tensor_value_info("f", 1, None)],
    )
    model.graph.node.extend(
        [
            helper.make_node("SequenceConstruct", ["x", "w"], ["seq"], name="pair"),
            helper.make_node("SequenceMap", ["seq"], ["mapped"], body=body, name="each"),
            helper.make_node("ConcatFromSequence", ["mapped"], ["z"], axis=0, name="join"),
        ]
    )
    model.graph.output.append(helper.make_tensor_value_info("z", 1, None))
    result = compare(model, loop_feeds(2))
    assert result.ok
    assert list(result.unseen) == ["each"]
    assert "the bodies of each were not looked into: SequenceMap runs them itself" in result.explanation()
    assert "unseen" in result.to_dict()


def test_bodies_are_left_alone_where_not_every_tensor_is_asked_for(build):
    for tensors in ("kept", "outputs"):
        assert not [r for r in compare(build(LOOP), loop_feeds(2), tensors=tensors).rows if r.within]
