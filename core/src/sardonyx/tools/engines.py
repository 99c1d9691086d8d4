"""Engines that run a model: sessions of Sardonyx, onnxruntime, OpenVINO and onnx's reference evaluator behind one face."""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput, SardonyxError
from sardonyx.runtime import arguments, discovery
from sardonyx.runtime.options import GraphOptimizationLevel, SessionOptions, default_threads
from sardonyx.runtime.session import InferenceSession

__all__ = ["ENGINES", "Engine", "import_engine", "known_engine", "open_engine"]

Feeds = Mapping[str, Any]
INLINE_LIMIT = 1 << 30


class Engine:
    """A loaded model. `run(None, feeds)` gives all outputs; `run(names, feeds)` those tensors, internal ones among them."""

    def __init__(self, name: str):
        self.name = name

    def run(self, names: Sequence[str] | None, feeds: Feeds) -> list[Any]:
        """The tensors as numpy arrays (or lists, dicts, None, as Sardonyx has them). Raises SardonyxError."""
        raise NotImplementedError

    def bound(self, feeds: Feeds) -> Callable[[], list[Any]]:
        """A function that runs the model on these feeds with as little around it as possible, for measuring."""
        return lambda: self.run(None, feeds)


class SardonyxEngine(Engine):
    """A session of Sardonyx."""

    def __init__(self, name: str, session: InferenceSession):
        super().__init__(name)
        self.session = session

    def run(self, names: Sequence[str] | None, feeds: Feeds) -> list[Any]:
        """As Engine.run."""
        return self.session.run(names, feeds)

    def bound(self, feeds: Feeds) -> Callable[[], list[Any]]:
        """As Engine.bound."""
        run = self.session.run
        return lambda: run(None, feeds)


class _Foreign(Engine):
    """Another package's engine: `build(proto or path)` makes its function (feeds -> outputs). Internal tensors come from a copy
    of the model in which they are outputs."""

    def __init__(self, name: str, model: Any, build: Callable[[Any], Callable[[Feeds], list[Any]]]):
        super().__init__(name)
        self._model, self._build = model, build
        self._whole: Callable[[Feeds], list[Any]] | None = None
        self._extra: tuple[tuple[str, ...], Callable[[Feeds], list[Any]]] | None = None
        self._whole = self._made(model)

    def run(self, names: Sequence[str] | None, feeds: Feeds) -> list[Any]:
        """As Engine.run."""
        if names is None:
            run = self._whole
        else:
            if self._extra is None or self._extra[0] != tuple(names):
                with _with_outputs(self._model, names) as changed:
                    self._extra = tuple(names), self._made(changed)
            run = self._extra[1]
        assert run is not None
        try:
            return run(feeds)
        except Exception as e:
            raise SardonyxError(f"{self.name} cannot run the model: {_first_line(e)}") from e

    def bound(self, feeds: Feeds) -> Callable[[], list[Any]]:
        """As Engine.bound; errors are the engine's own."""
        run = self._whole
        assert run is not None
        return lambda: run(feeds)

    def _made(self, model: Any) -> Callable[[Feeds], list[Any]]:
        try:
            return self._build(model)
        except Exception as e:
            raise SardonyxError(f"{self.name} cannot load {_title(model)}: {_first_line(e)}") from e


def _title(model: Any) -> str:
    return str(model) if isinstance(model, (str, os.PathLike)) else "the model"


def _first_line(e: Exception) -> str:
    return " ".join(str(e).split())[:400] or type(e).__name__


@contextlib.contextmanager
def _with_outputs(model: Any, names: Sequence[str]) -> Any:
    """The model with the tensors `names` as its outputs, in this order: bytes, or a file that is there within the block."""
    import onnx

    proto: Any = onnx.ModelProto()
    if isinstance(model, (str, os.PathLike)):
        proto = onnx.load(os.fspath(model))
    elif isinstance(model, (bytes, bytearray, memoryview)):
        proto.ParseFromString(bytes(model))
    else:
        proto.CopyFrom(model)
    declared = {v.name: v for v in (*proto.graph.output, *proto.graph.value_info, *proto.graph.input)}
    del proto.graph.output[:]
    for name in names:
        proto.graph.output.append(declared.get(name) or onnx.ValueInfoProto(name=name))
    if proto.ByteSize() < INLINE_LIMIT:
        yield proto.SerializeToString()
        return
    with tempfile.TemporaryDirectory(prefix="sardonyx-") as folder:
        path = str(Path(folder) / "model.onnx")
        onnx.save(proto, path, save_as_external_data=True, location="model.data")
        yield path


def _source(model: Any) -> Any:
    """A path as text, or bytes."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    return model.SerializeToString() if hasattr(model, "SerializeToString") else bytes(model)


def _onnxruntime(module: Any, argument: str, threads: int, feeds: Feeds | None) -> Callable[[Any], Callable[[Feeds], list[Any]]]:
    module.set_default_logger_severity(4)

    def build(model: Any) -> Callable[[Feeds], list[Any]]:
        options = module.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 4
        session = module.InferenceSession(_source(model), options, providers=[argument or "CPUExecutionProvider"])
        return lambda given: session.run(None, given)

    return build


def _openvino(module: Any, argument: str, threads: int, feeds: Feeds | None) -> Callable[[Any], Callable[[Feeds], list[Any]]]:
    core = module.Core()
    hint = argument or "f32"
    core.set_property("CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": hint})

    def build(model: Any) -> Callable[[Feeds], list[Any]]:
        source = _source(model)
        read = core.read_model(source) if isinstance(source, str) else core.read_model(source, b"")
        requests: list[Any] = []

        def compile(given: Feeds) -> None:
            # Static shapes, as whoever wants its best speed would give it.
            read.reshape({name: list(np.shape(x)) for name, x in given.items()})
            requests.append(core.compile_model(read, "CPU").create_infer_request())

        def run(given: Feeds) -> list[Any]:
            if not requests:
                compile(given)
            return [np.array(y) for y in requests[0].infer(given).values()]

        if feeds is not None:
            compile(feeds)
        return run

    return build


def _reference(module: Any, argument: str, threads: int, feeds: Feeds | None) -> Callable[[Any], Callable[[Feeds], list[Any]]]:
    def build(model: Any) -> Callable[[Feeds], list[Any]]:
        evaluator = module.ReferenceEvaluator(_source(model))
        return lambda given: list(evaluator.run(None, dict(given)))

    return build


# name -> (package to install, how it makes a builder)
ENGINES: dict[str, tuple[str, Callable[[Any, str, int, Feeds | None], Any]]] = {
    "onnxruntime": ("onnxruntime", _onnxruntime),
    "openvino": ("openvino", _openvino),
    "onnx.reference": ("onnx", _reference),
}
CHOICES = "onnxruntime[:PROVIDER], openvino[:bf16], onnx.reference, sardonyx[:EP+EP], or providers of Sardonyx as EP or EP+EP"


def known_engine(spec: str) -> None:
    """Raise InvalidInput for an engine nobody knows, ProviderError for a provider that cannot be used here."""
    if arguments.text("an engine", spec).partition(":")[0] in ENGINES:
        return
    if not spec:
        raise InvalidInput(f"the name of an engine is empty: an engine is {CHOICES}")
    for ep in _providers(spec) or ():
        try:
            discovery.find(ep)
        except InvalidInput as e:
            raise InvalidInput(f"no engine is called {spec!r}: an engine is {CHOICES}; {e}") from e


def _providers(spec: str) -> list[str] | None:
    """The providers of a spec for Sardonyx; None: all."""
    name, _, argument = spec.partition(":")
    text = argument if name == "sardonyx" else spec
    return text.replace(",", "+").split("+") if text else None


def import_engine(spec: str) -> Any:
    """The module of an engine, imported. Raises InvalidInput where the package is not installed."""
    name = spec.partition(":")[0]
    if name not in ENGINES:
        return None
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InvalidInput(f"{name} is not installed: pip install {ENGINES[name][0]}") from None


def open_engine(
    spec: str,
    model: Any,
    *,
    threads: int = 0,
    level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_ENABLE_ALL,
    feeds: Feeds | None = None,
) -> Engine:
    """Load a model (path, bytes, ModelProto) in the engine `spec` names.

    `spec` is onnxruntime[:PROVIDER], openvino[:f32|bf16], onnx.reference, sardonyx[:EP+EP], or the names of providers, joined
    by +. `threads` 0 means all usable. `level` is for Sardonyx. `feeds` let an engine that compiles for given shapes do so while
    loading. Raises InvalidInput for an unknown or missing engine,
    SardonyxError where it cannot load the model.
    """
    known_engine(spec)
    name, _, argument = spec.partition(":")
    if name in ENGINES:
        make = ENGINES[name][1](import_engine(spec), argument, threads or default_threads(), feeds)
        return _Foreign(spec, model, make)
    options = SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = level
    return SardonyxEngine(spec, InferenceSession(model, options, _providers(spec)))
