"""ONNX's backend API (onnx.backend.base) over sessions: `prepare`, `run_model`, `run_node`, `supports_device`, `is_compatible`.

    import sardonyx.backend as backend
    outputs = backend.prepare(model).run([array])

Keyword arguments of `prepare`: `providers` (as InferenceSession takes them; default all usable ones) and `strict` (only
those run nodes; default False).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep

from sardonyx.errors import InvalidInput, NotSupported
from sardonyx.ir.dtypes import to_onnx
from sardonyx.runtime import discovery
from sardonyx.runtime.options import SessionOptions
from sardonyx.runtime.session import InferenceSession

__all__ = ["SardonyxBackend", "SessionRep", "is_compatible", "prepare", "run", "run_model", "run_node", "supports_device"]

KINDS = {"CPU": "cpu", "CUDA": "gpu", "GPU": "gpu", "NPU": "npu"}


class SessionRep(BackendRep):
    """A prepared model; `session` is the InferenceSession."""

    def __init__(self, session: InferenceSession):
        self.session = session

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for inputs in order (a list, one array, or a dict by name). Raises what InferenceSession.run raises."""
        if isinstance(inputs, Mapping):
            feeds = dict(inputs)
        else:
            values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
            names = [a.name for a in self.session.get_inputs()]
            if len(values) > len(names):
                raise InvalidInput(f"{len(values)} inputs given; the model takes {len(names)}: {', '.join(names)}")
            feeds = dict(zip(names, values, strict=False))
        return tuple(self.session.run(None, feeds))


class SardonyxBackend(Backend):
    """The backend as a class, as onnx's test runner takes it. A subclass may fix `providers` and `strict`."""

    providers: ClassVar[list[Any] | None] = None
    strict: ClassVar[bool] = False

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> SessionRep:
        """A model (ModelProto, bytes or path) ready to run on the providers asked for."""
        options = SessionOptions()
        options.strict = kwargs.get("strict", cls.strict)
        return SessionRep(InferenceSession(model, options, providers=kwargs.get("providers", cls.providers)))

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the providers asked for can run the model. What is wrong with the model itself is raised."""
        try:
            cls.prepare(model, device, **kwargs)
        except NotSupported:
            return False
        return True

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Sequence[Any] | None = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """The outputs of one node for its present inputs in order; `opset_version` says of which version (default: the newest)."""
        arrays = [np.asarray(x) for x in inputs]
        names = [n for n in node.input if n]
        if len(names) != len(arrays):
            raise InvalidInput(f"{node.op_type} has {len(names)} inputs, {len(arrays)} were given")
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = kwargs.pop("opset_version", None) or (onnx.defs.onnx_opset_version() if domain == "" else 1)
        feeds = dict(zip(names, arrays, strict=True))
        graph = helper.make_graph(
            [node],
            "node",
            [helper.make_tensor_value_info(n, to_onnx(x.dtype), x.shape) for n, x in feeds.items()],
            [onnx.ValueInfoProto(name=n) for n in node.output if n],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, version)])
        return cls.prepare(model, device, **kwargs).run(feeds)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a usable provider has a device of this kind (CPU, CUDA, CUDA:1, NPU)."""
        kind = KINDS.get(device.partition(":")[0].upper())
        states = [s for name in cls.providers for s in discovery.find(name)] if cls.providers else discovery.providers()
        return any(d.kind == kind for s in states if s.usable for d in s.devices)


prepare = SardonyxBackend.prepare
run_model = run = SardonyxBackend.run_model
run_node = SardonyxBackend.run_node
supports_device = SardonyxBackend.supports_device
is_compatible = SardonyxBackend.is_compatible
