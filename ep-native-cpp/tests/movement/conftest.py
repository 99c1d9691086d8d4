from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

import sardonyx
from sardonyx_ep_native import _native

DTYPES = [np.dtype(t) for t in ("f4", "f8", "f2", ml_dtypes.bfloat16, "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?")]


def onnx_type(dtype: np.dtype) -> int:
    return 16 if dtype == ml_dtypes.bfloat16 else helper.np_dtype_to_tensor_dtype(dtype)


def tensor(name: str, x: np.ndarray) -> onnx.TensorProto:
    return helper.make_tensor(name, onnx_type(x.dtype), x.shape, np.ascontiguousarray(x).tobytes(), raw=True)


def model_of(op: str, inputs: Sequence[Any], fixed: Sequence[int], outputs: int, opset: int, domain: str, attrs: dict[str, Any]) -> bytes:
    """A model of one node. Inputs are of free shapes, those whose numbers are in `fixed` constants."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    attrs = {k: tensor(k, v) if isinstance(v, np.ndarray) else v for k, v in attrs.items()}
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], name="the_node", domain=domain, **attrs)
    given = [(n, x) for i, (n, x) in enumerate(zip(names, inputs, strict=True)) if x is not None and i not in fixed]
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, onnx_type(x.dtype), [f"{n}_{k}" for k in range(x.ndim)]) for n, x in given],
        [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)],
        [tensor(names[i], inputs[i]) for i in fixed],
    )
    sets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=sets, ir_version=10).SerializeToString()


class Runner:
    """Runs single nodes on the native provider alone, and on ep-cpu for comparison."""

    def __init__(self, isa: str, threads: int):
        self.isa, self.threads = isa, threads

    def __call__(
        self,
        op: str,
        *inputs: np.ndarray | None,
        fixed: Sequence[int] = (),
        outputs: int = 1,
        opset: int = 24,
        domain: str = "",
        ep: str = "native",
        **attrs: Any,
    ) -> Any:
        """The outputs of one node: one array, or a list if there are several."""
        options = sardonyx.SessionOptions()
        options.strict = True
        options.intra_op_num_threads = self.threads
        _native.set_isa(self.isa)
        model = model_of(op, inputs, fixed, outputs, opset, domain, attrs)
        session = sardonyx.InferenceSession(model, options, providers=[ep])
        feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None and i not in fixed}
        results = session.run(None, feeds)
        return results[0] if outputs == 1 else results

    def same(self, op: str, *inputs: np.ndarray | None, rtol: float = 0, atol: float = 0, outputs: int = 1, **more: Any) -> None:
        """AssertionError if native and cpu differ in shape, dtype or values."""
        got, want = (self(op, *inputs, outputs=outputs, ep=ep, **more) for ep in ("native", "cpu"))
        for g, w in zip(got, want, strict=True) if outputs > 1 else [(got, want)]:
            assert (g.shape, g.dtype) == (w.shape, w.dtype)
            if g.dtype == ml_dtypes.bfloat16:
                g, w = g.astype("f4"), w.astype("f4")
            np.testing.assert_allclose(g, w, rtol, atol)


@pytest.fixture(params=[(_native.isa(), 1), ("baseline", 2)], ids=["best-1", "baseline-2"])
def run(request):
    """A Runner; with the best instruction set and one thread, and with the baseline and two."""
    best = _native.isa()
    yield Runner(*request.param)
    _native.set_isa(best)


@pytest.fixture(params=DTYPES, ids=[str(d) for d in DTYPES])
def dtype(request):
    """Every element type the engine holds."""
    return request.param


@pytest.fixture
def numbers():
    """numbers(shape, dtype): reproducible values that every dtype holds exactly."""
    rng = np.random.default_rng(0)

    def make(shape: Sequence[int], dtype: Any = np.float32, low: int = 0, high: int = 100) -> np.ndarray:
        return rng.integers(low, high, shape).astype(dtype)

    return make
