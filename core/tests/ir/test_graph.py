"""Graphs, nodes and values keep each other's links true."""

from __future__ import annotations

from onnx import defs, parser

from sardonyx.ir.graph import BODIED, Graph, Node, Value
from sardonyx.ir.load import load
from sardonyx.ir.verify import verify


def chain(*ops):
    x = last = Value("x")
    nodes = []
    for i, op in enumerate(ops):
        out = Value(f"v{i}")
        nodes.append(Node(op, [last], [out], since=13, name=f"n{i}"))
        last = out
    return Graph("g", [x], [last], nodes)


def test_uses_follow_inputs():
    x, y = Value("x"), Value("y")
    node = Node("Add", [x, x], [Value("z")], since=14)
    assert x.uses == [(node, 0), (node, 1)]
    node.set_inputs([y, x])
    assert (x.uses, y.uses) == ([(node, 1)], [(node, 0)])


def test_sort_keeps_the_given_order_where_it_is_free():
    g = chain("Neg", "Abs", "Exp")
    g.nodes.reverse()
    assert g.sort() is None
    assert [n.op for n in g.nodes] == ["Neg", "Abs", "Exp"]
    verify(g)


def test_sort_finds_cycles():
    g = chain("Neg", "Abs")
    g.nodes[0].set_inputs([g.nodes[1].outputs[0]])
    assert g.sort() in g.nodes


def test_replace_uses_reaches_bodies_and_outputs():
    loaded = load(
        parser.parse_model(
            """<ir_version: 8, opset_import: ["": 17]>
            g (bool c, float[2] x) => (y, a) { a = Neg(x)
                y = If(c) <then_branch = t () => (p) { p = Abs(a) }, else_branch = e () => (float[2] a) { }> }"""
        )
    )
    g = loaded.graph
    old, new = g.nodes[0].outputs[0], g.inputs[1]
    g.replace_uses(old, new)
    assert old.uses == []
    assert g.outputs[1] is new
    assert g.nodes[1].bodies[0].nodes[0].inputs == (new,)
    assert g.nodes[1].bodies[1].outputs == [new]
    g.remove([g.nodes[0]])
    verify(g)


def test_captures_at_any_depth():
    loaded = load(
        parser.parse_model(
            """<ir_version: 8, opset_import: ["": 17]>
            g (bool c, float[2] x, float[2] w) => (y) {
                y = If(c) <
                    then_branch = t () => (p) {
                        p = If(c) <then_branch = u () => (q) { q = Add(x, w) }, else_branch = v () => (r) { r = Neg(x) }> },
                    else_branch = e () => (o) { o = Abs(w) }> }"""
        )
    )
    first, second = loaded.graph.nodes[0].bodies
    assert [v.name for v in first.captures()] == ["c", "x", "w"]
    assert [v.name for v in second.captures()] == ["w"]
    assert loaded.graph.captures() == []


def test_removing_a_node_frees_what_its_bodies_read():
    loaded = load(
        parser.parse_model(
            """<ir_version: 8, opset_import: ["": 17]>
            g (bool c, float[2] x) => (z) { z = Neg(x)
                y = If(c) <then_branch = t () => (p) { p = Abs(x) }, else_branch = e () => (o) { o = Exp(x) }> }"""
        )
    )
    g = loaded.graph
    g.remove([n for n in g.nodes if n.op == "If"])
    assert [n.op for n, _ in g.inputs[1].uses] == ["Neg"]
    assert g.inputs[0].uses == []


def test_operators_with_graphs_among_their_attributes():
    """Node.bodies looks at no other operator of ONNX's own."""
    graphs = (defs.OpSchema.AttrType.GRAPH, defs.OpSchema.AttrType.GRAPHS)
    schemas = [s for s in defs.get_all_schemas_with_history() if s.domain == ""]
    assert {s.name for s in schemas if any(a.type in graphs for a in s.attributes.values())} == BODIED
