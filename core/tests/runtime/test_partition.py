import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

import sardonyx
from sardonyx.ep import CompileContext, KernelSet, Provider
from sardonyx.errors import CompileRefused, NotSupported
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.runtime.partition import group

X = np.arange(4, dtype=np.float32)


@st.composite
def owned_graphs(draw):
    """A random graph of up to 14 nodes with one or two inputs each, and a provider for each node."""
    values = [Value("x")]
    graph = Graph("g", list(values))
    owner = {}
    for i in range(draw(st.integers(1, 14))):
        inputs = draw(st.lists(st.sampled_from(values), min_size=1, max_size=2))
        node = graph.append(Node("Op", inputs, [Value(f"v{i}")], name=f"n{i}"))
        values.append(node.outputs[0])
        owner[node] = draw(st.sampled_from("ABC"))
    graph.outputs = [draw(st.sampled_from(values[1:]))]
    return graph, owner


@settings(max_examples=200, deadline=None)
@given(owned_graphs())
def test_groups_are_convex_and_in_order(case):
    graph, owner = case
    groups = group(graph, owner)
    assert sorted(n.name for g in groups for n in g.nodes) == sorted(n.name for n in graph.nodes)
    known = set(graph.inputs)
    for g in groups:
        assert {owner[n] for n in g.nodes} == {g.owner}
        assert set(g.inputs) <= known
        known |= set(g.outputs)
        inside = set(g.nodes)
        read_elsewhere = {v for n in inside for v in n.outputs for u, _ in v.uses if u not in inside}
        assert set(g.outputs) == read_elsewhere | {v for n in inside for v in n.outputs if v in graph.outputs}
    assert set(graph.outputs) <= known


def chain(owners: str, wires: list[list[int]]) -> tuple[Graph, dict[Node, str]]:
    """One node per letter of `owners`; wires[i] are the nodes that node i reads (none: the graph's input)."""
    graph = Graph("g", [Value("x")])
    for i, sources in enumerate(wires):
        inputs = [graph.nodes[s].outputs[0] for s in sources] or graph.inputs
        graph.append(Node("Op", inputs, [Value(f"v{i}")], name=f"n{i}"))
    graph.outputs = [graph.nodes[-1].outputs[0]]
    return graph, dict(zip(graph.nodes, owners, strict=True))


@pytest.mark.parametrize(
    ("owners", "wires", "expected"),
    [
        ("AAA", [[], [0], [1]], ["012"]),
        ("ABA", [[], [0], [1]], ["0", "1", "2"]),
        ("ABA", [[], [0], [0]], ["02", "1"]),
        ("ABAA", [[], [0], [0], [1, 2]], ["02", "1", "3"]),
        ("ABAB", [[], [], [0], [1]], ["02", "13"]),
    ],
    ids=["chain", "there and back", "side branch", "diamond", "two strands"],
)
def test_groups_are_as_large_as_they_can_be(owners, wires, expected):
    groups = group(*chain(owners, wires))
    assert sorted("".join(n.name[1:] for n in g.nodes) for g in groups) == expected


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"{op.lower()}_{outputs[0]}", **attributes)


def test_priority_decides_and_refusals_carry_reasons(make_model, kernel_ep):
    kernel_ep("adder", {"Add": lambda xp, a, b: a + b}, priority=500)
    model = make_model([node("Add", ["x", "x"], ["s"]), node("Sqrt", ["s"], ["y"])], ["x"], ["y"])
    session = sardonyx.InferenceSession(model, providers=["adder", "cpu"])
    placed = {n.op: n for n in session.explain().nodes}
    assert placed["Add"].ep == "adder"
    assert placed["Add"].reasons == {}
    assert placed["Sqrt"].ep == "cpu"
    assert placed["Sqrt"].reasons == {"adder": "no kernel for Sqrt at all"}
    np.testing.assert_allclose(session.run(None, {"x": X})[0], np.sqrt(2 * X))
    assert session.explain().shares == {"adder": 0.5, "cpu": 0.5}


def test_strict_lists_the_nodes_and_reasons(make_model, kernel_ep):
    kernel_ep("adder", {"Add": lambda xp, a, b: a + b})
    model = make_model([node("Add", ["x", "x"], ["s"]), node("Sqrt", ["s"], ["y"])], ["x"], ["y"])
    options = sardonyx.SessionOptions()
    options.strict = True
    with pytest.raises(NotSupported, match=r"'sqrt_y' \(Sqrt-13; tensor\(float\)\)\n    adder: no kernel") as e:
        sardonyx.InferenceSession(model, options, providers=["adder"])
    assert e.value.nodes == {"sqrt_y": {"adder": "no kernel for Sqrt at all"}}


def test_a_refused_node_is_offered_again_as_its_function_body(make_model, kernel_ep):
    kernel_ep("parts", {"HardSigmoid": lambda xp, x, *, alpha, beta: xp.clip(alpha * x + beta, 0, 1), "Mul": lambda xp, a, b: a * b})
    options = sardonyx.SessionOptions()
    options.strict = True
    model = make_model([node("HardSwish", ["x"], ["y"])], ["x"], ["y"])
    session = sardonyx.InferenceSession(model, options, providers=["parts"])
    placed = session.explain().nodes
    assert {n.op for n in placed} == {"HardSigmoid", "Mul"}
    assert all(n.origins == ("hardswish_y",) for n in placed)
    np.testing.assert_allclose(session.run(None, {"x": X})[0], X * np.clip(X / 6 + 0.5, 0, 1), rtol=1e-6)


def test_a_body_does_not_stand_for_a_node_with_an_undefined_attribute(make_model, kernel_ep):
    """The body of Gelu takes whatever is not "tanh" for "none"."""
    kernel_ep("adder", {"Add": lambda xp, a, b: a + b})
    options = sardonyx.SessionOptions()
    options.strict = True
    for words, op, attrs in (
        ("its attribute approximate='other' is none of none, tanh", "Gelu", {"approximate": "other"}),
        ("its attribute stash_type=7 is the number of no floating-point type", "LayerNormalization", {"stash_type": 7}),
    ):
        inputs = ["x", "x"] if op == "LayerNormalization" else ["x"]
        model = make_model([node(op, inputs, ["y"], **attrs)], ["x"], ["y"])
        with pytest.raises(NotSupported, match=words) as e:
            sardonyx.InferenceSession(model, options, providers=["adder"])
        assert list(e.value.nodes) == [f"{op.lower()}_y"]


def test_assign_moves_nodes_by_name_or_operator(make_model, kernel_ep):
    kernel_ep("adder", {"Add": lambda xp, a, b: a + b, "Mul": lambda xp, a, b: a * b})
    nodes = [node("Add", ["x", "x"], ["s"]), node("Mul", ["s", "x"], ["t"]), node("Add", ["s", "t"], ["y"])]
    for wish, expected in (({"add_y": "cpu"}, ["adder", "adder", "cpu"]), ({"Add": "cpu"}, ["cpu", "adder", "cpu"])):
        options = sardonyx.SessionOptions()
        options.assign = wish
        session = sardonyx.InferenceSession(make_model(nodes, ["x"], ["y"]), options, providers=["adder", "cpu"])
        ep = {n.node: n.ep for n in session.explain().nodes}
        assert [ep[n.name] for n in nodes] == expected
        np.testing.assert_array_equal(session.run(None, {"x": X})[0], 2 * X + 2 * X * X)


def test_nodes_refused_while_compiling_go_elsewhere(make_model, register):
    class Late(Provider):
        kernels = KernelSet()

        def compile(self, graph, context: CompileContext):
            refused = {n.name: "too large for me" for n in graph.nodes if n.op == "Mul"}
            if refused:
                raise CompileRefused(refused)
            return super().compile(graph, context)

    Late.kernels.add("Add")(lambda xp, a, b: a + b)
    Late.kernels.add("Mul")(lambda xp, a, b: a * b)
    register("late", Late)
    model = make_model([node("Add", ["x", "x"], ["s"]), node("Mul", ["s", "x"], ["y"])], ["x"], ["y"])
    session = sardonyx.InferenceSession(model, providers=["late", "cpu"])
    placed = {n.op: n for n in session.explain().nodes}
    assert (placed["Add"].ep, placed["Mul"].ep) == ("late", "cpu")
    assert placed["Mul"].reasons == {"late": "too large for me"}
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], 2 * X * X)


def test_a_fallback_is_said_once(make_model, kernel_ep, caplog):
    kernel_ep("adder", {"Add": lambda xp, a, b: a + b})
    model = make_model([node("Add", ["x", "x"], ["s"]), node("Sqrt", ["s"], ["y"])], ["x"], ["y"])
    with pytest.warns(RuntimeWarning, match="1 nodes run on 'cpu', not on the providers asked for: Sqrt"):
        sardonyx.InferenceSession(model, providers=["adder"])
    assert "not on the providers asked for" in caplog.text
