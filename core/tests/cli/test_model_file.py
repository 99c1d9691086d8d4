from onnx import helper

from sardonyx.cli.model_file import ModelFile


def node(op, **attributes):
    return helper.make_node(op, ["x"], ["y"], name=op, **attributes)


def graph(name, *nodes):
    return helper.make_graph(nodes, name, [], [])


def test_graphs_in_all_attributes_of_graphs_and_functions():
    held = node("Inner", bodies=[graph("c", node("C", body=graph("d", node("D")))), graph("e", node("E"))])
    function = helper.make_function("f", "F", ["x"], ["y"], [held], [helper.make_opsetid("", 20)])
    model = helper.make_model(graph("main", node("A", body=graph("a")), node("B", bodies=[graph("b")])), functions=[function])
    file = ModelFile("m.onnx", model)
    assert sorted(g.name for g in file.graphs()) == ["a", "b", "c", "d", "e", "main"]
    assert sorted(n.op_type for n in file.nodes()) == ["A", "B", "C", "D", "E", "Inner"]
