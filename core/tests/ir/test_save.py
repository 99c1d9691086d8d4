"""Saving and loading again: graphs with bodies, sequences, strings, every element type; files that appear whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from sardonyx.errors import InvalidInput
from sardonyx.ir.dtypes import FROM_ONNX, PACKED_BITS, STRING
from sardonyx.ir.graph import Graph, Model, Node, Value
from sardonyx.ir.load import load
from sardonyx.ir.save import save, to_proto
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.text import dump
from sardonyx.ir.types import TensorType

NESTED = """<ir_version: 8, opset_import: ["": 17]>
g (float[2] x, bool c, int64 n) => (y, z) {
    k = Constant <value: tensor = float[2] {1, 2}> ()
    y = If (c) <
        then_branch = t () => (float[2] r) {
            s, r = Loop (n, c, x) <body = b (int64 i, bool q, float[2] a) => (bool q2, float[2] d, float[2] e) {
                q2 = Identity (q)
                k2 = Constant <value: tensor = float[2] {10, 20}> ()
                p = Add (a, k)
                d = Add (p, k2)
                e = Mul (p, x)
            }>
            r0 = ReduceSum <keepdims = 0> (s)
        },
        else_branch = u () => (float[2] o) { o = Neg (k) }
    >
    z = Scan <num_scan_inputs: int = 1, body = m (float v) => (float w) { w = Mul (v, v) }> (x)
}"""

FUNCTION = """<ir_version: 8, opset_import: ["": 17, "f": 1]>
g (float[2] x) => (y) { t = f.twice (x)  y = f.twice (t) }
<domain: "f", opset_import: ["": 17]>
twice (a) => (b) { two = Constant <value_float: float = 2.0> ()  b = Mul (a, two) }"""

SEQUENCE = """<ir_version: 8, opset_import: ["": 17]>
g (float[2] x) => (seq(float[2]) s, optional(float[2]) o, y) {
    s = SequenceConstruct (x, x)
    o = Optional (x)
    y = SequenceAt (s, i)
}"""


def again(model, tools, feeds):
    """Load, save, load, save: same text both times, same numbers as before."""
    first = load(model)
    proto = to_proto(first)
    onnx.checker.check_model(proto)
    second = load(proto)
    twice = to_proto(second)
    assert [n.op for n in second.graph.walk_nodes()] == [n.op for n in first.graph.walk_nodes()]
    assert dump(load(twice).graph) == dump(second.graph)
    want = tools.reference(model, feeds)
    for p in (proto, twice):
        for g, w in zip(tools.reference(p, feeds), want, strict=True):
            np.testing.assert_array_equal(g, w)
    return second


@pytest.mark.parametrize("c", [True, False])
def test_nested_bodies(tools, c):
    text = NESTED.replace("s, r = Loop", "s, r1 = Loop").replace("r0 = ReduceSum <keepdims = 0> (s)", "r = Add (s, k)")
    feeds = {"x": np.float32([3, 4]), "c": np.array(c), "n": np.array(2)}
    loaded = again(parser.parse_model(text), tools, feeds)
    assert len([1 for _ in loaded.graph.walk_graphs()]) == 5


def test_functions_are_written_inlined(tools):
    loaded = again(parser.parse_model(FUNCTION), tools, {"x": np.float32([1, 2])})
    assert [n.op for n in loaded.graph.nodes] == ["Mul", "Mul"]


def test_sequences_and_optionals(tools):
    model = parser.parse_model(SEQUENCE)
    model.graph.initializer.append(numpy_helper.from_array(np.array(1), "i"))
    again(model, tools, {"x": np.float32([1, 2])})


def test_strings(tools):
    words = np.array(["a", "ä€", ""], object)
    model = tools.one_node("Equal", {"x": words}, 19, {"w": np.array(["a", "b", ""], object)})
    again(model, tools, {"x": words})


def test_type_and_tensor_attributes(tools):
    t = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [2]))
    nodes = [helper.make_node("Optional", [], ["o"], type=t), helper.make_node("OptionalHasElement", ["o"], ["y"])]
    again(tools.model_of(nodes, {}, ["y"], 18), tools, {})
    fill = helper.make_tensor("v", 7, [1], [5])
    node = helper.make_node("ConstantOfShape", ["s"], ["y"], value=fill)
    again(tools.model_of([node], {"s": np.array([2, 1])}, ["y"], 9), tools, {"s": np.array([2, 1])})


@pytest.mark.parametrize("code", FROM_ONNX)
def test_every_element_type(code):
    """All values of the small types, and odd counts of the packed ones, come back bit by bit."""
    dtype = FROM_ONNX[code]
    if dtype == STRING:
        values = np.array(["x", "y", "z"], object)
    elif dtype in PACKED_BITS:
        bits = PACKED_BITS[dtype]
        raw = np.arange(1 << bits, dtype=np.uint8)
        signed = dtype.name.startswith("int")
        values = np.where(raw >> (bits - 1), raw.astype(np.int16) - (1 << bits), raw).astype(dtype) if signed else raw
        values = (values if signed else raw.astype(dtype) if "int" in dtype.name else raw.view(dtype))[:-1]
    else:
        values = np.arange(-3, 4).astype(np.float32).astype(dtype) if dtype.kind not in "ub" else np.arange(7).astype(dtype)
    value = Value("w", TensorType(dtype, values.shape), Tensor.of(values))
    y = Value("y", value.type)
    graph = Graph("g", [], [y], [Node("Identity", [value], [y], since=25, name="n")])
    for kind in (False, True):
        proto = to_proto(Model(graph, opsets={"": 25}))
        if kind:
            proto = onnx.ModelProto.FromString(proto.SerializeToString())
        got = load(proto).graph.nodes[0].inputs[0].const.numpy()
        assert got.dtype == dtype
        if dtype == STRING:
            assert got.tolist() == values.tolist()
        else:
            assert got.tobytes() == values.tobytes()


def test_names_are_unique_across_graphs(tools):
    """Two bodies, and the outer graph, may use one name; what is written does not."""
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (bool c, float[2] x) => (y) {
        y = If (c) <then_branch = t () => (float[2] a) { b = Neg (x)  a = Neg (b) },
                    else_branch = e () => (float[2] a) { b = Abs (x)  a = Abs (b) }>
    }"""
    feeds = {"c": np.array(True), "x": np.float32([1, -2])}
    again(parser.parse_model(text), tools, feeds)
    proto = to_proto(load(parser.parse_model(text)))
    given = [o for a in proto.graph.node[0].attribute for n in a.g.node for o in n.output]
    assert len(set(given)) == 4


@pytest.mark.parametrize("what", ["x", "k"])
def test_body_output_from_outside_gets_an_identity(tools, what):
    text = f"""<ir_version: 8, opset_import: ["": 17]>
    g (bool c, float[2] x) => (y) {{
        k = Constant <value: tensor = float[2] {{1, 2}}> ()
        y0 = If (c) <then_branch = t () => (float[2] {what}) {{ }},
                     else_branch = e () => (float[2] a) {{ a = Abs (x) }}>
        y = Add (y0, k)
    }}"""
    loaded = load(parser.parse_model(text))
    feeds = {"c": np.array(True), "x": np.float32([3, 4])}
    want = (feeds["x"] if what == "x" else np.float32([1, 2])) + np.float32([1, 2])
    np.testing.assert_array_equal(tools.onnxruntime(to_proto(loaded, opset=17), feeds)[0], want)


def test_constant_of_one_body_is_written_there(tools):
    proto = to_proto(
        load(parser.parse_model(NESTED.replace("s, r = Loop", "r, r1 = Loop").replace("r0 = ReduceSum <keepdims = 0> (s)", "")))
    )
    assert [t.name for t in proto.graph.initializer] == ["k"]
    body = proto.graph.node[0].attribute[0].g.node[0].attribute[0].g
    assert [t.name for t in body.initializer] == ["k2"]


def big_model(start=0):
    w = Tensor.of(np.arange(start, start + 3000, dtype=np.float32))
    x = Value("x", TensorType(np.dtype(np.float32), (3000,)))
    a, b = Value("a", x.type), Value("y", x.type)
    first = Node("Add", [x, Value("w", x.type, w)], [a], since=14, name="first")
    second = Node("Add", [a, Value("w_twin", x.type, w)], [b], since=14, name="second")
    return Model(Graph("g", [x], [b], [first, second]), opsets={"": 20}, metadata={"k": "v"})


def test_external_data_is_shared_aligned_and_mapped(tmp_path):
    path = tmp_path / "m.onnx"
    assert save(big_model(), path, external=True) == [str(path), str(data_of(path))]
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", data_of(path).name]
    assert os.path.getsize(data_of(path)) == 12000
    loaded = load(path)
    assert loaded.metadata == {"k": "v"}
    for node in loaded.graph.nodes:
        np.testing.assert_array_equal(node.const(1), np.arange(3000, dtype=np.float32))
    proto = onnx.load(path, load_external_data=False)
    assert {t.external_data[1].value for t in proto.graph.initializer} == {"0"}


def data_of(path):
    """The one data file beside a model."""
    (found,) = path.parent.glob("*.data")
    return found


def weight(path):
    return load(path).graph.nodes[0].const(1)


KILLED = """
import os, signal, sys
from sardonyx.ir.load import load
from sardonyx.ir.save import save

replace, left = os.replace, int(sys.argv[3])
def limited(*paths):
    global left
    left -= 1
    os.kill(os.getpid(), signal.SIGKILL) if left < 0 else replace(*paths)
os.replace = limited
save(load(sys.argv[1]), sys.argv[2], external=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("renames", [0, 1, 2])
def test_a_process_that_is_killed_leaves_the_old_pair_or_the_new_one(tmp_path, renames):
    path, other = tmp_path / "m.onnx", tmp_path / "other.onnx"
    save(big_model(), path, external=True)
    save(big_model(5), other, external=False)
    done = subprocess.run([sys.executable, "-c", KILLED, str(other), str(path), str(renames)], check=False)
    assert done.returncode == (-signal.SIGKILL if renames < 2 else 0)
    assert weight(path)[0] == (0 if renames < 2 else 5)
    save(load(other), path, external=True)
    assert weight(path)[0] == 5
    data_of(path)


def test_a_failure_between_the_renames_leaves_the_old_pair(tmp_path, monkeypatch):
    path = tmp_path / "m.onnx"
    save(big_model(), path, external=True)
    before, replace = sorted(os.listdir(tmp_path)), os.replace

    def refuse(source, target):
        if target == str(path):
            raise PermissionError("not there")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    for start in (5, 0):
        with pytest.raises(InvalidInput, match="not there"):
            save(big_model(start), path, external=True)
    assert sorted(os.listdir(tmp_path)) == before
    assert weight(path)[0] == 0


def test_only_data_files_of_the_models_own_name_are_removed(tmp_path):
    path = tmp_path / "m.onnx"
    for name, stays in (("m.onnx.data", False), ("weights.bin", True)):
        onnx.save(to_proto(big_model()), path, save_as_external_data=True, location=name)
        save(big_model(), path, external=False)
        assert (tmp_path / name).exists() == stays
        assert weight(path)[0] == 0


def test_tensors_of_equal_elements_are_nodes_where_the_opset_has_them():
    x, y = (Value(n, TensorType(np.dtype(np.float32), (200, 200))) for n in "xy")
    w = Value("w", x.type, Tensor.filled((200, 200), np.array([3], np.float32)))
    for opset, count in ((8, 0), (9, 1)):
        model = Model(Graph("g", [x], [y], [Node("Mul", [x, w], [y], since=7, name="n")]), opsets={"": opset})
        proto = to_proto(model, opset=opset)
        onnx.checker.check_model(proto)
        assert [n.op_type for n in proto.graph.node] == ["ConstantOfShape"] * count + ["Mul"]
        assert (proto.ByteSize() < 1000) == bool(count)
        if count:
            (made,) = (n for n in load(proto).graph.nodes if n.op == "ConstantOfShape")
            assert made.attrs["value"].tolist() == [3]


def test_what_is_empty_is_not_written():
    proto = to_proto(big_model())
    assert not any(node.HasField("domain") or node.HasField("overload") or node.HasField("doc_string") for node in proto.graph.node)


def test_no_data_file_without_data(tmp_path):
    model = big_model()
    for node in model.graph.nodes:
        node.inputs[1].const = Tensor.of(np.ones(1, np.float32))
    assert save(model, tmp_path / "m.onnx", external=True) == [str(tmp_path / "m.onnx")]
    assert os.listdir(tmp_path) == ["m.onnx"]


def test_external_data_of_bodies(tmp_path, tools):
    text = NESTED.replace("s, r = Loop", "s, r1 = Loop").replace("r0 = ReduceSum <keepdims = 0> (s)", "r = Add (s, k)")
    loaded = load(parser.parse_model(text))
    for v in {v for graph in loaded.graph.walk_graphs() for v in graph.constants()}:
        v.const = Tensor.of(np.tile(v.const.numpy(), (300, 1)))
    save(loaded, tmp_path / "m.onnx", external=True)
    again = load(tmp_path / "m.onnx")
    assert {v.const.shape for g in again.graph.walk_graphs() for v in g.constants()} == {(300, 2)}
    data_of(tmp_path / "m.onnx")


def test_saving_over_the_loaded_file(tmp_path):
    path = tmp_path / "m.onnx"
    save(big_model(), path)
    loaded = load(path)
    save(loaded, path)
    save(loaded, path, external=True)
    np.testing.assert_array_equal(load(path).graph.nodes[0].const(1), loaded.graph.nodes[0].const(1))


@pytest.mark.parametrize("external", [False, True])
def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch, external):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"before")
    monkeypatch.setattr("sardonyx.ir.save._serialized", lambda p, q: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(InvalidInput, match="no space left"):
        save(big_model(), path, external=external)
    assert os.listdir(tmp_path) == ["m.onnx"]
    assert path.read_bytes() == b"before"


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InvalidInput, match="cannot write"):
        save(big_model(), tmp_path / "none" / "m.onnx")


def test_overridable_inputs_keep_their_defaults(tools):
    model = tools.one_node("Add", {"a": np.float32([1, 2]), "b": np.float32([3, 4])}, 14)
    model.graph.initializer.append(numpy_helper.from_array(np.float32([5, 6]), "b"))
    proto = to_proto(load(model))
    assert [i.name for i in proto.graph.input] == ["a", "b"]
    assert load(proto).overridable["b"].numpy().tolist() == [5, 6]
    np.testing.assert_array_equal(tools.onnxruntime(proto, {"a": np.float32([1, 2])})[0], [6, 8])


def test_empty_list_attributes_have_the_schemas_type(tools):
    x, y = Value("x", TensorType(np.dtype(np.float32), (2,))), Value("y")
    node = Node("RNN", [x, x, x], [y], {"activation_alpha": [], "activations": []}, since=22, name="n")
    attributes = {a.name: a.type for a in to_proto(Model(Graph("g", [x], [y], [node]))).graph.node[0].attribute}
    assert attributes == {"activation_alpha": onnx.AttributeProto.FLOATS, "activations": onnx.AttributeProto.STRINGS}
