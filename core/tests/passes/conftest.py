"""What the tests of passes share: models from ONNX's text form, and the check that numbers stay the same."""

from __future__ import annotations

import logging
from collections import Counter
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from onnx import numpy_helper, parser

from sardonyx.ir.dtypes import is_float
from sardonyx.ir.load import load
from sardonyx.ir.schema import schema
from sardonyx.ir.verify import verify
from sardonyx.passes import apply_rules, optimize

OPSET = 23
DIMS = {"N": 2, "C": 4, "S": 5, "H": 3, "D": 8}


def build(text: str, *, opset: int = OPSET, **weights):
    """A loaded model. `text` is a graph in ONNX's text form without its name, e.g. `(float[N, 4] x) => (float[N, 4] y) { ... }`;
    `weights` become initializers."""
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}, "com.microsoft": 1]> g {text}')
    for name, array in weights.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return load(proto)


def run(graph, feeds):
    """The outputs of a graph by the cpu provider's kernels, node by node; types must be right where they are known."""
    kernels = pytest.importorskip("sardonyx_ep_cpu.kernels").kernels
    env = dict(zip(graph.inputs, feeds, strict=True))

    def value(v):
        return None if v is None else v.const.numpy() if v.const is not None else env[v]

    def run_nodes(nodes):
        for node in nodes:
            if node.op == "If":
                body = node.attrs["then_branch" if value(node.inputs[0]).item() else "else_branch"]
                run_nodes(body.nodes)
                results = [value(v) for v in body.outputs]
            else:
                results = call(node)
            for v, r in zip(node.outputs, results, strict=False):
                if v is not None:
                    env[v] = r
                    check_type(v, r)

    def call(node):
        kernel = kernels.find(node.domain, node.op, node.since)
        assert kernel is not None, f"no kernel for {node.title}-{node.since}"
        filled = {"n_outputs": len(node.outputs)} if "n_outputs" in kernel.filled else {}
        with np.errstate(all="ignore"):
            result = kernel.function(np, *map(value, node.inputs), **node.attrs, **filled)
        known = schema(node.domain, node.op, node.since)
        several = known.max_output > 1 if known is not None else isinstance(result, tuple)
        return result if several else [result]

    run_nodes(graph.nodes)
    return [value(v) for v in graph.outputs]


def check_type(value, result):
    if value.dtype is not None and value.dtype != object:
        assert value.dtype == result.dtype, f"{value} should be {value.dtype}, is {result.dtype}"
    if value.shape is not None:
        fits = len(value.shape) == result.ndim and all(
            not isinstance(d, int) or d == n for d, n in zip(value.shape, result.shape, strict=True)
        )
        assert fits, f"{value} should be {value.shape}, is {result.shape}"


def feed(value, rng, dims):
    """A random array for a graph input."""
    shape = tuple(d if isinstance(d, int) else dims.get(d, DIMS.get(d, 3)) for d in value.shape)
    if value.dtype == np.bool_:
        return rng.random(shape) < 0.6
    if is_float(value.dtype):
        return (2 * rng.standard_normal(shape)).astype(value.dtype)
    return rng.integers(-3, 4, shape).astype(value.dtype)


class Verifying(list):
    """A report that verifies the graph after every pass."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph

    def append(self, item):
        verify(self.graph)
        super().append(item)


TOLERANCE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-5, "float64": 1e-12}


def compare(graph, change, *, dims=None, feeds=None, rtol=None, atol=None):
    """Change the graph and check that its outputs stay the same up to rounding."""
    rng = np.random.default_rng(1)
    given = [feeds[v.name] if feeds and v.name in feeds else feed(v, rng, dims or {}) for v in graph.inputs]
    names = [v.name for v in graph.outputs]
    before = run(graph, given)
    change()
    verify(graph)
    assert [v.name for v in graph.outputs] == names
    for a, b in zip(before, run(graph, given), strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        if a.dtype == object or not is_float(a.dtype):
            np.testing.assert_array_equal(a, b)
            continue
        tolerance = rtol if rtol is not None else TOLERANCE[a.dtype.name]
        wide = np.float64 if a.dtype != ml_dtypes.bfloat16 else np.float32
        np.testing.assert_allclose(b.astype(wide), a.astype(wide), rtol=tolerance, atol=tolerance if atol is None else atol)


@pytest.fixture
def check(caplog):
    """`check(text, **weights) -> SimpleNamespace(ops, graph, nodes)`: optimize, verify after every pass, and compare numbers.

    `ops` counts the operators afterwards, `nodes` are the nodes. Keywords: level, opset, dims, feeds, rtol, atol, rules (to
    apply these alone).
    """

    def checked(text, *, level="extended", opset=OPSET, dims=None, feeds=None, rtol=None, atol=None, rules=None, **weights):
        graph = build(text, opset=opset, **weights).graph
        if rules is not None:
            change = lambda: apply_rules(graph, rules)  # noqa: E731
        else:
            change = lambda: optimize(graph, level, report=Verifying(graph))  # noqa: E731
        with caplog.at_level(logging.WARNING, logger="sardonyx"):
            compare(graph, change, dims=dims, feeds=feeds, rtol=rtol, atol=atol)
        assert not caplog.records
        return SimpleNamespace(ops=Counter(n.title for n in graph.walk_nodes()), graph=graph, nodes=graph.nodes)

    return checked


@pytest.fixture(name="build")
def build_fixture():
    """`build(text, opset=..., **weights)`: a loaded model."""
    return build


@pytest.fixture
def rng():
    """A seeded generator."""
    return np.random.default_rng(7)
