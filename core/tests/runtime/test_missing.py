import numpy as np
import pytest
from onnx import helper

import sardonyx
from sardonyx.errors import InvalidInput


@pytest.mark.parametrize("source", ["path", "bytes", "proto"])
def test_an_optional_output_that_loading_left_out(make_model, tmp_path, source):
    nodes = [helper.make_node("Dropout", ["x"], ["d", "mask"], name="drop"), helper.make_node("Relu", ["d"], ["y"])]
    model = make_model(nodes, ["x"], ["y"], opset=9)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    given = {"path": str(tmp_path / "m.onnx"), "bytes": model.SerializeToString(), "proto": model}[source]
    session = sardonyx.InferenceSession(given, providers=["cpu"])
    with pytest.raises(InvalidInput, match=r"no tensor 'mask' once it is loaded.*output 1 of node 'drop' \(Dropout\)"):
        session.run(["mask"], {"x": np.ones(2, np.float32)})


def test_a_tensor_of_a_body(make_model):
    value = helper.make_tensor_value_info
    inner = helper.make_graph([helper.make_node("Abs", ["x"], ["deep"], name="inner")], "b", [], [value("deep", 1, None)])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["z"])], "b", [], [value("z", 1, None)])
    nodes = [helper.make_node("If", ["c"], ["y"], name="choice", then_branch=inner, else_branch=other)]
    model = make_model(nodes, ["x", value("c", 9, [])], ["y"])
    session = sardonyx.InferenceSession(model, providers=["cpu"])
    with pytest.raises(InvalidInput, match=r"'deep': it is of node 'inner' \(Abs\) in a body of node 'choice' \(If\)"):
        session.run(["deep"], {"x": np.ones(2, np.float32), "c": np.array(True)})


def test_a_name_that_is_nearly_right(make_model):
    model = make_model([helper.make_node("Relu", ["x"], ["hidden_state"]), helper.make_node("Abs", ["hidden_state"], ["y"])], ["x"], ["y"])
    session = sardonyx.InferenceSession(model, providers=["cpu"])
    with pytest.raises(InvalidInput, match=r"no tensor 'hiden_state'; its outputs are \['y'\]; did you mean 'hidden_state'\?"):
        session.run(["hiden_state"], {"x": np.ones(2, np.float32)})
