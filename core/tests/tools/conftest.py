"""Models, and passes and providers that are broken on purpose."""

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from sardonyx.ep import KernelSet, Provider, ProviderInfo, Refusal, hook
from sardonyx.passes.rules import Edit, rule
from sardonyx.runtime import discovery

MLP = """<ir_version: 8, opset_import: ["": 17]> mlp (float[N, 8] x) => (float[N, 4] y) {
    p = MatMul(x, w1)
    q = Add(p, b1)
    r = Relu(q)
    s = MatMul(r, w2)
    t = Sigmoid(s)
    u = Mul(s, t)
    v = Exp(u)
    y = Tanh(v)
}"""


def model_of(text: str, **weights: np.ndarray) -> onnx.ModelProto:
    """A model from ONNX's text form; its nodes are called after their operators and first outputs."""
    model = parser.parse_model(text)
    for name, array in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    stack = [model.graph]
    while stack:
        for node in stack.pop().node:
            node.name = f"{node.op_type.lower()}_{node.output[0]}"
            stack += [a.g for a in node.attribute if a.HasField("g")]
    return model


@pytest.fixture
def build() -> Callable[..., onnx.ModelProto]:
    """model_of."""
    return model_of


@pytest.fixture
def mlp() -> onnx.ModelProto:
    """Eight nodes, two of which (Sigmoid and Mul) become one Swish at level extended."""
    rng = np.random.default_rng(0)
    weights = {"w1": (8, 6), "b1": (6,), "w2": (6, 4)}
    return model_of(MLP, **{k: rng.standard_normal(shape).astype(np.float32) / 2 for k, shape in weights.items()})


@pytest.fixture
def feeds() -> dict[str, np.ndarray]:
    """Inputs of mlp."""
    return {"x": np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)}


@pytest.fixture
def branches() -> onnx.ModelProto:
    """A model with an If whose branches read a value from outside."""
    return model_of(
        """<ir_version: 8, opset_import: ["": 17]> g (bool c, float[N] x) => (float[N] y) {
        d = Neg(x)
        e = If(c) <then_branch = t () => (float[N] a) { a = Add(d, d) }, else_branch = f () => (float[N] b) { b = Sin(d) }>
        y = Abs(e)
    }"""
    )


@pytest.fixture
def plugin() -> Iterator[Callable[..., None]]:
    """plugin(name, **hooks): registers a plug-in of this process for one test."""
    names = []

    def add(name: str, **hooks: Callable[..., Any]) -> None:
        module = types.ModuleType(name)
        for key, function in hooks.items():
            function.__name__ = key
            setattr(module, key, hook(function))
        discovery.register(name, module)
        names.append(name)

    yield add
    for name in names:
        discovery.unregister(name)


def _provider(provider: Any, **info: Any) -> Callable[[], ProviderInfo]:
    return lambda: ProviderInfo(name=info.pop("name"), create=provider, **info)


@pytest.fixture
def broken_pass(plugin: Callable[..., None]) -> str:
    """A plug-in whose pass replaces Exp by Sin; returns the rule's name."""

    @rule("Exp")
    def exp_is_sin(node, graph):
        edit = Edit(node)
        return edit.replace(node.outputs[0], edit.add("Sin", [node.inputs[0]]))

    class Nothing(Provider):
        def claim(self, graph):
            return dict.fromkeys(graph.nodes, Refusal("it takes nothing"))

    plugin("breaks", sardonyx_provider=_provider(Nothing, name="breaks"), sardonyx_passes=lambda: [exp_is_sin])
    return exp_is_sin.name


@pytest.fixture
def broken_provider(plugin: Callable[..., None]) -> str:
    """A provider of Tanh whose result is a little off; returns its name."""
    kernels = KernelSet()

    @kernels.add("Tanh")
    def tanh(xp, x):
        return xp.tanh(x) * xp.float32(1.01)

    class Wrong(Provider):
        pass

    Wrong.kernels = kernels
    plugin("wrong", sardonyx_provider=_provider(Wrong, name="wrong", priority=-1))
    return "wrong"


@pytest.fixture
def broken_rules(plugin: Callable[..., None]) -> str:
    """A provider of Abs and Neg whose own rule, at level all only, takes Abs for Neg; returns its name."""
    kernels = KernelSet()
    kernels.add("Abs")(lambda xp, x: xp.abs(x))
    kernels.add("Neg")(lambda xp, x: -x)

    @rule("Abs")
    def abs_is_neg(node, graph):
        edit = Edit(node)
        return edit.replace(node.outputs[0], edit.add("Neg", [node.inputs[0]]))

    class Hasty(Provider):
        rules = (abs_is_neg,)

    Hasty.kernels = kernels
    plugin("hasty", sardonyx_provider=_provider(Hasty, name="hasty", priority=-1))
    return "hasty"


@pytest.fixture
def chain() -> onnx.ModelProto:
    """x -> Exp -> Abs -> Exp -> y."""
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node(op, [a], [b], name=f"{op.lower()}_{b}") for op, a, b in (("Exp", "x", "p"), ("Abs", "p", "q"), ("Exp", "q", "y"))
    ]
    graph = helper.make_graph(nodes, "chain", [value("x", 1, ["n"])], [value("y", 1, ["n"])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
