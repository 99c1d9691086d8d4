"""A prepared model."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.onnxruntime.options import RunOptions
from sardonyx.onnxruntime.session import InferenceSession

__all__ = ["OnnxRuntimeBackendRep", "set_options"]

RUN_OPTIONS = frozenset({"log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches"})


def set_options(options: Any, given: dict[str, Any], allowed: frozenset[str]) -> None:
    """Set those of `given` that are allowed; others that the options have are a RuntimeError, the rest is ignored."""
    for name, value in given.items():
        if name in allowed:
            setattr(options, name, value)
        elif hasattr(options, name):
            raise RuntimeError(f"{name} cannot be set through the backend; these can: {', '.join(sorted(allowed))}")


class OnnxRuntimeBackendRep:
    """A session in the form of onnx.backend.base.BackendRep."""

    def __init__(self, session: InferenceSession):
        self._session = session

    def run(self, inputs: Any, **kwargs: Any) -> list[Any]:
        """The outputs for a list of inputs in order, or for one array. RuntimeError if that is not what the model takes."""
        options = RunOptions()
        set_options(options, kwargs, RUN_OPTIONS)
        names = [a.name for a in self._session.get_inputs()]
        values = inputs if isinstance(inputs, list) else [inputs]
        if not isinstance(inputs, list) and len(names) != 1:
            raise RuntimeError(f"the model takes {len(names)} inputs: {', '.join(names)}; give a list")
        feeds = {n: np.asarray(v) if isinstance(v, np.generic) else v for n, v in zip(names, values, strict=False)}
        return self._session.run(None, feeds, options)
