"""Saving at an older operator set: nodes take their older form, or the form of their function body, or there is an error."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from sardonyx.errors import InvalidInput, InvalidModel
from sardonyx.ir.load import load
from sardonyx.ir.save import to_proto

rng = np.random.default_rng(0)
X = rng.normal(size=(2, 4, 6)).astype(np.float32)
IMAGE = rng.normal(size=(1, 4, 6, 6)).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def floats(*values):
    return np.array(values, np.float32)


# operator, opset, data, constants, attributes, opset to write, operators written (the oldest form that onnx.reference runs)
CASES = [
    ("Squeeze", 21, X[:, None], [ints(1)], {}, 11, "Squeeze"),
    ("Unsqueeze", 21, X, [ints(-1)], {}, 9, "Unsqueeze"),
    ("ReduceSum", 13, X, [ints(1)], {"keepdims": 0}, 11, "ReduceSum"),
    ("ReduceMean", 18, X, [ints(-1)], {}, 9, "ReduceMean"),
    ("ReduceMax", 20, X, [], {}, 12, "ReduceMax"),
    ("Reshape", 21, X, [ints(0, -1)], {}, 5, "Reshape"),
    ("Shape", 21, X, [], {"start": 1, "end": -1}, 13, "Shape Slice"),
    ("Slice", 13, X, [ints(1), ints(9), ints(-2)], {}, 9, "Slice"),
    ("Split", 18, X, [ints(1, 5)], {"axis": 2}, 2, "Split"),
    ("Split", 18, X, [], {"axis": 2, "num_outputs": 2}, 13, "Split"),
    ("TopK", 11, X, [ints(2)], {"axis": 1}, 9, "TopK"),
    ("Clip", 13, X, [floats(-0.5)[0], floats(0.5)[0]], {}, 6, "Clip"),
    ("Pad", 21, X, [ints(1, 2), floats(7)[0], ints(-1)], {}, 10, "Pad"),
    ("DFT", 20, X[..., None], [None, np.array(-3)], {}, 17, "DFT"),
    ("Softmax", 13, X, [], {"axis": -1}, 11, "Softmax"),
    ("LogSoftmax", 13, X, [], {"axis": 1}, 11, "Transpose LogSoftmax Transpose"),
    ("Hardmax", 13, X, [], {"axis": 0}, 11, "Transpose Hardmax Transpose"),
    ("Dropout", 22, X, [floats(0.25)[0]], {}, 7, "Dropout"),
    ("Cast", 21, X, [], {"to": 6}, 9, "Cast"),
    ("LpPool", 22, IMAGE, [], {"kernel_shape": [2, 2], "dilations": [1, 1]}, 11, "LpPool"),
    ("AveragePool", 22, IMAGE, [], {"kernel_shape": [2, 2], "dilations": [1, 1]}, 11, "AveragePool"),
    ("Mod", 28, X, [floats(0.75)[0]], {"fmod": 1}, 13, "Mod"),
    ("Gemm", 13, X[0], [rng.normal(size=(6, 3)).astype(np.float32), floats(1, 2, 3)], {}, 6, "Gemm"),
    ("Add", 14, X, [floats(1, 2, 3, 4, 5, 6)], {}, 6, "Add"),
    ("Max", 13, X, [X * 2], {}, 6, "Max"),
    ("PRelu", 16, X, [rng.normal(size=(4, 1)).astype(np.float32)], {}, 6, "PRelu"),
    ("Gelu", 20, X, [], {}, 17, None),
    ("LayerNormalization", 17, X, [floats(1, 2, 3, 4, 5, 6)], {}, 13, None),
    ("GroupNormalization", 21, IMAGE, [floats(1, 2, 3, 4), floats(0, 1, 0, 1)], {"num_groups": 2}, 13, None),
    ("HardSwish", 14, X, [], {}, 11, "HardSigmoid Mul"),
    ("Celu", 28, X, [], {"alpha": 0.5}, 11, None),
    ("CastLike", 25, X, [np.zeros(1, np.float64)], {}, 9, "Cast"),
    ("QuantizeLinear", 25, X, [floats(0.1)[0]], {"output_dtype": 3}, 19, "QuantizeLinear"),
]


def written(model, opset):
    proto = to_proto(load(model), opset=opset)
    assert {o.domain: o.version for o in proto.opset_import} == {"": opset}
    return proto


@pytest.mark.parametrize(("op", "opset", "x", "constants", "attrs", "to", "ops"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_older_forms_compute_the_same(tools, op, opset, x, constants, attrs, to, ops):
    names = ["x", *("" if c is None else f"c{i}" for i, c in enumerate(constants))]
    given = {f"c{i}": c for i, c in enumerate(constants) if c is not None}
    outputs = ["y", "z"] if op in ("Split", "TopK") else ["y"]
    model = tools.one_node(op, {"x": x}, opset, given, names, outputs, **attrs)
    proto = written(model, to)
    if ops is not None:
        assert [n.op_type for n in proto.graph.node] == ops.split()
    if op == "PRelu":  # nothing else runs the old form: a slope for each channel has rank 1
        assert [list(t.dims) for t in proto.graph.initializer] == [[4]]
        return
    for got, right in zip(tools.reference(proto, {"x": x}), tools.reference(model, {"x": x}), strict=True):
        assert np.asarray(got).dtype == np.asarray(right).dtype
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)


def test_batch_normalization(tools):
    """onnx.reference takes version 9 for training wherever momentum is known, so onnxruntime judges."""
    parts = {k: np.abs(rng.normal(size=4)).astype(np.float32) for k in "sbmv"}
    model = tools.one_node("BatchNormalization", {"x": IMAGE}, 15, parts)
    want = tools.onnxruntime(model, {"x": IMAGE})
    np.testing.assert_allclose(tools.onnxruntime(written(model, 9), {"x": IMAGE})[0], want[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(("to", "op"), [(18, "Resize"), (13, "Resize"), (11, "Resize"), (10, "Resize"), (9, "Upsample"), (7, "Upsample")])
def test_resize(tools, mode, to, op):
    attrs = {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    constants = {"s": floats(2, 1.5)}
    model = tools.one_node("Resize", {"x": IMAGE}, 19, constants, ["x", "", "s"], axes=[2, 3], **attrs)
    want = tools.onnxruntime(model, {"x": IMAGE})
    proto = written(model, to)
    assert [n.op_type for n in proto.graph.node] == [op]
    np.testing.assert_allclose(tools.onnxruntime(proto, {"x": IMAGE})[0], want[0], rtol=1e-5)


def test_what_upgrading_did_is_undone(tools):
    """A softmax over a flattened input, a mask, a Scatter: at the model's own operator set they are as before."""
    nodes = [
        helper.make_node("Softmax", ["x"], ["a"], axis=1),
        helper.make_node("Dropout", ["a"], ["b"], ratio=0.5),
        helper.make_node("Squeeze", ["b"], ["c"], axes=[0]),
        helper.make_node("Upsample", ["c", "s"], ["y"], mode="nearest"),
    ]
    x = rng.normal(size=(1, 1, 2, 3, 3)).astype(np.float32)
    model = tools.model_of(nodes, {"x": x}, ["y"], 9, {"s": floats(1, 1, 2, 2)})
    want = tools.onnxruntime(model, {"x": x})
    np.testing.assert_allclose(tools.onnxruntime(written(model, 9), {"x": x})[0], want[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("op", "opset", "feeds", "attrs", "to", "why"),
    [
        ("Trilu", 14, {"x": X}, {}, 13, "no such operator"),
        ("ReduceSum", 13, {"x": X, "axes": ints(1)}, {}, 11, "axes is computed while running"),
        ("Cast", 21, {"x": X}, {"to": 17}, 13, "tensor\\(float8e4m3fn\\)"),
        ("Resize", 19, {"x": IMAGE, "r": floats(), "s": floats(1, 1, 2, 2)}, {"antialias": 1, "mode": "linear"}, 17, "antialias"),
        ("Mod", 28, {"x": X, "d": X}, {}, 17, "floats"),
        ("OneHot", 11, {"i": ints(1), "d": np.array(3), "v": floats(0, 1)}, {}, 9, "negative index"),
        ("Add", 14, {"a": X, "b": X[:1]}, {}, 6, "does not know"),
    ],
)
def test_what_has_no_older_form_is_named(tools, op, opset, feeds, attrs, to, why):
    model = tools.one_node(op, feeds, opset, **attrs)
    with pytest.raises(InvalidModel, match=f"opset {to}: node 'n' .*{why}"):
        to_proto(load(model), opset=to)


def test_kept_nodes_keep_the_models_opset(tools):
    """A node without newer form holds the others back, if nothing is said."""
    nodes = [helper.make_node("OneHot", ["i", "d", "v"], ["a"]), helper.make_node("Squeeze", ["a"], ["y"], axes=[0])]
    feeds = {"i": ints(1), "d": np.array(3), "v": floats(0, 1)}
    loaded = load(tools.model_of(nodes, feeds, ["y"], 9))
    assert [n.since for n in loaded.graph.nodes] != [9, 1]
    proto = to_proto(loaded)
    assert proto.opset_import[0].version == 9
    np.testing.assert_array_equal(tools.onnxruntime(proto, feeds)[0], [0, 1, 0])
    with pytest.raises(InvalidModel, match="kept at version 9"):
        to_proto(loaded, opset=13)


def test_saving_does_not_change_the_model(tools):
    loaded = load(tools.one_node("Squeeze", {"x": X[:, None]}, 13, {"axes": ints(1)}))
    node = loaded.graph.nodes[0]
    before = (node.since, len(node.inputs), dict(node.attrs))
    to_proto(loaded, opset=11)
    assert (node.since, len(node.inputs), dict(node.attrs)) == before


@pytest.mark.parametrize("opset", [0, -1, 10**6])
def test_opsets_that_do_not_exist(tools, opset):
    with pytest.raises(InvalidInput, match=f"opset {opset}"):
        to_proto(load(tools.one_node("Relu", {"x": X}, 14)), opset=opset)


def test_bodies_are_lowered(tools):
    body = helper.make_graph([helper.make_node("Squeeze", ["x", "axes"], ["t"])], "t", [], [helper.make_tensor_value_info("t", 1, None)])
    other = helper.make_graph([helper.make_node("Gelu", ["z"], ["e"])], "e", [], [helper.make_tensor_value_info("e", 1, None)])
    nodes = [helper.make_node("Squeeze", ["x", "axes"], ["z"]), helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other)]
    x = X[None]
    feeds = {"x": x, "c": np.array(False)}
    model = tools.model_of(nodes, feeds, ["y"], 20, {"axes": ints(0)})
    got = tools.onnxruntime(written(model, 11), feeds)
    np.testing.assert_allclose(got[0], tools.reference(model, feeds)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("rank", ["known", "unknown"])
def test_a_flattened_softmax_of_dynamic_shape_is_put_back(tools, op, rank):
    model = tools.one_node(op, {"x": X}, 11, axis=1)
    t = model.graph.input[0].type.tensor_type
    if rank == "unknown":
        t.ClearField("shape")
    else:
        for d in t.shape.dim:
            d.dim_param = "n"
    want = tools.onnxruntime(model, {"x": X})
    proto = written(model, 11)
    assert [(n.op_type, n.attribute[0].i) for n in proto.graph.node] == [(op, 1)]
    np.testing.assert_allclose(tools.onnxruntime(proto, {"x": X})[0], want[0], rtol=1e-5)
    with pytest.raises(InvalidModel, match="kept at version 11"):
        to_proto(load(model), opset=13)


def test_parts_of_a_split_that_are_empty_stay_so(tools):
    x = floats(1, 2, 3, 4, 5)
    model = tools.one_node("Split", {"x": x}, 18, {}, ["x"], ["a", "b", "c", "d"], axis=0, num_outputs=4)
    assert [p.size for p in tools.reference(written(model, 13), {"x": x})] == [2, 2, 1, 0]
