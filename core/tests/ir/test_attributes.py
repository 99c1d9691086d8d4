"""Attribute values between protos and Python."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import AttributeProto, GraphProto, TypeProto, helper, numpy_helper

from sardonyx.errors import InternalError, InvalidModel
from sardonyx.ir.attributes import attribute_from_proto, attribute_to_proto, kind_of
from sardonyx.ir.schema import schema
from sardonyx.ir.types import SequenceType, TensorType

TYPE = SequenceType(TensorType(np.dtype(np.float32), (2,)))


@pytest.mark.parametrize("value", [3, -(2**63), 1.5, "text", "", "\udcff", [1, 2], [0.5, 2.0], ["a", "b"], TYPE, [TYPE, TYPE]], ids=repr)
def test_values_come_back(value):
    p = attribute_to_proto("a", value, None)
    assert attribute_from_proto(p, "here") == value
    assert p.type == kind_of(value)


def test_tensors_come_back():
    array = np.arange(6, dtype=np.int64).reshape(2, 3)
    np.testing.assert_array_equal(attribute_from_proto(attribute_to_proto("a", array, None), "here"), array)
    got = attribute_from_proto(attribute_to_proto("a", [array, array[0]], None), "here")
    assert [g.shape for g in got] == [(2, 3), (3,)]


def test_sparse_tensors_become_dense():
    values, at = numpy_helper.from_array(np.float32([7]), "v"), numpy_helper.from_array(np.array([1]))
    p = helper.make_attribute("a", helper.make_sparse_tensor(values, at, [3]))
    assert attribute_from_proto(p, "here").tolist() == [0, 7, 0]


def test_the_schema_decides_the_type():
    elu, rnn = schema("", "Elu", 22), schema("", "RNN", 22)
    assert attribute_to_proto("alpha", 2, elu).type == AttributeProto.FLOAT
    assert attribute_to_proto("activation_alpha", [1, 2], rnn).floats == [1, 2]
    assert attribute_to_proto("activations", [], rnn).type == AttributeProto.STRINGS
    assert attribute_to_proto("hidden_size", np.int64(4), rnn).i == 4


def test_missing_types_are_read_off_the_field():
    p = AttributeProto(name="a", ints=[1, 2])
    assert attribute_from_proto(p, "here") == [1, 2]
    for broken in (AttributeProto(name="a"), AttributeProto(name="a", i=1, f=2.0), AttributeProto(name="a", g=GraphProto())):
        with pytest.raises(InvalidModel, match="here: attribute 'a'"):
            attribute_from_proto(broken, "here")


def test_what_is_no_attribute():
    with pytest.raises(InternalError, match="object"):
        kind_of(object())


def test_a_type_that_says_nothing_is_refused():
    p = AttributeProto(name="axis", type=AttributeProto.TYPE_PROTO, tp=TypeProto())
    with pytest.raises(InvalidModel, match="'axis' is a type that says nothing"):
        attribute_from_proto(p, "here")
