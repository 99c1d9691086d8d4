"""What a well-formed graph is."""

from __future__ import annotations

import pytest

from sardonyx.errors import InvalidModel
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.verify import verify


def graph():
    x, a, y = Value("x"), Value("a"), Value("y")
    nodes = [Node("Neg", [x], [a], since=13, name="one"), Node("Softmax", [a], [y], {"axis": 1}, since=13, name="two")]
    return Graph("g", [x], [y], nodes)


def test_a_good_graph_passes():
    verify(graph())


def swap(g):
    g.nodes.reverse()


def rename(g):
    g.nodes[1].name = "one"


def forget_use(g):
    g.nodes[1].inputs[0].uses.clear()


def forget_producer(g):
    g.outputs[0].producer = None


def stranger(g):
    g.nodes[0].graph = None


def loose_output(g):
    g.outputs.append(Value("z"))


def wrong_attribute(g):
    g.nodes[1].attrs["axis"] = 1.5


def list_attribute(g):
    g.nodes[1].attrs["axis"] = []


def unknown_attribute(g):
    g.nodes[1].attrs["bias"] = 1


def absent_input(g):
    g.nodes[1].set_inputs([None])


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (swap, "before anything gives it"),
        (rename, "two nodes are called 'one'"),
        (forget_use, "does not know its use"),
        (forget_producer, "does not know its producer"),
        (stranger, "does not belong"),
        (loose_output, "given by nothing"),
        (wrong_attribute, "attribute 'axis' is of type float, not int"),
        (list_attribute, "attribute 'axis' is of type ints, not int"),
        (unknown_attribute, r"unknown attribute 'bias'; the operator has \['axis'\]"),
        (absent_input, r"required input 0 \(input\) is missing"),
    ],
)
def test_harm_is_found(harm, message):
    g = graph()
    harm(g)
    with pytest.raises(InvalidModel, match=message):
        verify(g)


def test_one_input_of_many_must_be_there():
    g = Graph("g")
    node = Node("Max", [None], [Value("y")], since=13, name="largest")
    g.append(node)
    with pytest.raises(InvalidModel, match=r"required input 0 \(data_0\) is missing"):
        verify(g)


def test_numbers_pass_where_floats_are_wanted():
    x, y = Value("x"), Value("y")
    verify(Graph("g", [x], [y], [Node("Elu", [x], [y], {"alpha": 2}, since=22, name="n")]))
    verify(Graph("g", [x], [y], [Node("RNN", [x, x, x], [y], {"activation_alpha": [1]}, since=22, name="n")]))


def test_operators_that_onnx_does_not_know_pass():
    x, y = Value("x"), Value("y")
    verify(Graph("g", [x], [y], [Node("Any", [x, None, x], [y], {"k": object()}, domain="mine", name="n")]))
