"""Small models on the native provider, on every instruction set of this processor that CI has, one and two threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import sardonyx
from sardonyx_ep_native import _native


def build(nodes: Sequence[onnx.NodeProto], feeds: dict[str, np.ndarray], weights: dict[str, np.ndarray], outputs: Sequence[str]) -> bytes:
    """A model with the inputs' shapes fixed."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in feeds.items()],
        [onnx.ValueInfoProto(name=n) for n in outputs],
        [numpy_helper.from_array(w, n) for n, w in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=12).SerializeToString()


def session(model: bytes, threads: int = 1) -> Any:
    """A strict session."""
    so = sardonyx.SessionOptions()
    so.strict = True
    so.intra_op_num_threads = threads
    return sardonyx.InferenceSession(model, so, providers=["native"])


@pytest.fixture(name="build")
def build_fixture() -> Any:
    """`build(nodes, feeds, weights, outputs)` -> a model."""
    return build


@pytest.fixture(name="session")
def session_fixture() -> Any:
    """`session(model, threads)` -> a strict session on the native provider."""
    return session


@pytest.fixture(params=[("baseline", 1), ("baseline", 2), ("", 1), ("", 2)], ids=lambda p: f"{p[0] or 'best'}-{p[1]}")
def run(request: pytest.FixtureRequest) -> Iterator[Callable[..., list[np.ndarray]]]:
    """`run(nodes, feeds, weights={}, outputs=("y",))` -> the outputs."""
    isa, threads = request.param
    best = _native.isa()
    _native.set_isa(isa or best)

    def call(
        nodes: onnx.NodeProto | Sequence[onnx.NodeProto],
        feeds: dict[str, np.ndarray],
        weights: dict[str, np.ndarray] | None = None,
        outputs: Sequence[str] = ("y",),
    ) -> list[np.ndarray]:
        listed = [nodes] if isinstance(nodes, onnx.NodeProto) else nodes
        return session(build(listed, feeds, weights or {}, outputs), threads).run(None, feeds)

    yield call
    _native.set_isa(best)
