"""Models of a single operator or a few, and a runner for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from sardonyx.errors import SardonyxError
from sardonyx.ir.dtypes import to_onnx
from sardonyx_conformance.target import Target

__all__ = ["OpRunner", "model_of", "op_model", "tensor", "value_info"]


def value_info(name: str, value: Any, *, dims: Sequence[Any] | None = None) -> onnx.ValueInfoProto:
    """The declaration of an input that takes `value`: an array or a list of arrays. `dims` replaces its shape."""
    if isinstance(value, list):
        element = helper.make_tensor_type_proto(to_onnx(value[0].dtype), None)
        return helper.make_value_info(name, helper.make_sequence_type_proto(element))
    return helper.make_tensor_value_info(name, to_onnx(value.dtype), list(value.shape) if dims is None else list(dims))


def tensor(name: str, value: np.ndarray) -> onnx.TensorProto:
    """An initializer; strings are encoded as UTF-8."""
    if value.dtype.kind == "O":
        return helper.make_tensor(name, onnx.TensorProto.STRING, value.shape, [s.encode() for s in value.reshape(-1)])
    return onnx.numpy_helper.from_array(value, name)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[str | onnx.ValueInfoProto],
    initializers: dict[str, np.ndarray] | None = None,
    *,
    opset: int | None = None,
    domains: dict[str, int] | None = None,
) -> onnx.ModelProto:
    """A model of these nodes. An output given by name only has no declared type; `opset` defaults to the newest."""
    imports = [helper.make_opsetid("", opset or onnx.defs.onnx_opset_version())]
    imports += [helper.make_opsetid(d, v) for d, v in (domains or {}).items()]
    graph = helper.make_graph(
        list(nodes),
        "g",
        list(inputs),
        [onnx.ValueInfoProto(name=o) if isinstance(o, str) else o for o in outputs],
        [tensor(k, v) for k, v in (initializers or {}).items()],
    )
    return helper.make_model(graph, opset_imports=imports, ir_version=min(10, onnx.IR_VERSION))


def op_model(
    op: str,
    inputs: Sequence[Any],
    attrs: dict[str, Any] | None = None,
    *,
    outputs: int = 1,
    opset: int | None = None,
    domain: str = "",
    constants: Sequence[int] = (),
    dynamic: bool = False,
) -> onnx.ModelProto:
    """A model of one node named `the_node`, inputs x0, x1, ... and outputs y0, y1, ... None is an absent input; the inputs
    at `constants` are initializers; with `dynamic` the inputs' dimensions are symbolic."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, name="the_node", domain=domain, **(attrs or {}))
    declared = []
    for i, x in enumerate(inputs):
        if x is not None and i not in constants:
            declared.append(value_info(f"x{i}", x, dims=[f"d{i}_{k}" for k in range(x.ndim)] if dynamic else None))
    fixed = {f"x{i}": inputs[i] for i in constants if inputs[i] is not None}
    return model_of([node], declared, results, fixed, opset=opset, domains={domain: 1} if domain else None)


class OpRunner:
    """Runs one operator on the provider under test in one form: raw, optimized, or optimized with all inputs but the first
    (or the only one) as constants. `used` collects [domain, operator, opset] of what was run, for the report."""

    def __init__(self, target: Target, form: str):
        self.target, self.form = target, form
        self.used: list[list[Any]] = []
        self.variant = "raw" if form == "raw" else "optimized"

    def __call__(self, op: str, *inputs: Any, outputs: int = 1, opset: int | None = None, domain: str = "", **attrs: Any) -> Any:
        """The operator's output, or the list of them where `outputs` is not 1. Skips where the provider does not claim it."""
        session, feeds = self._session(op, inputs, outputs, opset, domain, attrs)
        results = session.run(None, feeds)
        return results[0] if outputs == 1 else results

    def fails(
        self, op: str, *inputs: Any, outputs: int = 1, opset: int | None = None, domain: str = "", match: str = "", **attrs: Any
    ) -> SardonyxError:
        """The error that this ends with, at load or at run; fails if there is none, or if `match` is not found in it."""
        try:
            session, feeds = self._session(op, inputs, outputs, opset, domain, attrs)
            results = session.run(None, feeds)
        except SardonyxError as e:
            if not re.search(match, str(e)):
                pytest.fail(f"the message does not say {match!r}: {e}")
            return e
        pytest.fail(f"{op} should have been refused, but gave {results}")

    def model(self, model: onnx.ModelProto, feeds: dict[str, Any]) -> list[Any]:
        """The outputs of a whole model."""
        return self.target.run(model, feeds, self.variant)

    def _session(self, op: str, inputs: Sequence[Any], outputs: int, opset: int | None, domain: str, attrs: dict[str, Any]) -> Any:
        if [domain, op, opset or 0] not in self.used:
            self.used.append([domain, op, opset or 0])
        values = [x if x is None or isinstance(x, list) else np.asarray(x) for x in inputs]
        present = [i for i, x in enumerate(values) if isinstance(x, np.ndarray)]
        constants = (present[1:] or present) if self.form == "constants" else []
        model = op_model(op, values, attrs, outputs=outputs, opset=opset, domain=domain, constants=constants)
        feeds = {f"x{i}": x for i, x in enumerate(values) if x is not None and i not in constants}
        return self.target.session(model, self.variant), feeds
