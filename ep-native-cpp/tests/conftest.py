"""What families share: one-node models on the native provider, with every instruction set of CI, one and two threads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import sardonyx
from sardonyx_ep_native import _native


def one_node(
    op: str,
    inputs: Sequence[np.ndarray | None],
    fixed: Collection[int],
    outputs: Sequence[str],
    opset: int,
    domain: str,
    attrs: dict[str, Any],
) -> bytes:
    """A model of one node; inputs whose numbers are in `fixed` are constants, the others have free shapes."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, name="the_node", domain=domain, **attrs)],
        "g",
        [
            helper.make_tensor_value_info(names[i], helper.np_dtype_to_tensor_dtype(x.dtype), [f"d{i}_{k}" for k in range(x.ndim)])
            for i, x in enumerate(inputs)
            if x is not None and i not in fixed
        ],
        [onnx.ValueInfoProto(name=n) for n in outputs if n],
        [numpy_helper.from_array(x, names[i]) for i, x in enumerate(inputs) if x is not None and i in fixed],
    )
    sets = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(graph, opset_imports=sets, ir_version=10).SerializeToString()


@pytest.fixture(params=[("baseline", 1), ("", 1), ("", 2)], ids=lambda p: f"{p[0] or 'best'}-{p[1]}")
def node(request: pytest.FixtureRequest) -> Iterator[Callable[..., list[np.ndarray]]]:
    """`node(op, *inputs, fixed=(), outputs=("y",), opset=22, domain="", **attributes)` -> the outputs, of a strict session."""
    isa, threads = request.param
    best = _native.isa()
    _native.set_isa(isa or best)

    def call(
        op: str,
        *inputs: np.ndarray | None,
        fixed: Collection[int] = (),
        outputs: Sequence[str] = ("y",),
        opset: int = 22,
        domain: str = "",
        **attrs: Any,
    ) -> list[np.ndarray]:
        options = sardonyx.SessionOptions()
        options.strict = True
        options.intra_op_num_threads = threads
        session = sardonyx.InferenceSession(one_node(op, inputs, fixed, outputs, opset, domain, attrs), options, providers=["native"])
        feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None and i not in fixed}
        first = session.run(None, feeds)
        for again, result in zip(session.run(None, feeds), first, strict=True):
            np.testing.assert_array_equal(again, result)
        return first

    yield call
    _native.set_isa(best)
