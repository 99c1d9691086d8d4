"""Models with Gradient nodes, and the check against finite differences in float64."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnx import helper, numpy_helper, parser

import sardonyx

TRAINING = "ai.onnx.preview.training"
STEP = 1e-5


def model_of(text, opset=23, **weights):
    """A ModelProto. `text` is a graph in ONNX's text form without its name; `weights` become initializers."""
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}, "{TRAINING}": 1]> g {text}')
    for name, array in weights.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return proto


def run(proto, feeds, level="none"):
    """The outputs of a model on the cpu provider alone, without (or with) optimizations."""
    pytest.importorskip("sardonyx_ep_cpu")
    options = sardonyx.SessionOptions()
    options.strict = True
    options.intra_op_num_threads = 1
    levels = sardonyx.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_DISABLE_ALL if level == "none" else levels.ORT_ENABLE_ALL
    return sardonyx.InferenceSession(proto, options, providers=["cpu"]).run(None, feeds)


def differences(session, feeds, name):
    """The derivative of the only output by the feed `name`, by central differences."""
    x = feeds[name]
    found = np.zeros_like(x)
    for at in itertools.product(*map(range, x.shape)):
        ends = []
        for step in (STEP, -STEP):
            moved = x.copy()
            moved[at] += step
            ends.append(session.run(None, {**feeds, name: moved})[0].sum())
        found[at] = (ends[0] - ends[1]) / (2 * STEP)
    return found


def unsized(proto):
    """The same graph inputs, every dim a symbol of its own."""
    for vi in proto.graph.input:
        for i, d in enumerate(vi.type.tensor_type.shape.dim):
            d.dim_param = f"{vi.name}_{i}"
    return proto


def add_gradient(proto, xs, y, outputs, zs=(), inputs=None):
    """Append a Gradient node, and make its outputs the graph's only ones."""
    attrs = {"xs": list(xs), "y": y} | ({"zs": list(zs)} if zs else {})
    node = helper.make_node("Gradient", inputs or [*xs, *zs], outputs, name=f"gradient_of_{y}", domain=TRAINING, **attrs)
    proto.graph.node.append(node)
    del proto.graph.output[:]
    proto.graph.output.extend(helper.make_empty_tensor_value_info(o) for o in outputs)
    return proto


def weighted(nodes, feeds, weights, opset, sized):
    """`nodes`, which give y of the feeds, and `loss`: y times fixed numbers, so that no derivative cancels."""
    inputs = ", ".join(f"{TYPES[v.dtype.name]}[{','.join(map(str, v.shape))}] {k}" for k, v in feeds.items())
    (y,) = run(model_of(f"({inputs}) => (y) {{ {nodes} }}", opset, **weights), feeds)
    factors = np.random.default_rng(5).uniform(0.5, 1.5, y.shape)
    made = model_of(f"({inputs}) => (loss) {{ {nodes} loss = Mul(y, factors) }}", opset, **weights, factors=factors)
    return made if sized else unsized(made)


TYPES = {"float64": "double", "int64": "int64", "bool": "bool", "float32": "float"}


def check(nodes, feeds, xs=None, weights=None, *, opset=23, rtol=1e-6, second=True):
    """The gradients of y, which `nodes` compute of the feeds, by `xs` (the feeds of float64) are those that finite
    differences give, whether sizes are known or not, optimized or not; and so are, unless `second` is false, those of the
    gradients in turn."""
    feeds = {k: np.asarray(v) for k, v in feeds.items()}
    xs = xs or [k for k, v in feeds.items() if v.dtype == np.float64]
    names = [f"d_{x}" for x in xs]
    plain = weighted(nodes, feeds, weights or {}, opset, True)
    want = [differences(sardonyx.InferenceSession(plain, providers=["cpu"]), feeds, x) for x in xs]
    for sized, level in ((True, "none"), (False, "none"), (False, "all")):
        model = add_gradient(weighted(nodes, feeds, weights or {}, opset, sized), xs, "loss", names)
        for got, w, x in zip(run(model, feeds, level), want, xs, strict=True):
            assert got.dtype == np.float64
            assert got.shape == w.shape
            np.testing.assert_allclose(got, w, rtol=rtol, atol=1e-8, err_msg=f"gradient of {x}, {sized=}, {level=}")
    if second:
        check_second(plain, feeds, xs, names, rtol)


def check_second(plain, feeds, xs, names, rtol):
    """The gradients, weighted and summed, differentiated."""
    first = type(plain)()
    first.CopyFrom(plain)
    add_gradient(first, xs, "loss", names)
    rng = np.random.default_rng(6)
    for name, x in zip(names, xs, strict=True):
        first.graph.initializer.append(numpy_helper.from_array(rng.uniform(0.5, 1.5, feeds[x].shape), f"f_{name}"))
        first.graph.node.append(helper.make_node("Mul", [name, f"f_{name}"], [f"w_{name}"]))
        first.graph.node.append(helper.make_node("ReduceSum", [f"w_{name}"], [f"s_{name}"], keepdims=0))
    first.graph.node.append(helper.make_node("Sum", [f"s_{name}" for name in names], ["total"]))
    del first.graph.output[:]
    first.graph.output.append(helper.make_empty_tensor_value_info("total"))
    session = sardonyx.InferenceSession(first, providers=["cpu"])
    want = [differences(session, feeds, x) for x in xs]
    add_gradient(first, xs, "total", [f"d2_{x}" for x in xs])
    for got, w in zip(run(first, feeds), want, strict=True):
        np.testing.assert_allclose(got, w, rtol=rtol, atol=1e-7)


@pytest.fixture(name="check")
def check_fixture():
    """See `check`."""
    pytest.importorskip("sardonyx_ep_cpu")
    return check


@pytest.fixture(name="model_of")
def model_of_fixture():
    """See `model_of`."""
    return model_of


@pytest.fixture(name="run")
def run_fixture():
    """See `run`."""
    return run


@pytest.fixture
def rng():
    """A seeded generator."""
    return np.random.default_rng(3)
