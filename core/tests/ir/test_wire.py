"""Taking the large tensors out of a model's bytes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from sardonyx.errors import InvalidModel
from sardonyx.ir import wire

BIG = np.arange(500, dtype=np.float32)


def model(initializers=(), nodes=()):
    return helper.make_model(helper.make_graph(list(nodes), "g", [], [], list(initializers)))


def split(m):
    data = m.SerializeToString()
    skeleton, tensors = wire.split(data)
    return data, onnx.ModelProto.FromString(skeleton), tensors


def test_large_initializers_are_left_in_place():
    data, rest, (t,) = split(model([numpy_helper.from_array(BIG, "big"), numpy_helper.from_array(BIG[:3], "small")]))
    assert (t.name, t.data_type, t.dims) == ("big", 1, (500,))
    assert data[t.offset : t.offset + t.length] == BIG.tobytes()
    stub, small = rest.graph.initializer
    assert (stub.name, list(stub.dims), stub.HasField("raw_data")) == ("big", [500], False)
    assert small.raw_data == BIG[:3].tobytes()


def test_constant_nodes_become_initializers():
    value = numpy_helper.from_array(BIG, "inner")
    nodes = [helper.make_node("Constant", [], ["c"], value=value), helper.make_node("Neg", ["c"], ["y"])]
    data, rest, (t,) = split(model(nodes=nodes))
    assert data[t.offset : t.offset + t.length] == BIG.tobytes()
    assert [n.op_type for n in rest.graph.node] == ["Neg"]
    assert [i.name for i in rest.graph.initializer] == [t.name] == ["c"]


@pytest.mark.parametrize("change", ["domain", "operator", "outputs", "attribute", "reference"])
def test_other_nodes_stay(change):
    node = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(BIG))
    if change == "domain":
        node.domain = "mine"
    elif change == "operator":
        node.op_type = "Other"
    elif change == "outputs":
        node.output.append("d")
    elif change == "attribute":
        node.attribute[0].name = "other"
    else:
        node.attribute[0].ref_attr_name = "k"
    _, rest, tensors = split(model(nodes=[node]))
    assert tensors == []
    assert rest.graph.node[0] == node


def test_packed_floats_are_raw_data():
    floats = helper.make_tensor("t", onnx.TensorProto.FLOAT, [500], BIG)
    data, rest, (t,) = split(model([floats]))
    assert data[t.offset : t.offset + t.length] == BIG.tobytes()
    assert len(rest.graph.initializer[0].float_data) == 0


@pytest.mark.parametrize("kind", ["complex", "both"])
def test_other_floats_are_not(kind):
    t = helper.make_tensor("t", onnx.TensorProto.FLOAT, [500], BIG)
    if kind == "complex":
        t.data_type, t.dims[0] = onnx.TensorProto.COMPLEX64, 250
    else:
        t.raw_data = BIG.tobytes()
    _, rest, tensors = split(model([t]))
    assert tensors == []
    assert rest.graph.initializer[0] == t


def test_external_data_wins_over_raw():
    t = numpy_helper.from_array(BIG, "t")
    t.data_location = t.EXTERNAL
    _, rest, tensors = split(model([t]))
    assert tensors == []
    assert rest.graph.initializer[0] == t


def test_packed_and_repeated_dims():
    t = numpy_helper.from_array(BIG.reshape(2, 250), "t")
    assert split(model([t]))[2][0].dims == (2, 250)
    packed = t.SerializeToString().replace(b"\x08\x02\x08\xfa\x01", b"\x0a\x03\x02\xfa\x01")
    data = b"\x3a" + bytes([len(packed) + 4 & 0x7F | 0x80, len(packed) + 4 >> 7])
    graph = b"\x2a" + bytes([len(packed) & 0x7F | 0x80, len(packed) >> 7]) + packed
    data = b"\x3a" + bytes([len(graph) & 0x7F | 0x80, len(graph) >> 7]) + graph
    assert wire.split(data)[1][0].dims == (2, 250)


@pytest.mark.parametrize("data", [b"\x3a\x05ab", b"\x3b", b"\x00\x00", b"\xff" * 12, b"\x3a\x80", b"\x09ab"])
def test_broken_bytes(data):
    with pytest.raises(InvalidModel, match="ONNX"):
        wire.split(data)
