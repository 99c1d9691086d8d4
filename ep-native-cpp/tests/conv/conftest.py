from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import sardonyx
from sardonyx.ep import CompileContext
from sardonyx.ir.load import load
from sardonyx_ep_native import _native
from sardonyx_ep_native.rules import prepare


def build(
    nodes: Sequence[onnx.NodeProto],
    feeds: dict[str, np.ndarray],
    weights: dict[str, np.ndarray],
    outputs: Sequence[str],
    free: bool = False,
) -> bytes:
    """A model; `free` leaves the spatial sizes of its inputs open."""

    def info(name: str, x: np.ndarray) -> onnx.ValueInfoProto:
        dims = [d if k < 2 or not free else f"{name}_{k}" for k, d in enumerate(x.shape)]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), dims)

    graph = helper.make_graph(
        nodes,
        "g",
        [info(n, x) for n, x in feeds.items()],
        [onnx.ValueInfoProto(name=n) for n in outputs],
        [numpy_helper.from_array(w, n) for n, w in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()


class Net:
    """Runs small models on the native provider alone, and in float64 on ep-cpu."""

    model = staticmethod(build)

    def __init__(self, isa: str, threads: int):
        self.isa, self.threads = isa, threads

    def native(self, model: bytes, feeds: dict[str, np.ndarray], **options: Any) -> list[np.ndarray]:
        so = sardonyx.SessionOptions()
        so.strict = True
        so.intra_op_num_threads = self.threads
        _native.set_isa(self.isa)
        return sardonyx.InferenceSession(model, so, providers=["native"], provider_options=[options]).run(None, feeds)

    def check(
        self,
        nodes: Sequence[onnx.NodeProto],
        feeds: dict[str, np.ndarray],
        weights: dict[str, np.ndarray],
        outputs: Sequence[str] = ("y",),
        *,
        rtol: float = 4e-6,
        free: bool = False,
        **options: Any,
    ) -> list[np.ndarray]:
        """AssertionError if an output is further than rtol of its largest value from float64; the outputs."""

        def wide(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {n: x.astype(np.float64) if x.dtype == np.float32 and n not in ("scales", "roi") else x for n, x in tensors.items()}

        exact = sardonyx.InferenceSession(build(nodes, wide(feeds), wide(weights), outputs), providers=["cpu"]).run(None, wide(feeds))
        got = self.native(build(nodes, feeds, weights, outputs, free), feeds, **options)
        for g, w in zip(got, exact, strict=True):
            assert g.shape == w.shape
            assert g.dtype == np.float32
            np.testing.assert_allclose(g, w, rtol=0, atol=rtol * max(np.abs(w).max(initial=0), 1e-30))
        return got


@pytest.fixture(params=[(_native.isa(), 1), ("baseline", 2)], ids=["best-1", "baseline-2"])
def net(request):
    """A Net; with the best instruction set and one thread, and with the baseline and two."""
    best = _native.isa()
    yield Net(*request.param)
    _native.set_isa(best)


@pytest.fixture
def prepared():
    """prepared(nodes, feeds, weights, outputs): the operators that the provider's rules leave, in order."""

    def of(nodes, feeds, weights, outputs=("y",), free=False) -> list[str]:
        from sardonyx.passes.pipeline import optimize

        graph = load(build(nodes, feeds, weights, outputs, free)).graph
        optimize(graph, "all")
        prepare(graph, CompileContext())
        return [n.title for n in graph.nodes]

    return of


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def normal(rng):
    """normal(shape...): standard normal float32."""
    return lambda *shape: rng.standard_normal(shape).astype(np.float32)
