import re

import numpy as np
import pytest
from onnx import helper

import sardonyx
from sardonyx.errors import InvalidInput, NotSupported

X = np.arange(4, dtype=np.float32)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"{op.lower()}_{outputs[0]}", **attributes)


@pytest.fixture
def model(make_model):
    """An Erf-form Gelu, which the optimizer makes one node, and a Sqrt."""
    nodes = [
        node("Mul", ["x", "root"], ["a"]),
        node("Erf", ["a"], ["e"]),
        node("Add", ["e", "one"], ["f"]),
        node("Mul", ["x", "f"], ["g"]),
        node("Mul", ["g", "half"], ["h"]),
        node("Sqrt", ["h"], ["y"]),
    ]
    return make_model(nodes, ["x"], ["y"], {"root": np.float32(0.70710678), "one": np.float32(1), "half": np.float32(0.5)})


def place(model, assign, providers=("cpu", "other"), **options):
    o = sardonyx.SessionOptions()
    o.assign = assign
    for name, value in options.items():
        setattr(o, name, value)
    return {n.op: n.ep for n in sardonyx.InferenceSession(model, o, providers=list(providers)).explain().nodes}


@pytest.fixture(autouse=True)
def other(kernel_ep):
    kernel_ep(
        "other", {"Sqrt": lambda xp, x: xp.sqrt(x), "Gelu": lambda xp, x, *, approximate="none": x}, aliases=("OtherExecutionProvider",)
    )


@pytest.mark.parametrize("key", ["Sqrt", "sqrt_y"])
def test_by_operator_and_by_node(model, key):
    assert place(model, {}) == {"Gelu": "cpu", "Sqrt": "cpu"}
    assert place(model, {key: "other"}) == {"Gelu": "cpu", "Sqrt": "other"}
    assert place(model, {key: "OtherExecutionProvider"})["Sqrt"] == "other"


@pytest.mark.parametrize("key", ["Gelu", "erf_e", "Erf"])
def test_by_what_the_optimizer_made_of_it(model, key):
    placed = place(model, {key: "other"})
    assert placed["Gelu"] == ("cpu" if key == "Erf" else "other")


def test_a_node_of_a_body(make_model):
    def branch(op):
        return helper.make_graph([node(op, ["x"], ["r"])], op, [], [helper.make_tensor_value_info("r", 1, None)])

    condition = helper.make_tensor_value_info("c", 9, [])
    model = make_model([node("If", ["c"], ["y"], then_branch=branch("Sqrt"), else_branch=branch("Neg"))], ["x", condition], ["y"])
    assert place(model, {"sqrt_r": "other"}) == {"If": "control flow", "Sqrt": "other", "Neg": "cpu"}


@pytest.mark.parametrize(
    ("assign", "message"),
    [
        ({"Sqr": "other"}, "assign names 'Sqr', which is neither a node nor an operator of the model; did you mean 'Sqrt'"),
        ({"nothing_like_it": "other"}, "assign names 'nothing_like_it', which is neither a node nor an operator of the model"),
        ({"Sqrt": "nobody"}, "no provider is called 'nobody'; installed: "),
    ],
)
def test_names_that_are_wrong(model, assign, message):
    with pytest.raises(InvalidInput, match=re.escape(message)):
        place(model, assign)


def test_a_provider_that_the_session_does_not_have(model):
    with pytest.raises(
        InvalidInput, match=re.escape("assign sends 'Sqrt' to 'other', which the session does not have: add it to providers= ('cpu')")
    ):
        place(model, {"Sqrt": "other"}, ["cpu"])


def test_a_provider_that_refuses_what_is_assigned_to_it(model):
    with pytest.raises(NotSupported) as e:
        place(model, {"erf_e": "other"}, graph_optimization_level=sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL)
    assert e.value.nodes == {"erf_e": {"cpu": "assigned to 'other'", "other": "no kernel for Erf at all"}}


def test_strictness_names_what_is_refused_and_why(model):
    with pytest.raises(NotSupported) as e:
        place(model, {"Sqrt": "other"}, ["other"], strict=True, graph_optimization_level=sardonyx.GraphOptimizationLevel.ORT_ENABLE_BASIC)
    assert e.value.nodes["erf_e"] == {"other": "no kernel for Erf at all"}
    assert "sqrt_y" not in e.value.nodes
