import importlib.util

import numpy as np
import pytest

import sardonyx
from sardonyx.errors import InvalidInput
from sardonyx.tools.branches import take_branches
from sardonyx.tools.engines import ENGINES as ENGINES_TABLE
from sardonyx.tools.engines import open_engine

ENGINES = ["onnx.reference", "cpu", "sardonyx:cpu"] + [n for n in ("onnxruntime", "openvino") if importlib.util.find_spec(n)]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_tensor_agrees_with_every_engine(mlp, feeds, engine):
    result = sardonyx.compare(mlp, feeds, providers=["cpu"], against=engine)
    assert result.ok
    assert [r.tensor for r in result.rows] == ["p", "q", "r", "s", "t", "u", "v", "y"]
    assert "8 tensors agree" in str(result)


def test_tensors_that_are_fused_away_come_from_a_second_plan(mlp, feeds):
    rows = {r.tensor: r.as_run for r in sardonyx.compare(mlp, feeds, providers=["cpu"], against="onnx.reference").rows}
    assert not rows["t"]
    assert rows["u"]
    kept = sardonyx.compare(mlp, feeds, providers=["cpu"], against="onnx.reference", tensors="kept")
    assert [r.tensor for r in kept.rows] == [t for t, as_run in rows.items() if as_run]
    outputs = sardonyx.compare(mlp, feeds, providers=["cpu"], against="onnx.reference", tensors="outputs")
    assert [r.tensor for r in outputs.rows] == ["y"]


@pytest.mark.usefixtures("broken_provider")
def test_the_first_difference_is_explained(mlp, feeds):
    result = sardonyx.compare(mlp, feeds, providers=["wrong", "cpu"], against="onnx.reference")
    assert not result.ok
    first = result.first
    assert (first.tensor, first.node, first.op, first.ep) == ("y", "tanh_y", "Tanh", "wrong")
    text = result.explanation()
    assert "'y' (float[3, 4]) of node 'tanh_y' (Tanh) on wrong" in text
    assert "it reads 'v' (float[3, 4]), which agrees" in text
    assert "from node 'exp_v' (Exp)" in text


@pytest.mark.usefixtures("broken_pass")
def test_a_broken_pass_shows_where_it_hits(mlp, feeds):
    result = sardonyx.compare(mlp, feeds, providers=["cpu"], against="onnx.reference")
    assert [r.tensor for r in result.rows if not r.difference.ok] == ["v", "y"]


@pytest.mark.usefixtures("broken_rules")
def test_a_provider_that_is_wrong_only_at_level_all(chain):
    x = {"x": np.array([1, -2, 3], np.float32)}
    result = sardonyx.compare(chain, x, providers=["hasty", "cpu"], against="onnx.reference")
    assert (result.first.tensor, result.first.ep) == ("q", "hasty")
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    assert sardonyx.compare(chain, x, providers=["hasty", "cpu"], against="onnx.reference", options=options).ok


def test_tolerances_decide(mlp, feeds):
    loose = sardonyx.compare(mlp, feeds, providers=["cpu"], against="onnx.reference", rtol=1, atol=1)
    assert loose.ok
    with pytest.raises(InvalidInput, match="every, kept, outputs"):
        sardonyx.compare(mlp, feeds, against="onnx.reference", tensors="some")
    with pytest.raises(InvalidInput, match="no engine is called 'abacus'"):
        sardonyx.compare(mlp, feeds, against="abacus")


@pytest.mark.parametrize(("c", "inner"), [(True, "a"), (False, "b")])
def test_the_branch_that_is_taken_can_be_looked_into(branches, c, inner):
    feeds = {"c": np.array(c), "x": np.array([1, 2], np.float32)}
    result = sardonyx.compare(branches, feeds, providers=["cpu"], against="onnx.reference", inside=True)
    assert result.ok
    assert any(r.tensor.endswith(inner) for r in result.rows)
    assert "If" not in {r.op for r in result.rows}


def test_branches_within_branches(build):
    model = build(
        """<ir_version: 8, opset_import: ["": 17]> g (bool c, float[N] x) => (float[N] y) {
        y = If(c) <then_branch = t () => (float[N] a) {
            n = Not(c)
            a = If(n) <then_branch = p () => (float[N] u) { u = Exp(x) }, else_branch = q () => (float[N] v) { v = Sin(x) }>
        }, else_branch = f () => (float[N] b) { b = Cos(x) }>
    }"""
    )
    feeds = {"c": np.array(True), "x": np.array([1, 2], np.float32)}
    taken = take_branches(lambda m: sardonyx.InferenceSession(m, providers=["cpu"]), model, feeds)
    assert {n.op_type for n in taken.graph.node} >= {"Sin"}
    assert not {n.op_type for n in taken.graph.node} & {"If", "Exp", "Cos"}
    np.testing.assert_allclose(open_engine("onnx.reference", taken).run(None, feeds)[0], np.sin(feeds["x"]), rtol=1e-6)


def test_random_feeds_where_none_are_given(chain):
    assert sardonyx.compare(chain, providers=["cpu"], against="onnx.reference").ok


def test_a_model_in_a_file_with_external_data(tmp_path, mlp, feeds):
    import onnx

    onnx.save(mlp, tmp_path / "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=0)
    assert sardonyx.compare(tmp_path / "m.onnx", feeds, providers=["cpu"], against="onnx.reference").ok


@pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed")
def test_models_over_the_size_of_one_message_go_through_a_file(mlp, feeds, monkeypatch):
    monkeypatch.setattr("sardonyx.tools.engines.INLINE_LIMIT", 0)
    assert sardonyx.compare(mlp, feeds, providers=["cpu"], against="onnxruntime").ok


def test_an_engine_that_cannot_run_the_model_is_named(mlp):
    with pytest.raises(sardonyx.SardonyxError, match=r"onnx\.reference cannot run the model"):
        open_engine("onnx.reference", mlp).run(None, {"x": np.zeros((1, 5), np.float32)})


def test_an_engine_that_is_not_installed_says_how_to_get_it(monkeypatch, mlp):
    monkeypatch.setitem(ENGINES_TABLE, "nothing.at.all", ("nothing", None))
    with pytest.raises(InvalidInput, match=r"nothing\.at\.all is not installed: pip install nothing"):
        open_engine("nothing.at.all", mlp)
