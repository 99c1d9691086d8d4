"""Loading: what files may look like, and clear errors, quickly, for what they may not."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from sardonyx.errors import InvalidInput, InvalidModel
from sardonyx.ir.load import load
from sardonyx.ir.schema import KNOWN, newest
from sardonyx.ir.types import TensorType

F32 = np.dtype(np.float32)
X = np.float32([1, 2, 3, 4])


def text(body, header='ir_version: 8, opset_import: ["": 17]'):
    return parser.parse_model(f"<{header}>\n{body}")


def external_model(tools, location="w.bin", **entries):
    model = tools.one_node("Add", {"x": X}, 14, {"w": X})
    t = model.graph.initializer[0]
    t.ClearField("raw_data")
    t.data_location = TensorProto.EXTERNAL
    for key, value in ({"location": location} | entries).items():
        t.external_data.add(key=key, value=str(value))
    return model


def test_path_bytes_and_proto_are_alike(tools, tmp_path):
    model = tools.one_node("Add", {"x": np.zeros(2000, np.float32)}, 14, {"w": np.arange(2000, dtype=np.float32)})
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    for source in (path, str(path), model.SerializeToString(), bytearray(model.SerializeToString()), model):
        node = load(source).graph.nodes[0]
        assert (node.op, node.since) == ("Add", newest("", "Add"))
        np.testing.assert_array_equal(node.const(1), np.arange(2000))
        assert not node.const(1).flags.writeable


def test_weights_of_a_file_are_views(tools, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(
        tools.one_node("Add", {"x": np.zeros(2000, np.float32)}, 14, {"w": np.arange(2000, dtype=np.float32)}).SerializeToString()
    )
    array = load(path).graph.nodes[0].const(1)
    assert not array.flags.owndata


def test_given_proto_is_not_changed(tools):
    model = tools.one_node("Squeeze", {"x": X[None]}, 11, axes=[0])
    before = model.SerializeToString(deterministic=True)
    load(model)
    assert model.SerializeToString(deterministic=True) == before


def test_large_constant_nodes_stay_in_the_file(tmp_path):
    value = np.arange(2000, dtype=np.float32)
    nodes = [helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(value)), helper.make_node("Neg", ["w"], ["y"])]
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info("y", 1, [2000])])
    loaded = load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString())
    assert [n.op for n in loaded.graph.nodes] == ["Neg"]
    assert loaded.graph.nodes[0].inputs[0].const.region is not None
    np.testing.assert_array_equal(loaded.graph.nodes[0].const(0), value)


def test_external_data(tools, tmp_path):
    (tmp_path / "w.bin").write_bytes(b"1234" + X.tobytes())
    path = tmp_path / "m.onnx"
    model = external_model(tools, offset=4, length=16)
    path.write_bytes(model.SerializeToString())
    for loaded in (load(path), load(model, folder=str(tmp_path)), load(model, external={"w.bin": b"1234" + X.tobytes()})):
        np.testing.assert_array_equal(loaded.graph.nodes[0].const(1), X)


@pytest.mark.parametrize("location", ["../w.bin", "/etc/passwd", "a/../../w.bin", "", "\0", "link", ".", "pipe", "none"])
def test_external_data_out_of_bounds(tools, tmp_path, location):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(X.tobytes())
    os.symlink(tmp_path / "w.bin", folder / "link")
    os.mkfifo(folder / "pipe")
    path = folder / "m.onnx"
    path.write_bytes(external_model(tools, location).SerializeToString())
    with pytest.raises(InvalidModel, match="'w'"):
        load(path)


@pytest.mark.parametrize("entries", [{"offset": 8}, {"offset": -4}, {"length": 99}, {"offset": "x"}, {"offset": 2**70}, {"length": 8}])
def test_external_data_of_wrong_extent(tools, tmp_path, entries):
    (tmp_path / "w.bin").write_bytes(X.tobytes())
    path = tmp_path / "m.onnx"
    path.write_bytes(external_model(tools, **entries).SerializeToString())
    with pytest.raises(InvalidModel, match="'w'"):
        load(path)


def test_a_cache_of_downloads_links_model_and_data(tools, tmp_path):
    """Both files are links to one folder of contents, as huggingface_hub lays them out."""
    blobs, shown = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    shown.mkdir()
    (blobs / "a").write_bytes(external_model(tools).SerializeToString())
    (blobs / "b").write_bytes(X.tobytes())
    os.symlink(blobs / "a", shown / "m.onnx")
    os.symlink(blobs / "b", shown / "w.bin")
    np.testing.assert_array_equal(load(shown / "m.onnx").graph.nodes[0].const(1), X)


def test_wrong_paths(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="no such model file"):
        load(tmp_path / "none.onnx")
    with pytest.raises(InvalidInput, match="folder"):
        load(tmp_path)
    with pytest.raises(InvalidInput, match="not a regular file"):
        load(tmp_path / "pipe")
    with pytest.raises(InvalidInput):
        load("a\0b")
    with pytest.raises(InvalidModel, match="empty"):
        load(tmp_path / "empty")
    with pytest.raises(InvalidInput, match="not int"):
        load(3)


@pytest.mark.parametrize("data", [b"", b"\0", b"hello", b"\xff" * 20, b"\x3a\xff\xff\xff\xff\x0f", b"{}", b"\x0a\x00"])
def test_not_a_model(data):
    with pytest.raises(InvalidModel):
        load(data)


def test_truncated_anywhere(tools):
    data = tools.one_node("Add", {"x": X}, 14, {"w": np.arange(600, dtype=np.float32)}).SerializeToString()
    for end in range(0, len(data) - 1, 7):
        with pytest.raises(InvalidModel):
            load(data[:end])


BROKEN = {
    "reads what nothing gives": "g (float[2] x) => (y) { y = Add(x, nothing) }",
    "cycle": "g (float[2] x) => (y) { a = Add(x, y)  y = Neg(a) }",
    "output given twice": "g (float[2] x) => (y) { y = Neg(x)  y = Abs(x) }",
    "input given again": "g (float[2] x) => (x) { x = Neg(x) }",
    "unknown output": "g (float[2] x) => (z) { y = Neg(x) }",
    "too many inputs": "g (float[2] x) => (y) { y = Neg(x, x) }",
    "too few inputs": "g (float[2] x) => (y) { y = Add(x) }",
    "too many outputs": "g (float[2] x) => (y) { y, z = Neg(x) }",
    "unknown attribute": "g (float[2] x) => (y) { y = Neg<what: int = 1>(x) }",
    "attribute of wrong type": 'g (float[2] x) => (y) { y = Softmax<axis: string = "last">(x) }',
    "required attribute": "g (float[2] x) => (y) { y = Concat(x, x) }",
    "operator of a later version": "g (float[2] x) => (y) { y = Gelu(x) }",
    "constant without value": "g () => (y) { y = Constant() }",
    "constant with two values": "g () => (y) { y = Constant<value_int: int = 1, value_float: float = 1.0>() }",
    "branches of other size": """g (bool c, float[2] x) => (y) {
        y = If(c) <then_branch = t () => (float[2] a, float[2] b) { a = Neg(x)  b = Abs(x) },
                   else_branch = e () => (float[2] a) { a = Neg(x) }> }""",
    "loop body without states": """g (int64 n, bool c, float[2] x) => (y) {
        y = Loop(n, c, x) <body = b (int64 i, bool q) => (bool r) { r = Identity(q) }> }""",
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_graphs(what):
    with pytest.raises(InvalidModel):
        load(text(BROKEN[what]))


def test_errors_name_the_node(tools):
    with pytest.raises(InvalidModel, match=r"node 'n' \(Softmax-13\): attribute 'axis' is of type string, not int"):
        load(tools.one_node("Softmax", {"x": X}, 13, axis="last"))
    with pytest.raises(InvalidModel, match=r"node 'n'.*Gelu came later"):
        load(tools.one_node("Gelu", {"x": X}, 17))


def test_nodes_in_any_order():
    loaded = load(text("g (float[2] x) => (y) { y = Neg(b)  b = Abs(a)  a = Exp(x) }"))
    assert [n.op for n in loaded.graph.nodes] == ["Exp", "Abs", "Neg"]


@pytest.mark.parametrize(("ir_version", "constant"), [(3, True), (4, False), (8, False)])
def test_inputs_with_initializers(tools, ir_version, constant):
    model = tools.one_node("Add", {"x": X, "w": X}, 7)
    model.graph.initializer.append(numpy_helper.from_array(X, "w"))
    model.ir_version = ir_version
    loaded = load(model)
    assert ("w" in loaded.overridable) is not constant
    assert [v.name for v in loaded.graph.inputs] == (["x"] if constant else ["x", "w"])
    assert loaded.graph.outputs[0].type == TensorType(F32, (4,))


def test_body_input_that_is_an_initializer(tools):
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["d"])],
        "b",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("c", 9, [])],
        [helper.make_tensor_value_info("d", 9, [])],
        [numpy_helper.from_array(np.array(True), "c")],
    )
    model = tools.model_of([helper.make_node("Loop", ["n", "k"], [], body=body)], {"n": np.array(1), "k": np.array(True)}, [], 17)
    with pytest.raises(InvalidModel, match="both an input and an initializer"):
        load(model)


def test_which_dimensions_were_fixed(tools):
    model = tools.one_node("Relu", {"x": X.reshape(2, 2)}, 14)
    shape = model.graph.input[0].type.tensor_type.shape
    shape.dim[0].dim_param, shape.dim[1].dim_param, shape.dim[1].denotation = "n", "m", "WIDTH"
    loaded = load(model, dims={"n": 3, "k": 4}, denotations={"WIDTH": 5, "HEIGHT": 6})
    assert (loaded.graph.inputs[0].shape, loaded.fixed) == ((3, 5), {"n", "WIDTH"})
    assert load(model).fixed == set()


def test_missing_and_future_opsets(tools):
    model = tools.one_node("Relu", {"x": X}, 14)
    model.opset_import[0].version = KNOWN[""] + 7
    assert "taken as of" in load(model).cautions[0]
    model.opset_import[0].version = 2**40
    assert load(model).opsets[""] == KNOWN[""]
    del model.opset_import[:]
    assert load(model).opsets == {"": 1}
    model.opset_import.add(domain="", version=0)
    with pytest.raises(InvalidModel, match="versions start at 1"):
        load(model)


def test_untyped_attributes_of_the_first_files(tools):
    model = tools.one_node("Concat", {"a": X, "b": X}, 1, axis=0)
    model.ir_version = 1
    model.graph.node[0].attribute[0].ClearField("type")
    del model.opset_import[:]
    assert load(model).graph.nodes[0].attrs == {"axis": 0}


def test_early_layer_normalization(tools):
    """onnxruntime wrote it into ONNX's domain before opset 17."""
    node = load(tools.one_node("LayerNormalization", {"x": X, "s": X}, 11)).graph.nodes[0]
    assert node.since == 17


def test_unknown_domains_pass():
    loaded = load(text("g (float[2] x) => (y) { a = my.Op<k: int = 1>(x)  y = Neg(a) }", 'ir_version: 8, opset_import: ["": 17, "my": 3]'))
    assert (loaded.graph.nodes[0].domain, loaded.graph.nodes[0].since) == ("my", 3)
    loaded = load(text("g (float[2] x) => (y) { a = my.Op(x)  b = Neg(x)  y = Add(a, b) }"))
    assert loaded.graph.nodes[1].outputs[0].type == TensorType(F32, (2,))


class TestDeclaredTypes:
    def model(self, declared):
        return text(f"g (float[2,3] x) => (float[3,2] y) <{declared} t> {{ t = Transpose(x)  y = Neg(t) }}")

    def test_wrong_ones_are_overruled(self):
        loaded = load(self.model("float[7,7]"))
        assert loaded.graph.nodes[0].outputs[0].shape == (3, 2)
        assert "'t' is declared tensor(float)[7, 7]" in loaded.warnings[0]

    def test_strict_raises(self):
        with pytest.raises(InvalidModel, match="'t' is declared"):
            load(self.model("float[7,7]"), strict=True)
        with pytest.raises(InvalidModel, match="tensor\\(int64\\)"):
            load(self.model("int64[3,2]"), strict=True)
        assert load(self.model("float[N,2]"), strict=True).warnings == []

    def test_gaps_are_filled(self):
        header = 'ir_version: 8, opset_import: ["": 17, "my": 1]'
        loaded = load(text("g (float[2] x) => (y) <float[2,5] t> { t = my.Op(x)  y = Neg(t) }", header))
        assert [n.outputs[0].shape for n in loaded.graph.nodes] == [(2, 5), (2, 5)]

    def test_negative_dims_are_unknown(self, tools):
        model = tools.one_node("Neg", {"x": X}, 13)
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
        assert load(model).graph.inputs[0].shape == (None,)

    def test_body_outputs(self):
        """A body's wrong declaration does not stand either."""
        loaded = load(
            text("""g (bool c, float[2,3] x) => (y) {
            y = If(c) <then_branch = t () => (float[9] a) { a = Transpose(x) },
                       else_branch = e () => (float[3,2] b) { b = Transpose(x) }> }""")
        )
        assert loaded.graph.nodes[0].bodies[0].outputs[0].shape == (3, 2)
        assert loaded.graph.outputs[0].type == TensorType(F32, (3, 2))


HUGE = [[2**40, 2**40], [2**63 - 1], [-1], [2**31] * 3, [0, -5], [1] * 100]


@pytest.mark.parametrize("dims", HUGE, ids=str)
def test_absurd_weights(tools, dims):
    model = tools.one_node("Add", {"x": X}, 14, {"w": X})
    del model.graph.initializer[0].dims[:]
    model.graph.initializer[0].dims.extend(dims)
    with pytest.raises(InvalidModel, match="'w'"):
        load(model)


def test_weights_of_unknown_type(tools):
    model = tools.one_node("Add", {"x": X}, 14, {"w": X})
    model.graph.initializer[0].data_type = 99
    with pytest.raises(InvalidModel, match="element type 99"):
        load(model)


@pytest.mark.parametrize(
    ("dims", "indices", "good"),
    [
        ([4], [1, 3], True),
        ([2, 2], [[0, 1], [1, 1]], True),
        ([2, 2], [1, 3], True),
        ([4], [1, 4], False),
        ([4], [-1, 2], False),
        ([2, 2], [[0, 1], [2, 1]], False),
        ([2, 2], [[0, 1, 0], [1, 1, 0]], False),
        ([4], [1], False),
        ([2**31], [1, 2], False),
    ],
)
def test_sparse_weights(tools, dims, indices, good):
    model = tools.one_node("Neg", {}, 13, inputs=["w"])
    values, at = numpy_helper.from_array(np.float32([5, 6]), "w"), numpy_helper.from_array(np.array(indices, np.int64))
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, at, dims))
    if good:
        want = np.zeros(dims, np.float32)
        want.reshape(-1)[[1, 3]] = [5, 6]
        np.testing.assert_array_equal(load(model).graph.nodes[0].const(0), want)
    else:
        with pytest.raises(InvalidModel, match="'w'"):
            load(model).graph.nodes[0].const(0)


def test_many_uses_of_one_constant_take_no_square_time(tools):
    nodes = [helper.make_node("Add", [f"v{i}", "w"], [f"v{i + 1}"]) for i in range(4000)]
    model = tools.model_of(nodes, {"v0": X}, ["v4000"], 14, {"w": X})
    start = time.perf_counter()
    load(model)
    assert time.perf_counter() - start < 5


def test_a_cycle_names_a_node_on_it():
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> g (float[2] x) => (z) { a = Neg(b)  b = Abs(a)  c = Exp(b)  z = Add(c, x) }'
    )
    model.graph.node[0].name, model.graph.node[1].name = "first", "second"
    with pytest.raises(InvalidModel, match=r"cycle: node '(first|second)' \((Neg|Abs)\)"):
        load(model)
