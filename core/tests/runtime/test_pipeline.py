import pickle
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.ep import KernelSet
from sardonyx.errors import InvalidInput, NodeError

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def model_of(nodes, inputs, outputs, constants=None):
    """inputs and outputs: name -> shape, or (type, shape)."""

    def info(name, t):
        kind, shape = t if isinstance(t, tuple) else (FLOAT, t)
        return helper.make_tensor_value_info(name, kind, shape)

    initializers = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()]
    graph = helper.make_graph(
        [helper.make_node(op, i, o, name=f"{op.lower()}", **a) for op, i, o, a in nodes],
        "g",
        [info(n, t) for n, t in inputs.items()],
        [info(n, t) for n, t in outputs.items()],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.fixture
def double():
    return model_of([("Add", ["x", "x"], ["h"], {})], {"x": ["n", 3]}, {"h": ["n", 3]})


@pytest.fixture
def root():
    return model_of([("Neg", ["h"], ["m"], {}), ("Abs", ["m"], ["y"], {})], {"h": ["n", 3]}, {"y": ["n", 3]})


def pipeline(stages, **kwargs):
    return sardonyx.Pipeline(stages, providers=["cpu"], **kwargs)


def test_outputs_feed_inputs_of_their_name(double, root):
    p = pipeline({"a": double, "b": root})
    assert [(i.name, i.shape) for i in p.get_inputs()] == [("x", ["n", 3])]
    assert [(o.name, o.shape) for o in p.get_outputs()] == [("y", ["n", 3])]
    np.testing.assert_array_equal(p.run(None, {"x": X})[0], 2 * X)
    assert p.stages == ["a", "b"]
    assert isinstance(p, sardonyx.InferenceSession)


def test_every_tensor_can_be_asked_for(double, root):
    p = pipeline({"a": double, "b": root})
    for name in ("h", "a.h"):
        np.testing.assert_array_equal(p.run([name], {"x": X})[0], 2 * X)
    m, y = p.run(["b.m", "y"], {"x": X})
    np.testing.assert_array_equal(m, -y)
    twice = pipeline({"a": double, "b": double}, mapping={"b.x": "a.h"})
    np.testing.assert_array_equal(twice.run(["a.h", "b.h"], {"x": X})[0], 2 * X)
    np.testing.assert_array_equal(twice.run(None, {"x": X})[0], 4 * X)


def test_the_stages_see_each_other_in_explain_profile_and_report(double, root):
    p = pipeline({"a": double, "b": root})
    assert {n.node for n in p.explain().nodes} >= {"a.add"}
    assert {row["node"] for row in p.profile({"x": X}, runs=1).rows()} == {n.node for n in p.explain().nodes}
    assert "cpu" in p.memory_report().providers


def test_forms_of_stages(double, root, tmp_path):
    path = tmp_path / "my.model.onnx"
    onnx.save(double, path)
    session = sardonyx.InferenceSession(root, providers=["cpu"])
    p = pipeline([path, session])
    assert p.stages == ["my_model", "stage2"]
    np.testing.assert_array_equal(p.run(None, {"x": X})[0], 2 * X)
    assert pipeline([("first", str(path)), root.SerializeToString()]).stages == ["first", "stage2"]
    for stages, message in (
        ([], "at least one"),
        ("model.onnx", "stages are a list"),
        ([("a.b", double)], "a text without dots"),
        ([("a", double), ("a", root)], "two stages are called 'a'"),
    ):
        with pytest.raises(InvalidInput, match=re.escape(message)):
            pipeline(stages)


def test_mapping_of_other_names(double):
    other = model_of([("Neg", ["image"], ["out"], {})], {"image": [None, 3]}, {"out": None})
    for mapping in ({"b.image": "a.h"}, {"image": "h"}):
        np.testing.assert_array_equal(pipeline({"a": double, "b": other}, mapping=mapping).run(None, {"x": X})[0], -2 * X)


def test_outputs_that_feed_nothing_are_the_pipelines_own(root):
    two = model_of([("Add", ["x", "x"], ["h"], {}), ("Neg", ["x"], ["y"], {})], {"x": ["n", 3]}, {"h": ["n", 3], "y": ["n", 3]})
    p = pipeline({"a": two, "b": root})
    assert [o.name for o in p.get_outputs()] == ["a.y", "b.y"]
    first, second = p.run(None, {"x": X})
    np.testing.assert_array_equal(first, -X)
    np.testing.assert_array_equal(second, 2 * X)
    np.testing.assert_array_equal(p.run(["a.y"], {"x": X})[0], -X)


def test_an_input_that_two_stages_have_is_one(double):
    second = model_of([("Add", ["h", "x"], ["y"], {})], {"h": ["m", 3], "x": ["m", 3]}, {"y": ["m", 3]})
    p = pipeline({"a": double, "b": second})
    assert [i.name for i in p.get_inputs()] == ["x"]
    np.testing.assert_array_equal(p.run(None, {"x": X})[0], 3 * X)
    unfed = pipeline({"a": double, "b": second}, mapping={"b.h": None})
    assert [i.name for i in unfed.get_inputs()] == ["x", "h"]


def test_defaults_stay_defaults(double):
    model = model_of([("Mul", ["h", "k"], ["y"], {})], {"h": ["n", 3], "k": [1]}, {"y": None}, {"k": np.full(1, 5, np.float32)})
    p = pipeline({"a": double, "b": model})
    assert [i.name for i in p.get_overridable_initializers()] == ["k"]
    np.testing.assert_array_equal(p.run(None, {"x": X})[0], 10 * X)
    np.testing.assert_array_equal(p.run(None, {"x": X, "k": np.ones(1, np.float32)})[0], 2 * X)


@pytest.mark.parametrize(
    ("kind", "shape", "message"),
    [
        (INT64, ["n", 3], "input 'b.h' is tensor(int64), output 'h' of 'a' is tensor(float): put a Cast between them"),
        (FLOAT, ["n"], "input 'b.h' has shape [n], output 'h' of 'a' has [n, 3]"),
        (FLOAT, ["n", 4], "input 'b.h' has shape [n, 4], output 'h' of 'a' has [n, 3]"),
    ],
)
def test_types_that_cannot_fit(double, kind, shape, message):
    other = model_of([("Neg", ["h"], ["y"], {})], {"h": (kind, shape)}, {"y": (kind, None)})
    with pytest.raises(InvalidInput, match=re.escape(message)):
        pipeline({"a": double, "b": other})


def test_shapes_that_do_not_fit_in_a_run(double):
    other = model_of([("Shape", ["h"], ["s"], {}), ("Neg", ["h"], ["y"], {})], {"h": [2, 3]}, {"y": [2, 3], "s": (INT64, [2])})
    p = pipeline({"a": double, "b": other})
    y, s = p.run(["y", "s"], {"x": X})
    np.testing.assert_array_equal(y, -2 * X)
    assert s.tolist() == [2, 3]
    with pytest.raises(NodeError, match=re.escape("input 'b.h' wants [2, 3], output 'h' of 'a' has shape [1, 3] in this run")):
        p.run(None, {"x": X[:1]})


def test_symbols_of_two_models_are_two(double):
    """Both models call a dim `n`, of different sizes: nothing may take them for equal."""
    rows = model_of([("Transpose", ["h"], ["t"], {"perm": [1, 0]})], {"h": ["k", "n"]}, {"t": ["n", "k"]})
    last = model_of(
        [("MatMul", ["t", "z"], ["p"], {}), ("Shape", ["p"], ["s"], {})], {"t": ["m", "n"], "z": ["n", "q"]}, {"s": (INT64, [2])}
    )
    p = pipeline({"a": double, "b": rows, "c": last})
    for count in (2, 5):
        x = np.ones((count, 3), np.float32)
        assert p.run(None, {"x": x, "z": np.ones((count, 4), np.float32)})[0].tolist() == [3, 4]


@pytest.mark.parametrize(
    ("names", "mapping", "message"),
    [
        ("ac", {}, "stage 'c' takes nothing from the stages before it: its inputs are ['image'], their outputs are a.h"),
        ("aab", {"a2.x": "a.h"}, "input 'b.h' could come from 'a' and 'a2', which both have an output of that name"),
        ("ab", {"b.nope": "a.h"}, "mapping: no stage has an input 'b.nope'; the inputs are: a.x, b.h"),
        ("ab", {"b.h": "a.nope"}, "mapping: no stage before stage 'b' has an output 'a.nope'; the outputs are: a.h"),
        ("ab", {"a.x": "b.y"}, "mapping: no stage before stage 'a' has an output 'b.y'; the outputs are: none"),
        ("aab", {"x": "a.h"}, "'x' is an input of several stages: write 'a.x' or 'a2.x'"),
    ],
)
def test_names_that_are_missing_or_ambiguous(double, root, names, mapping, message):
    known = {"a": double, "b": root, "c": model_of([("Neg", ["image"], ["out"], {})], {"image": None}, {"out": None})}
    stages = [(n if names[:i].count(n) == 0 else f"{n}2", known[n]) for i, n in enumerate(names)]
    with pytest.raises(InvalidInput, match=re.escape(message)):
        pipeline(stages, mapping=mapping)


@pytest.mark.parametrize("fixed", [False, True])
def test_tensors_between_stages_stay_on_their_device(double, root, device_ep, fixed):
    kernels = KernelSet()
    for op, function in {"Add": lambda xp, a, b: a + b, "Neg": lambda xp, a: -a, "Abs": lambda xp, a: abs(a)}.items():
        kernels.add(op)(function)
    device = device_ep("toy", kernels)
    if fixed:
        root.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
    p = sardonyx.Pipeline({"a": double, "b": root}, providers=["toy"])
    assert {n.ep for n in p.explain().nodes} == {"toy"}
    np.testing.assert_array_equal(p.run(None, {"x": X})[0], 2 * X)
    assert (len(device.uploads), len(device.downloads)) == (1, 1)


def test_stages_on_providers_of_their_own(double, root, kernel_ep):
    kernel_ep("mine", {"Add": lambda xp, a, b: a + b, "Abs": lambda xp, a: abs(a), "Neg": lambda xp, a: -a})
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.assign = {"b": "mine"}
    p = sardonyx.Pipeline({"a": double, "b": root}, options, providers=["cpu", "mine"])
    assert {n.node: n.ep for n in p.explain().nodes} == {"a.add": "cpu", "b.neg": "mine", "b.abs": "mine"}
    options.assign = {"c": "mine"}
    with pytest.raises(InvalidInput, match="assign names 'c'"):
        sardonyx.Pipeline({"a": double, "b": root}, options, providers=["cpu", "mine"])


def test_a_pipeline_is_pickled_and_cloned(double, root):
    p = pipeline({"a": double, "b": root}, mapping={"b.h": "a.h"})
    for copy in (pickle.loads(pickle.dumps(p)), p.clone()):
        assert type(copy) is sardonyx.Pipeline
        assert copy.stages == ["a", "b"]
        np.testing.assert_array_equal(copy.run(None, {"x": X})[0], 2 * X)


def test_bodies_and_functions_of_stages(double):
    branch = {
        k: helper.make_graph([helper.make_node(op, ["h"], ["r"])], k, [], [helper.make_tensor_value_info("r", FLOAT, None)])
        for k, op in (("then_branch", "Neg"), ("else_branch", "Identity"))
    }
    model = model_of([("If", ["c"], ["y"], branch)], {"h": ["n", 3], "c": (TensorProto.BOOL, [])}, {"y": None})
    p = pipeline({"a": double, "b": model})
    np.testing.assert_array_equal(p.run(None, {"x": X, "c": np.array(True)})[0], -2 * X)
    np.testing.assert_array_equal(p.run(None, {"x": X, "c": np.array(False)})[0], 2 * X)


def test_a_tensor_that_no_stage_has(double, root):
    session = pipeline([("first", double), ("second", root)])
    with pytest.raises(InvalidInput, match="no tensor 'nothing'"):
        session.run(["nothing"], {"x": np.ones((2, 3), np.float32)})
