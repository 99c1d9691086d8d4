"""Values of attributes that ONNX defines."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, defs, helper

import sardonyx
from sardonyx.errors import NotSupported
from sardonyx.ir.attribute_values import _NAMED, _TYPES, undefined_attribute
from sardonyx.ir.functions import expand
from sardonyx.ir.load import load
from sardonyx.ir.schema import newest

X = np.ones((1, 4, 2, 2), np.float32)
UNDEFINED = [
    ("Attention", [X, X, X], {"qk_matmul_output_mode": 4}, "qk_matmul_output_mode=4 is none of 0, 1, 2, 3"),
    ("Attention", [X, X, X], {"softmax_precision": 7}, "softmax_precision=7 is the number of no floating-point type"),
    ("Celu", [X], {"alpha": -1.0}, "alpha=-1.0 is negative"),
    ("DepthToSpace", [X], {"blocksize": 2, "mode": "RCD"}, "mode='RCD' is none of DCR, CRD"),
    ("Gelu", [X], {"approximate": "erf"}, "approximate='erf' is none of none, tanh"),
    ("HannWindow", [np.array(4)], {"output_datatype": 99}, "output_datatype=99 is the number of no element type"),
    ("NegativeLogLikelihoodLoss", [X, np.ones((1, 2, 2), np.int64)], {"reduction": "avg"}, "reduction='avg' is none of none, mean, sum"),
    ("SoftmaxCrossEntropyLoss", [X, np.ones((1, 2, 2), np.int64)], {"reduction": ""}, "reduction='' is none of none, mean, sum"),
    ("RMSNormalization", [X, X[0, 0, 0]], {"stash_type": -1}, "stash_type=-1 is the number of no floating-point type"),
]


@pytest.mark.parametrize(("op", "inputs", "attrs", "words"), UNDEFINED, ids=lambda v: v if isinstance(v, str) else "")
def test_a_node_whose_meaning_is_undefined_has_no_body(tools, op, inputs, attrs, words):
    feeds = {f"i{i}": x for i, x in enumerate(inputs)}
    graph = load(tools.one_node(op, feeds, newest("", op), **attrs)).graph
    assert words in undefined_attribute(graph.nodes[0])
    assert expand(graph.nodes[0]) is None
    assert [n.op for n in graph.nodes] == [op]


@pytest.mark.parametrize(
    ("op", "attrs"), [("Celu", {"alpha": "wide"}), ("Gelu", {"approximate": "erf"}), ("Mine", {"dtype": [1, 2]}), ("Mine", {"dtype": 99})]
)
def test_attributes_of_operators_that_are_not_onnx_s_mean_what_their_owners_say(op, attrs):
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], domain="mine", **attrs)], "g", [x], [y])
    sets = [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)]
    model = helper.make_model(graph, opset_imports=sets, ir_version=9).SerializeToString()
    assert undefined_attribute(load(model).graph.nodes[0]) is None
    with pytest.raises(NotSupported, match=f"does not define mine::{op}"):
        sardonyx.InferenceSession(model, providers=["cpu"])


def test_defaults_are_defined():
    for s in defs.get_all_schemas():
        for name, allowed in _NAMED.get(s.name, {}).items() if not s.domain else ():
            default = s.attributes[name].default_value
            assert (default.s.decode() or default.i) in allowed


def test_every_attribute_of_a_type_is_known():
    """Operators with bodies name element types in these attributes only."""
    found = {
        name
        for s in defs.get_all_schemas()
        if s.has_function or s.has_context_dependent_function
        for name in s.attributes
        if "type" in name or "precision" in name
    }
    assert found == set(_TYPES)
