"""Loading bodies within bodies, more of them than protobuf itself builds or reads."""

import time

import onnx
import pytest
from onnx import helper

from sardonyx.errors import InvalidModel, UnreadableModel
from sardonyx.ir.load import load


def field(number, payload):
    """A field of bytes in the wire format; protobuf itself refuses to build deep messages."""
    size, length = [], len(payload)
    while length > 0x7F:
        size.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([number << 3 | 2, *size, length]) + payload


def nested(depth):
    """A model of an If in an If in an If ..., `depth` deep, as bytes."""
    value = helper.make_tensor_value_info("o", 1, [2])
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["o"])], "g", [], [value]).SerializeToString()
    leaf = onnx.AttributeProto(name="else_branch", type=onnx.AttributeProto.GRAPH, g=onnx.GraphProto.FromString(graph)).SerializeToString()
    for _ in range(depth):
        branch = onnx.AttributeProto(name="then_branch", type=onnx.AttributeProto.GRAPH).SerializeToString() + field(6, graph)
        node = onnx.NodeProto(op_type="If", input=["c"], output=["o"]).SerializeToString() + field(5, branch) + field(5, leaf)
        graph = field(1, node) + field(2, b"g") + field(12, value.SerializeToString())
    inputs = [helper.make_tensor_value_info("x", 1, [2]), helper.make_tensor_value_info("c", 9, [])]
    graph += b"".join(field(11, v.SerializeToString()) for v in inputs)
    head = onnx.ModelProto(ir_version=8, opset_import=[helper.make_opsetid("", 17)]).SerializeToString()
    return head + field(7, graph)


@pytest.mark.parametrize("depth", [5, 20, 60, 1000])
def test_deep_nesting(depth):
    start = time.perf_counter()
    if depth <= 20:
        assert len(list(load(nested(depth)).graph.walk_graphs())) == 2 * depth + 1
    else:
        with pytest.raises(InvalidModel):
            load(nested(depth))
    assert time.perf_counter() - start < 5


def test_bodies_nested_too_deep_for_protobuf():
    graph = b""
    for _ in range(60):  # a graph's node's attribute then_branch
        graph = field(1, field(4, b"If") + field(5, field(1, b"then_branch") + field(6, graph)))
    with pytest.raises(UnreadableModel, match="nested deeper than protobuf reads"):
        load(b"\x08\x08" + field(7, graph))
