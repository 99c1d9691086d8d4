import importlib.util
import os

import numpy as np
import onnx
import pytest

import sardonyx
from sardonyx.errors import InvalidInput
from sardonyx.runtime.session import InferenceSession
from sardonyx.tools.compare import compare


def loads_everywhere(path, inputs):
    """onnx's checker and onnxruntime take what was written; returns onnxruntime's outputs, or None without it."""
    onnx.checker.check_model(str(path), full_check=True)
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def test_nothing_differs(mlp, feeds):
    found = sardonyx.bisect(mlp, feeds, providers=["cpu"])
    assert found.ok
    assert "nothing differs from the unoptimized run" in str(found)


@pytest.mark.usefixtures("broken_pass")
def test_a_piece_never_stands_beside_the_inputs_of_another(tmp_path, mlp, feeds, interrupted_before):
    def piece():
        return sardonyx.bisect(mlp, feeds, providers=["cpu"], out=tmp_path / "smallest.onnx").files

    files = piece()
    with interrupted_before(".npz"):
        piece()
    assert os.listdir(tmp_path) == ["smallest.onnx"]
    assert piece() == files == [str(tmp_path / "smallest.onnx"), str(tmp_path / "smallest.npz")]


@pytest.mark.parametrize("against", [None, "onnx.reference"])
def test_a_broken_pass(tmp_path, mlp, feeds, broken_pass, against):
    out = tmp_path / "smallest.onnx"
    found = sardonyx.bisect(mlp, feeds, providers=["cpu"], against=against, out=out)
    assert found.kind == "edit"
    assert (found.edit.rule, found.edit.step, found.edit.op, found.edit.node) == (broken_pass, broken_pass, "Exp", "exp_v")
    assert found.nodes == ["exp_v"]
    assert "'u' is float[3, 4], from node 'mul_u' (Mul)" in found.explanation()
    with np.load(tmp_path / "smallest.npz") as inputs:
        fed = dict(inputs)
    loads_everywhere(out, fed)
    assert not compare(str(out), fed, providers=["cpu"], against="onnx.reference").ok


def test_a_session_keeps_its_level_when_it_compiles_again(mlp, feeds, broken_pass, monkeypatch):
    """The values that the smallest model is fed with come from a plan for internal tensors of the unoptimized session."""
    levels = {}
    compiled = InferenceSession._compile

    def compile(self, model):
        levels.setdefault(self, []).append(self._options.level)
        return compiled(self, model)

    monkeypatch.setattr(InferenceSession, "_compile", compile)
    sardonyx.bisect(mlp, feeds, providers=["cpu"])
    assert max(map(len, levels.values())) > 1
    assert all(len(set(of_one)) == 1 for of_one in levels.values())


def test_the_culprit_is_one_of_many_edits(mlp, feeds, broken_pass):
    found = sardonyx.bisect(mlp, feeds, providers=["cpu"])
    assert 1 < found.number <= found.edits
    options = sardonyx.SessionOptions()
    options.disabled_optimizers = {found.edit.rule}
    fixed = InferenceSession(mlp, options, ["cpu"]).run(None, feeds)
    plain = sardonyx.SessionOptions()
    plain.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    np.testing.assert_allclose(fixed, InferenceSession(mlp, plain, ["cpu"]).run(None, feeds), rtol=1e-5)


def test_a_broken_provider(tmp_path, mlp, feeds, broken_provider):
    out = tmp_path / "smallest.onnx"
    found = sardonyx.bisect(mlp, feeds, providers=[broken_provider, "cpu"], against="onnx.reference", out=out)
    assert found.kind == "node"
    assert (found.nodes, found.operators) == (["tanh_y"], ["Tanh"])
    assert found.output == "y"
    with np.load(tmp_path / "smallest.npz") as inputs:
        fed = dict(inputs)
    outputs = loads_everywhere(out, fed)
    if outputs is not None:
        np.testing.assert_allclose(outputs[0], np.tanh(fed["v"]), rtol=1e-5)


def test_a_rule_of_a_provider(chain, broken_rules):
    x = {"x": np.array([0.5, -1], np.float32)}
    found = sardonyx.bisect(chain, x, providers=[broken_rules, "cpu"])
    assert found.kind == "edit"
    assert (found.edit.rule, found.edit.step, found.edit.node) == ("abs_is_neg", "", "abs_q")
    assert "rule 'abs_is_neg' of the provider at node 'abs_q' (Abs)" in str(found)
    assert found.nodes == ["abs_q"]


def test_a_wrong_branch_keeps_its_outer_values(tmp_path, branches, plugin):
    from sardonyx.ep import KernelSet, Provider, ProviderInfo

    kernels = KernelSet()
    kernels.add("Add")(lambda xp, a, b: a - b)

    class Wrong(Provider):
        pass

    Wrong.kernels = kernels
    plugin("wrong_add", sardonyx_provider=lambda: ProviderInfo(name="wrong_add", create=Wrong, priority=-1))
    feeds = {"c": np.array(True), "x": np.array([1, 2], np.float32)}
    out = tmp_path / "smallest.onnx"
    found = sardonyx.bisect(branches, feeds, providers=["wrong_add", "cpu"], against="onnx.reference", out=out)
    assert found.kind == "node"
    assert found.nodes == ["if_e"]
    assert set(found.inputs) == {"c", "d"}
    with np.load(tmp_path / "smallest.npz") as inputs:
        loads_everywhere(out, dict(inputs))
    inside = sardonyx.bisect(branches, feeds, providers=["wrong_add", "cpu"], against="onnx.reference", inside=True)
    assert inside.operators == ["Add"]


def test_a_difference_that_needs_two_nodes(build, plugin):
    """A rule that fires on a pair only: the smallest model is the pair."""
    from sardonyx.ep import Provider, ProviderInfo, Refusal
    from sardonyx.passes.rules import Edit, rule

    @rule("Cos")
    def cos_of_sin(node, graph):
        sin = node.inputs[0].producer
        if sin is None or sin.op != "Sin":
            return None
        edit = Edit(node)
        return edit.replace(node.outputs[0], edit.add("Cos", [sin.inputs[0]]))

    class Nothing(Provider):
        def claim(self, graph):
            return dict.fromkeys(graph.nodes, Refusal("it takes nothing"))

    plugin("pairs", sardonyx_provider=lambda: ProviderInfo(name="pairs", create=Nothing), sardonyx_passes=lambda: [cos_of_sin])
    body = " ".join(f"t{i + 1} = {op}(t{i})" for i, op in enumerate(["Exp", "Tanh", "Abs", "Sin", "Cos", "Exp", "Tanh"]))
    model = build(f'<ir_version: 8, opset_import: ["": 17]> g (float[N] t0) => (float[N] t7) {{ {body} }}')
    found = sardonyx.bisect(model, {"t0": np.array([0.3, 2], np.float32)}, providers=["cpu"])
    assert found.edit.rule == "cos_of_sin"
    assert found.nodes == ["sin_t4", "cos_t5"]


def test_no_folder_to_write_to(mlp, feeds):
    with pytest.raises(InvalidInput, match="there is no such folder"):
        sardonyx.bisect(mlp, feeds, providers=["cpu"], out="no/such/folder.onnx")
