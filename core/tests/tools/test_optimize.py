import importlib.util
import json
import os
import re

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import sardonyx
from sardonyx.errors import InvalidInput, InvalidModel
from sardonyx.tools.engines import open_engine
from sardonyx.tools.original import operators

REFERENCE = "onnxruntime" if importlib.util.find_spec("onnxruntime") else "onnx.reference"


def same(model, path, feeds):
    onnx.checker.check_model(str(path), full_check=True)
    want = open_engine(REFERENCE, model).run(None, feeds)
    got = open_engine(REFERENCE, str(path)).run(None, feeds)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("level", ["none", "basic", "extended", "all"])
def test_every_level_gives_the_same_results(tmp_path, mlp, feeds, level):
    result = sardonyx.optimize(mlp, tmp_path / "out.onnx", level=level)
    same(mlp, tmp_path / "out.onnx", feeds)
    assert result.nodes_before == 8
    assert result.nodes_after == sum(operators(str(tmp_path / "out.onnx")).values())
    assert (result.nodes_after < 8) == (level in ("extended", "all"))


def test_the_report_says_what_each_pass_did(tmp_path, mlp):
    result = sardonyx.optimize(mlp, tmp_path / "out.onnx")
    told = json.loads(json.dumps(result.to_dict()))
    fused = next(p for p in told["passes"] if p["name"] == "activations")
    assert fused["rules"] == {"fuse_swish": 1}
    assert fused["edits"] == 1
    assert told["operators_before"]["Sigmoid"] == 1
    assert told["files"] == {str(tmp_path / "out.onnx"): (tmp_path / "out.onnx").stat().st_size}
    assert "8 nodes became" in str(result)
    without = sardonyx.optimize(mlp, tmp_path / "out.onnx", disabled=["fuse_swish"])
    assert not any("fuse_swish" in p.rules for p in without.passes)


def test_the_opset_is_the_oldest_that_has_the_operators(tmp_path, mlp, feeds):
    assert sardonyx.optimize(mlp, tmp_path / "basic.onnx", level="basic").opset == 17
    assert sardonyx.optimize(mlp, tmp_path / "swish.onnx").opset == 24
    old = sardonyx.optimize(mlp, tmp_path / "old.onnx", opset=13)
    assert old.opset == 13
    assert onnx.load(tmp_path / "old.onnx").opset_import[0].version == 13
    assert "Swish" not in operators(str(tmp_path / "old.onnx"))
    same(mlp, tmp_path / "old.onnx", feeds)


def test_operators_that_few_runtimes_know_are_taken_apart(tmp_path, build):
    gate = """<ir_version: 8, opset_import: ["": 17]> g (float[N, 4] x, float[N, 4] z) => (float[N, 4] y) {
        s = Sigmoid(x)
        w = Mul(x, s)
        y = Mul(w, z)
    }"""
    result = sardonyx.optimize(build(gate), tmp_path / "out.onnx")
    assert result.opset <= 24
    assert "SwiGLU" not in result.operators_after


def test_external_data(tmp_path, mlp, feeds):
    big = onnx.ModelProto()
    big.CopyFrom(mlp)
    for t in big.graph.initializer:
        if t.name == "w1":
            t.CopyFrom(numpy_helper.from_array(np.tile(numpy_helper.to_array(t), (1, 100)).astype(np.float32), "w1"))
        if t.name == "b1":
            t.CopyFrom(numpy_helper.from_array(np.tile(numpy_helper.to_array(t), 100), "b1"))
        if t.name == "w2":
            t.CopyFrom(numpy_helper.from_array(np.tile(numpy_helper.to_array(t), (100, 1)) / 100, "w2"))
    result = sardonyx.optimize(big, tmp_path / "out.onnx", external=True)
    names = [p.rpartition("/")[2] for p in result.files]
    assert names[0] == "out.onnx"
    assert re.fullmatch(r"out\.onnx\.[0-9a-f]{16}\.data", names[1])
    assert sorted(names) == sorted(os.listdir(tmp_path))
    same(big, tmp_path / "out.onnx", feeds)


@pytest.mark.parametrize("opset", [None, 9, 24])
def test_weights_that_a_node_fills_do_not_fill_the_file(tmp_path, opset):
    value = helper.make_tensor_value_info
    half = numpy_helper.from_array(np.array([0.5], np.float32))
    nodes = [helper.make_node("ConstantOfShape", ["s"], ["w"], value=half), helper.make_node("MatMul", ["x", "w"], ["p"])]
    body = helper.make_graph([helper.make_node("MatMul", ["p", "w"], ["t"])], "then", [], [value("t", 1, [2, 300])])
    other = helper.make_graph([helper.make_node("Neg", ["p"], ["e"])], "else", [], [value("e", 1, [2, 300])])
    nodes.append(helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other))
    inputs = [value("x", 1, [2, 300]), value("c", onnx.TensorProto.BOOL, [])]
    weights = [numpy_helper.from_array(np.array([300, 300]), "s")]
    graph = helper.make_graph(nodes, "g", inputs, [value("y", 1, [2, 300])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=8)
    for external in (False, True):
        result = sardonyx.optimize(model, tmp_path / "out.onnx", opset=opset, external=external)
        assert sum(result.files.values()) < 5000
        assert result.nodes_after == result.nodes_before
        for c in (True, False):
            same(model, tmp_path / "out.onnx", {"x": np.ones((2, 300), np.float32), "c": np.array(c)})


def test_control_flow_and_functions_stay_right(tmp_path, branches):
    sardonyx.optimize(branches, tmp_path / "out.onnx")
    for c in (True, False):
        same(branches, tmp_path / "out.onnx", {"c": np.array(c), "x": np.array([1, 2], np.float32)})


def test_dimensions_can_be_fixed(tmp_path, mlp):
    sardonyx.optimize(mlp, tmp_path / "out.onnx", dims={"N": 3})
    assert onnx.load(tmp_path / "out.onnx").graph.input[0].type.tensor_type.shape.dim[0].dim_value == 3


def test_mistakes(tmp_path, mlp):
    onnx.save(mlp, tmp_path / "m.onnx")
    with pytest.raises(InvalidInput, match="write to another file"):
        sardonyx.optimize(tmp_path / "m.onnx", tmp_path / "m.onnx")
    with pytest.raises(InvalidInput, match=r"level is one of none, .* not 'fast'"):
        sardonyx.optimize(mlp, tmp_path / "out.onnx", level="fast")
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("GridSample", ["x", "g"], ["y"], name="sample")]
    graph = helper.make_graph(nodes, "g", [value("x", 1, [1, 1, 4, 4]), value("g", 1, [1, 2, 2, 2])], [value("y", 1, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8)
    with pytest.raises(InvalidModel, match="opset 11: node 'sample'"):
        sardonyx.optimize(model, tmp_path / "out.onnx", opset=11)
    assert not (tmp_path / "out.onnx").exists()


def test_a_session_writes_what_others_load(tmp_path, mlp, feeds):
    options = sardonyx.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "out.onnx")
    sardonyx.InferenceSession(mlp, options, ["cpu"])
    same(mlp, tmp_path / "out.onnx", feeds)
