"""The session as onnxruntime's extension module has it: what lies beneath an InferenceSession as its `_sess`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sardonyx.errors import InvalidInput, InvalidType, SardonyxError
from sardonyx.onnxruntime import placement
from sardonyx.onnxruntime.devices import OrtEpDevice, OrtMemoryInfo, get_ep_devices
from sardonyx.onnxruntime.enums import OrtAllocatorType, OrtMemType
from sardonyx.onnxruntime.errors import Fail, WrongObject, raises, status, translated
from sardonyx.onnxruntime.options import RunOptions
from sardonyx.onnxruntime.providers import CPU, names_of
from sardonyx.onnxruntime.sparse import SparseTensor
from sardonyx.onnxruntime.values import OrtValue, OrtValueVector
from sardonyx.runtime import arguments, options, session
from sardonyx.runtime.async_runs import run_with_callback

if TYPE_CHECKING:
    from sardonyx.onnxruntime.binding import IOBinding

__all__ = ["ExtensionSession", "feeds_of"]


class ExtensionSession:
    """A session of Sardonyx under the names and with the errors of onnxruntime's extension module."""

    def __init__(self, own: session.InferenceSession, session_options: options.SessionOptions, asked: Sequence[str]):
        self.own, self.session_options = own, session_options
        self.inputs_meta, self.outputs_meta = own.get_inputs(), own.get_outputs()
        self.overridable_initializers, self.model_meta = own.get_overridable_initializers(), own.get_modelmeta()
        self._strings = frozenset(a.name for a in self.inputs_meta if a.type == "tensor(string)")
        settings = own.get_provider_options()
        self._providers = names_of(list(settings), asked)
        self._provider_options: dict[str, dict[str, str]] = {}
        for name, values in settings.items():
            ort = names_of([name], asked)[0]
            self._provider_options[ort] = {} if ort == CPU else {**self._provider_options.get(ort, {}), **values}

    @property
    def input_meminfos(self) -> list[OrtMemoryInfo]:
        """The memory in which each input is taken: the host's."""
        return [_host_memory() for _ in self.inputs_meta]

    @property
    def output_meminfos(self) -> list[OrtMemoryInfo]:
        """The memory in which each output is given: the host's."""
        return [_host_memory() for _ in self.outputs_meta]

    @property
    def input_epdevices(self) -> list[OrtEpDevice]:
        """The device of the first provider of the session, for each input."""
        found = [d for d in get_ep_devices() if d.ep_name == self._providers[0]]
        return found[:1] * len(self.inputs_meta)

    @functools.cached_property
    def get_profiling_start_time_ns(self) -> int:
        """The time at which profiling began, in ns; 0 if it is off."""
        return self.own.get_profiling_start_time_ns()

    def get_providers(self) -> list[str]:
        """The session's providers by onnxruntime's names, in order of preference."""
        return self._providers

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of each provider, as text."""
        return self._provider_options

    def get_provider_graph_assignment_info(self) -> list[placement.OrtEpAssignedSubgraph]:
        """Which nodes run on which provider. Raises Fail unless the session's configuration asked for it."""
        key = "session.record_ep_graph_assignment_info"
        if self.session_options._config.get(key) != "1":
            raise status(Fail, f'set the session configuration entry {key} to "1" before making the session')
        return placement.subgraphs(self.own)

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None) -> list[Any]:
        """Run the model: the outputs named, or all, as arrays. Raises ValueError for a missing input, InvalidArgument for a wrong
        one, Fail where a node fails."""
        feeds = self._feeds(input_feed, run_options)
        arguments.instance("run_options", run_options, (options.RunOptions, type(None)), "a RunOptions or None")
        if run_options is not None and run_options.terminate:
            raise status(Fail, "the run was ended: RunOptions.terminate is set")
        try:
            return self.own.run(output_names or None, feeds, run_options)
        except InvalidType:
            raise
        except SardonyxError as e:
            raise self._run_error(e, feeds) from e

    def _feeds(self, input_feed: Mapping[str, Any], run_options: Any) -> Mapping[str, Any]:
        """The feeds as Sardonyx takes them: OrtValues opened, objects made strings where strings are wanted, adapters added."""
        values = feeds_of(input_feed).values()
        adapters = getattr(run_options, "_adapters", ())
        if not adapters and not self._strings and all(type(v) is np.ndarray for v in values):
            return input_feed
        feeds = {n: v for a in adapters for n, v in a.parameters.items()}
        feeds |= {n: _opened(v) for n, v in input_feed.items()}
        return feeds | {n: _texts(feeds[n]) for n in self._strings & feeds.keys()}

    def _run_error(self, error: SardonyxError, feeds: Mapping[str, Any]) -> Exception:
        if isinstance(error, InvalidInput):
            if self.missing(feeds):
                return ValueError(str(error))
            if any(isinstance(v, (str, bytes)) for v in feeds.values()):
                return RuntimeError(str(error))
        return translated(error)

    def missing(self, feeds: Mapping[str, Any]) -> list[str]:
        """The inputs that must be fed and are not."""
        return [a.name for a in self.inputs_meta if a.name not in feeds and not a.type.startswith("optional")]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Run in another thread, which then calls `callback(results, user_data, error)`."""
        run_with_callback(lambda: self.run(output_names, input_feed, run_options), callback, user_data)

    def run_with_ort_values(
        self, feeds: Mapping[str, OrtValue], output_names: Sequence[str] | None, run_options: RunOptions | None = None
    ) -> OrtValueVector:
        """As run(), with OrtValues in and out."""
        return OrtValueVector(OrtValue.of(v) for v in self.run(output_names, feeds, run_options))

    @raises(RuntimeError)
    def run_with_ortvaluevector(
        self,
        run_options: RunOptions | None,
        feed_names: Sequence[str],
        feeds: Sequence[OrtValue],
        fetch_names: Sequence[str],
        fetches: Any,
        fetch_devices: Sequence[Any],
    ) -> None:
        """As run(), with lists of OrtValues: `fetches` is filled (what it holds already is overwritten in place)."""
        names = arguments.names("feed_names", feed_names)
        values = arguments.instance("feeds", feeds, (list, tuple), "a list of OrtValues")
        if len(names) != len(values):
            raise InvalidInput(f"{len(names)} feed_names were given for {len(values)} feeds: one for each is wanted")
        results = self.run(fetch_names, dict(zip(names, values, strict=True)), run_options)
        for i, result in enumerate(results):
            if i < len(fetches):
                fetches[i].update_inplace(result)
            else:
                fetches.append(OrtValue.of(result))

    @raises(RuntimeError)
    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Run with what is bound."""
        if not iobinding.outputs:
            raise RuntimeError("no output is bound: call bind_output(name)")
        self.own.run_with_iobinding(iobinding, run_options)

    def create_ortvalue_from_shape_and_type(self, shape: Sequence[int], element_type: Any, device: Any) -> OrtValue:
        """An uninitialised tensor on an OrtDevice; `element_type` is a numpy dtype or a code of ONNX."""
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device)

    create_ortvalue_from_shape_and_onnx_type = create_ortvalue_from_shape_and_type

    @raises()
    def end_profiling(self) -> str:
        """Write the profile; the name of the file, or "" where profiling is off or has ended."""
        return self.own.end_profiling() if self.own.get_profiling_start_time_ns() else ""

    def is_webgpu_graph_capture_enabled(self) -> bool:
        """False: no provider captures graphs."""
        return False

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Has no effect: no provider captures graphs."""

    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None:
        """Has no effect beyond checking the form: no provider has options that change after the session was made."""
        arguments.instance("dynamic options", options, Mapping, "a dict of text to text")
        if not all(isinstance(x, str) for pair in options.items() for x in pair):
            raise InvalidType("dynamic options are a dict of text to text")

    def get_tuning_results(self) -> list[dict[str, Any]]:
        """What providers found by trying kernels: nothing, they choose without trying."""
        return []

    def set_tuning_results(self, results: list[dict[str, Any]], error_on_invalid: bool = False) -> None:
        """Ignores the results, which are of another engine; RuntimeError with error_on_invalid, if there are any."""
        if results and error_on_invalid:
            raise RuntimeError("these tuning results are of providers that are not in this session")


def feeds_of(given: Any) -> Mapping[str, Any]:
    """The feeds of a run, which are a dict; WrongObject, which is also an AttributeError, for another object."""
    if not hasattr(given, "items"):
        raise WrongObject(f"feeds are a dict of input name -> value, not {type(given).__name__}")
    return given  # type: ignore[no-any-return]


def _host_memory() -> OrtMemoryInfo:
    return OrtMemoryInfo("Cpu", OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, OrtMemType.DEFAULT)


def _opened(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        raise NotImplementedError("a SparseTensor cannot be fed: give the dense array")
    return value.numpy() if isinstance(value, OrtValue) else value


def _texts(value: Any) -> Any:
    """An array of objects with every element as text, as onnxruntime reads it."""
    if isinstance(value, np.ndarray) and value.dtype == object and not all(type(s) in (str, bytes) for s in value.flat):
        texts = np.empty(value.shape, object)
        texts.reshape(-1)[:] = [s if isinstance(s, (str, bytes)) else str(s) for s in value.flat]
        return texts
    return value
