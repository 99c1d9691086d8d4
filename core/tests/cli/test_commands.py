import importlib.util
import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

from sardonyx.cli.app import COMMANDS
from sardonyx.ep import custom_op


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(cli, command):
    result = cli(command, "--help")
    assert result.status == 0
    assert f"  sardonyx {command} " in result.out + " " or f"  sardonyx {command}\n" in result.out
    assert "--json" in result.out


def test_help_lists_every_command(cli):
    out = cli("--help").out
    assert all(f"  {name} " in out for name in COMMANDS)


def test_version(cli):
    import sardonyx

    assert cli("--version").out == f"sardonyx {sardonyx.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["providers"],
        ["info", "digits.onnx"],
        ["check", "digits.onnx"],
        ["run", "digits.onnx", "--ep", "cpu"],
        ["explain", "digits.onnx"],
        ["bench", "digits.onnx", "--seconds", "0.1"],
        ["profile", "digits.onnx", "--runs", "2"],
        ["compare", "digits.onnx", "--against", "onnx.reference"],
        ["bisect", "digits.onnx"],
        ["optimize", "digits.onnx", "out.onnx", "--verify", "onnx.reference"],
        ["demo"],
    ],
    ids=lambda a: a[0],
)
def test_json_is_one_document(cli, folder, arguments):
    result = cli(*arguments, "--json")
    assert result.status == 0
    assert isinstance(json.loads(result.out), dict)


def test_demo_is_right_about_every_picture(cli):
    for digit in range(10):
        result = cli("demo", "--picture", str(digit), "--ep", "cpu", "--json")
        facts = json.loads(result.out)
        assert (result.status, facts["answer"], facts["label"]) == (0, digit, digit)


def test_demo_shows_picture_answer_placement_and_time(cli):
    out = cli("demo", "--ep", "cpu").out
    assert "@@" in out
    assert "This is a 7 (" in out
    assert "13 nodes: cpu 100%" in out
    assert "loaded in " in out


def test_run_saves_what_it_shows(cli, folder):
    result = cli(
        "run", "digits.onnx", "--ep", "cpu", "-i", "digits.npy", "--outputs", "logits,probabilities", "--save", "out.npz", "--json"
    )
    shown = json.loads(result.out)["outputs"]
    with np.load("out.npz") as saved:
        assert saved.files == ["logits", "probabilities"]
        np.testing.assert_array_equal(saved["probabilities"].argmax(1), range(10))
        np.testing.assert_allclose(shown["logits"]["values"], saved["logits"], rtol=1e-6)
    assert shown["logits"]["shape"] == [10, 10]


def test_run_takes_back_its_own_output_file(cli, folder):
    np.savez("in.npz", image=np.load("digit.npy"))
    from_npz = cli("run", "digits.onnx", "-i", "in.npz", "--json").out
    from_npy = cli("run", "digits.onnx", "-i", "image=digit.npy", "--json").out
    assert json.loads(from_npz)["outputs"] == json.loads(from_npy)["outputs"]


def test_random_inputs_follow_seed_and_dims(cli, folder):
    first, again, other = (
        json.loads(cli("run", "digits.onnx", "--ep", "cpu", "--dims", "batch=3", "--seed", seed, "--json").out)["outputs"]["probabilities"]
        for seed in ("1", "1", "2")
    )
    assert first == again != other
    assert first["shape"] == [3, 10]


def test_random_inputs_are_mentioned_unless_asked_for(cli, folder):
    assert "input 'image' is random" in cli("run", "digits.onnx").err
    assert cli("run", "digits.onnx", "--random").err == ""


def test_info_counts(cli, folder):
    facts = json.loads(cli("info", "digits.onnx", "--json").out)
    assert facts["operators"]["Conv"] == 3
    assert facts["nodes"] == 13
    assert facts["parameters"] == 30795
    assert facts["parameter_bytes"] == 4 * 30795
    assert facts["inputs"] == [{"name": "image", "type": "tensor(float)", "shape": ["batch", 1, 8, 8]}]
    assert facts["opsets"] == {"ai.onnx": 17}


def test_check_lists_nodes_that_cannot_run(cli, folder):
    import onnx
    from onnx import helper

    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["x"], ["r"], name="fine"), helper.make_node("Magic", ["r"], ["y"], name="odd", domain="my.own")]
    graph = helper.make_graph(nodes, "g", [value("x", 1, [2])], [value("y", 1, [2])])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("my.own", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), "odd.onnx")
    result = cli("check", "odd.onnx", "--json")
    facts = json.loads(result.out)
    assert (result.status, facts["ok"]) == (1, False)
    assert [n["node"] for n in facts["unplaced"]] == ["odd"]
    assert "no kernel for my.own::Magic" in facts["unplaced"][0]["reasons"]["cpu"]
    assert "odd" in cli("check", "odd.onnx").out


def test_explain_writes_html(cli, folder):
    assert cli("explain", "digits.onnx", "--ep", "cpu", "--html", "placement.html").status == 0
    page = (folder / "placement.html").read_text()
    assert "conv2d_5" in page
    assert "<title>digits.onnx</title>" in page


def test_profile_writes_a_chrome_trace(cli, folder):
    result = cli("profile", "digits.onnx", "--ep", "cpu", "--runs", "3", "--trace", "trace.json", "--json")
    rows = json.loads(result.out)["nodes"]
    assert {r["calls"] for r in rows} == {3}
    events = json.loads((folder / "trace.json").read_text())
    assert len(events) == 3 * len(rows)
    assert {"name", "ph", "ts", "dur", "pid", "tid"} <= events[0].keys()


def test_profile_writes_html(cli, folder):
    assert cli("profile", "digits.onnx", "--ep", "cpu", "--random", "--runs", "2", "--html", "profile.html").status == 0
    page = (folder / "profile.html").read_text()
    assert "<title>digits.onnx</title>" in page
    assert '"runs":2' in page


@pytest.mark.usefixtures("_wrong_relu")
def test_compare_has_a_status_and_says_where(cli, folder):
    wrong = ("compare", "digits.onnx", "--ep", "wrong,cpu", "-i", "digits.npy", "--against", "onnx.reference")
    result = cli(*wrong)
    assert result.status == 1
    assert "first difference: tensor 'relu_1_out' (float[10, 16, 8, 8]) of node 'relu_1' (Relu) on wrong" in result.out
    facts = json.loads(cli(*wrong, "--json").out)
    assert (facts["ok"], facts["first"]["node"]) == (False, "relu_1")
    assert facts["differ"] == sum(not r["ok"] for r in facts["rows"])
    result = cli("compare", "digits.onnx", "--ep", "cpu", "--random", "--against", "onnx.reference", "--all")
    assert result.status == 0
    assert result.out.count("float[") == 13


@pytest.mark.usefixtures("_wrong_relu")
def test_bisect_writes_the_smallest_model(cli, folder):
    wrong = ("bisect", "digits.onnx", "--ep", "wrong,cpu", "-i", "digits.npy", "--against", "onnx.reference")
    result = cli(*wrong, "--out", "smallest.onnx")
    assert result.status == 1
    assert "culprit: a node" in result.out
    assert "wrote smallest.onnx, smallest.npz" in result.out
    assert cli("run", "smallest.onnx", "-i", "smallest.npz").status == 0


def test_bench_against_the_reference(cli, folder):
    result = cli("bench", "digits.onnx", "--ep", "cpu", "--random", "--against", "onnx.reference", "--seconds", "0.05", "--json")
    assert json.loads(result.out)["engines"][1]["difference"] < 1e-5


def test_bench_against_another_provider(cli, folder):
    result = cli("bench", "digits.onnx", "--ep", "cpu", "--against", "cpu", "--seconds", "0.2", "--max-ratio", "1000", "--json")
    ours, other = json.loads(result.out)["engines"]
    assert ours["p50"] <= ours["p90"] <= ours["p99"]
    assert other["difference"] == 0
    assert result.status == 0
    assert cli("bench", "digits.onnx", "--against", "cpu", "--seconds", "0.1", "--max-ratio", "0").status == 1


@pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed")
def test_bench_against_onnxruntime(cli, folder):
    result = cli("bench", "digits.onnx", "--ep", "cpu", "-i", "digits.npy", "--against", "onnxruntime", "--seconds", "0.2", "--json")
    other = json.loads(result.out)["engines"][1]
    assert other["engine"] == "onnxruntime"
    assert other["difference"] < 1e-5


def test_bench_ablation(cli, folder):
    arguments = ["bench", "digits.onnx", "--ep", "cpu", "-i", "digits.npy", "--threads", "1", "--seconds", "0.03", "--ablation"]
    rows = json.loads(cli(*arguments, "--json").out)["variants"]
    assert [r["variant"] for r in rows] == ["as asked for", "level extended", "level basic", "level none"]
    assert rows[0]["ratio"] == 1
    assert all(0 < r["p50"] <= r["p99"] for r in rows)
    mistake = cli(*arguments, "--against", "cpu")
    assert mistake.status == 2
    assert "one of them" in mistake.err


def test_doctor_knows_the_providers(cli):
    facts = json.loads(cli("doctor", "--json").out)
    assert "cpu" in [p["name"] for p in facts["providers"]]
    assert facts["packages"]["numpy"] == np.__version__
    assert facts["threads"]["used"] >= 1


def test_doctor_complains(monkeypatch):
    from sardonyx.cli.commands.doctor import problems
    from sardonyx.runtime.discovery import ProviderStatus

    found = problems(
        [ProviderStatus("gpu", reason="it finds no device")], {"sardonyx": "1.0.0", "sardonyx-ep-cpu": "0.9.0", "numpy": "2.0"}
    )
    assert "provider 'gpu' cannot be used: it finds no device" in found
    assert any("no execution provider can be used" in text for text in found)
    assert any("different versions: sardonyx 1.0.0, sardonyx-ep-cpu 0.9.0" in text for text in found)


def test_required_provider(cli):
    assert cli("providers", "--require", "cpu").status == 0
    result = cli("providers", "--require", "nope")
    assert result.status == 1
    assert "'nope' is required" in result.err


def test_conformance_runs_the_suite_in_a_process_of_its_own(cli, monkeypatch):
    calls = []

    def run(arguments, **kwargs):
        calls.append(arguments[1:])
        if "--report-json" in arguments:
            results = [{"name": "a", "outcome": "passed"}, {"name": "b", "outcome": "failed"}]
            Path(arguments[-1]).write_text(json.dumps({"results": results}))
        return subprocess.CompletedProcess(arguments, 1)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    assert cli("conformance", "cpu", "-k", "relu", "-x").status == 1
    assert calls == [["-m", "pytest", "-q", "--pyargs", "sardonyx_conformance", "--ep", "cpu", "-k", "relu", "-x"]]
    facts = json.loads(cli("conformance", "cpu", "--json").out)
    assert facts == {"provider": "cpu", "status": 1, "tests": 2, "outcomes": {"passed": 1, "failed": 1}, "failed": ["b"]}


def test_conformance_says_what_to_install(cli, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = cli("conformance", "cpu")
    assert result.status == 2
    assert "pip install sardonyx-conformance" in result.err


def test_an_output_called_file_is_saved_and_read(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    value = onnx.helper.make_tensor_value_info
    nodes = [onnx.helper.make_node("Neg", ["allow_pickle"], ["file"])]
    graph = onnx.helper.make_graph(nodes, "g", [value("allow_pickle", 1, [2])], [value("file", 1, [2])])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), "m.onnx")
    assert cli("run", "m.onnx", "--ep", "cpu", "-i", "[1, 2]", "--outputs", "file", "--save", "out.npz").status == 0
    with np.load("out.npz") as saved:
        assert saved["file"].tolist() == [-1, -2]


def test_check_knows_custom_operators(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Half", ["x"], ["y"], domain="ours")], "g", [value("x", 1, [2])], [value("y", 1, [2])]
    )
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ours", 1)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), "m.onnx")
    assert cli("check", "m.onnx", "--ep", "cpu").status == 1

    @custom_op("ours", "Half", dtypes=[0])
    def half(x):
        return x / 2

    try:
        assert cli("check", "m.onnx", "--ep", "cpu").out.endswith("Every node can run here (cpu).\n")
    finally:
        half.unregister()


def test_doctor_says_which_variable_counts(cli, monkeypatch):
    monkeypatch.delenv("ORT_INTRA_OP_NUM_THREADS", raising=False)
    for variable, threads in (("SARDONYX_NUM_THREADS", 3), ("ORT_INTRA_OP_NUM_THREADS", 5)):
        monkeypatch.setenv(variable, str(threads))
        facts = json.loads(cli("doctor", "--json").out)["threads"]
        assert (facts["used"], facts["limited_by"]) == (threads, variable)


def test_info_and_check_count_the_same_nodes(cli, folder):
    x, y = (onnx.helper.make_tensor_value_info(n, 1, [2]) for n in "xy")
    opsets = [onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("mine", 1)]
    inner = [onnx.helper.make_node("Add", ["a", "a"], ["b"]), onnx.helper.make_node("Neg", ["b"], ["d"])]
    twice = onnx.helper.make_function("mine", "Twice", ["a"], ["d"], inner, opsets[:1])
    call = onnx.helper.make_node("Twice", ["x"], ["b"], domain="mine")
    body = onnx.helper.make_graph([call], "body", [], [onnx.helper.make_tensor_value_info("b", 1, [2])])
    condition = onnx.helper.make_node("Constant", [], ["c"], value=onnx.helper.make_tensor("", 9, [], [1]))
    choice = onnx.helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
    graph = onnx.helper.make_graph([condition, choice], "g", [x], [y])
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, functions=[twice], ir_version=9), "nested.onnx")
    for name, nodes in (("digits.onnx", 13), ("nested.onnx", 6)):
        assert [json.loads(cli(command, name, "--json").out)["nodes"] for command in ("info", "check")] == [nodes, nodes]
