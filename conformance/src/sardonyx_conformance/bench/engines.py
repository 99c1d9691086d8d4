"""The engines that can be timed: how each is imported, and how it makes a function that runs a model."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput

__all__ = ["ENGINES", "check_engine", "prepare"]

Feeds = dict[str, np.ndarray]
Runner = Callable[[], list[Any]]


def _onnxruntime(module: Any, argument: str, path: str, feeds: Feeds, threads: int) -> Runner:
    options = module.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = module.InferenceSession(path, options, providers=[argument or "CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def _openvino(module: Any, argument: str, path: str, feeds: Feeds, threads: int) -> Runner:
    core = module.Core()
    core.set_property(
        "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": argument or "f32"}
    )
    model = core.read_model(path)
    model.reshape({name: list(x.shape) for name, x in feeds.items()})
    request = core.compile_model(model, "CPU").create_infer_request()
    return lambda: [np.array(y) for y in request.infer(feeds).values()]


def _sardonyx(module: Any, argument: str, path: str, feeds: Feeds, threads: int) -> Runner:
    options = module.SessionOptions()
    options.intra_op_num_threads = threads
    session = module.InferenceSession(path, options, providers=argument.split("+") if argument else None)
    return lambda: session.run(None, feeds)


ENGINES: dict[str, Callable[..., Runner]] = {"onnxruntime": _onnxruntime, "openvino": _openvino, "sardonyx": _sardonyx}


def check_engine(engine: str) -> None:
    """InvalidInput for an engine nobody knows."""
    if engine.partition(":")[0] not in ENGINES:
        raise InvalidInput(f"no engine {engine!r}: onnxruntime[:PROVIDER], openvino[:f32|bf16], sardonyx[:EP+EP]")


def prepare(engine: str) -> Callable[[str, Feeds, int], Runner]:
    """Import an engine, so that what follows is its work on the model: (path, feeds, threads) -> a function that runs it."""
    name, _, argument = engine.partition(":")
    module = importlib.import_module(name)
    if name == "sardonyx":
        module.get_available_providers()
    if name == "onnxruntime":
        module.set_default_logger_severity(4)
    return lambda path, feeds, threads: ENGINES[name](module, argument, path, feeds, threads)
