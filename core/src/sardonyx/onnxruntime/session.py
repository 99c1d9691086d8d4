"""InferenceSession as onnxruntime has it, around the session of its extension module (`session._sess`)."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sardonyx.errors import InvalidType
from sardonyx.onnxruntime import environment, placement
from sardonyx.onnxruntime.binding import IOBinding
from sardonyx.onnxruntime.devices import OrtEpDevice, OrtMemoryInfo
from sardonyx.onnxruntime.errors import (
    EPFail,
    Fail,
    InvalidArgument,
    InvalidProtobuf,
    ModelLoadCanceled,
    NoSuchFile,
    WrongObject,
    raises,
    status,
)
from sardonyx.onnxruntime.extension_session import ExtensionSession, feeds_of
from sardonyx.onnxruntime.options import RunOptions, SessionOptions
from sardonyx.onnxruntime.providers import CPU, check_and_normalize_provider_args, expand, get_available_providers
from sardonyx.onnxruntime.values import OrtValue, ortvalue_of
from sardonyx.passes import pass_names
from sardonyx.runtime import arguments, discovery, options, session
from sardonyx.runtime.async_runs import run_with_callback
from sardonyx.runtime.session import ModelMetadata, NodeArg

__all__ = ["InferenceSession", "Session"]

logger = logging.getLogger("sardonyx")
Providers = Sequence[str | tuple[str, dict[Any, Any]]]


class Session:
    """What every session can do; see InferenceSession. What Sardonyx's sessions can do beyond it (explain(), profile()...)
    works here too."""

    _sess: ExtensionSession
    _sess_options: options.SessionOptions
    _inputs_meta: list[NodeArg]
    _outputs_meta: list[NodeArg]
    _overridable_initializers: list[NodeArg]
    _model_meta: ModelMetadata
    _providers: list[str]
    _provider_options: dict[str, dict[str, str]]
    _profiling_start_time_ns: int

    def __init__(self, enable_fallback: bool = True):
        self._enable_fallback = enable_fallback
        self._fallback_providers = [CPU]

    def __getattr__(self, name: str) -> Any:
        inner = self.__dict__.get("_sess")
        if name.startswith("_") or inner is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(inner.own, name)

    def get_session_options(self) -> options.SessionOptions:
        """The options the session was made with."""
        return self._sess_options

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that must be fed."""
        return self._inputs_meta

    def get_outputs(self) -> list[NodeArg]:
        """The outputs."""
        return self._outputs_meta

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The inputs that have a default."""
        return self._overridable_initializers

    def get_modelmeta(self) -> ModelMetadata:
        """What the model file says about itself."""
        return self._model_meta

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        """The memory in which each input is taken: the host's."""
        return self._sess.input_meminfos

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        """The memory in which each output is given: the host's."""
        return self._sess.output_meminfos

    def get_input_epdevices(self) -> list[OrtEpDevice]:
        """The device of the first provider of the session, for each input."""
        return self._sess.input_epdevices

    def get_providers(self) -> list[str]:
        """The session's providers by onnxruntime's names, in order of preference."""
        return self._providers

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of each provider, as text."""
        return self._provider_options

    def get_provider_graph_assignment_info(self) -> list[placement.OrtEpAssignedSubgraph]:
        """Which nodes run on which provider (why: `explain()`). Raises Fail unless the session's configuration entry
        session.record_ep_graph_assignment_info is "1"."""
        return self._sess.get_provider_graph_assignment_info()

    def disable_fallback(self) -> None:
        """Do not run again on the host where a provider fails."""
        self._enable_fallback = False

    def enable_fallback(self) -> None:
        """Where a provider fails in a run, run again, from then on, on the host."""
        self._enable_fallback = True

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None) -> list[Any]:
        """Run the model: the outputs (all, or those named) as arrays that are the caller's own; lists and dicts for sequences
        and maps. Raises ValueError for a missing input, InvalidArgument for a wrong one, Fail where a node fails."""
        try:
            return self._sess.run(output_names, input_feed, run_options)
        except EPFail as e:
            if not self._enable_fallback:
                raise
            logger.warning("%s; running again on %s", e, self._fallback_providers)
            self.set_providers(self._fallback_providers)
            self.disable_fallback()
            return self.run(output_names, input_feed, run_options)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Run in another thread, which then calls `callback(results, user_data, error)`: error is "" where all went well, else
        results is []. Raises ValueError for a missing input."""
        missing = self._sess.missing(feeds_of(input_feed))
        if missing:
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(input_feed)}).")

        run_with_callback(lambda: self.run(output_names, input_feed, run_options), callback, user_data)

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue], run_options: RunOptions | None = None
    ) -> list[OrtValue]:
        """As run(), with OrtValues in and out."""
        feeds = {name: ortvalue_of(f"input {name!r}", value) for name, value in feeds_of(input_dict_ort_values).items()}
        return [OrtValue.of(v) for v in self.run(output_names, feeds, run_options)]

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
        self._sess.run_with_ortvaluevector(run_options, feed_names, feeds, fetch_names, fetches, fetch_devices)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Run with what is bound. Raises ValueError for the binding of another session, else RuntimeError."""
        if not isinstance(iobinding, IOBinding):
            raise WrongObject(f"iobinding is what io_binding() makes, not {type(iobinding).__name__}")
        if iobinding._session is not self._sess:
            raise ValueError("an IOBinding is run by the session that made it")
        self._sess.run_with_iobinding(iobinding, run_options)

    def io_binding(self) -> IOBinding:
        """A new IOBinding for this session."""
        return IOBinding(self)

    def create_ortvalue_from_shape_and_type(
        self, shape: Sequence[int], element_type: Any, device_type: str, device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """An uninitialised tensor."""
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device_type, device_id, vendor_id)

    def end_profiling(self) -> str:
        """Write the profile; the name of the file, or "" where profiling is off or has ended."""
        return self._sess.end_profiling()

    def get_profiling_start_time_ns(self) -> int:
        """The time at which profiling began, in ns; 0 if it is off."""
        return self._profiling_start_time_ns

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Has no effect: no provider captures graphs."""

    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None:
        """Has no effect beyond checking the form: no provider has options that change after the session was made."""
        self._sess.set_ep_dynamic_options(options)

    def get_tuning_results(self) -> list[dict[str, Any]]:
        """What providers found by trying kernels: nothing, they choose without trying."""
        return self._sess.get_tuning_results()

    def set_tuning_results(self, results: list[dict[str, Any]], *, error_on_invalid: bool = False) -> None:
        """Ignores the results, which are of another engine; RuntimeError with error_on_invalid, if there are any."""
        self._sess.set_tuning_results(results, error_on_invalid)

    def set_providers(self, providers: Providers | None = None, provider_options: Sequence[dict[Any, Any]] | None = None) -> None:
        """Make the session anew on other providers."""
        raise NotImplementedError("only an InferenceSession can be made anew")


class InferenceSession(Session):
    """A model ready to run.

    `path_or_bytes` is a path or the bytes of a file. `providers` are names, or (name, options), in order of preference; None:
    all that are available. A name that is not available is warned of and passed over. `enable_fallback=0` (default 1) makes
    wrong providers an error; `disabled_optimizers` are names of passes. Raises NoSuchFile, InvalidProtobuf, InvalidGraph,
    NotImplemented or Fail for models, TypeError for an object that is none.
    """

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: options.SessionOptions | None = None,
        providers: Providers | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **kwargs: Any,
    ):
        super().__init__(arguments.whole("enable_fallback", kwargs.get("enable_fallback", 1)) == 1)
        if isinstance(path_or_bytes, (str, os.PathLike)):
            self._model_path: str | None = os.fspath(path_or_bytes)
            self._model_bytes: bytes | None = None
        elif isinstance(path_or_bytes, bytes):
            self._model_path, self._model_bytes = None, path_or_bytes
        else:
            raise InvalidType(
                f"Unable to load from type '{type(path_or_bytes)}': give a path or bytes (of an onnx.ModelProto: SerializeToString())"
            )
        arguments.instance("sess_options", sess_options, (options.SessionOptions, type(None)), "a SessionOptions or None")
        self._sess_options_initial = sess_options
        self._disabled = kwargs.get("disabled_optimizers")
        try:
            self._make(providers, provider_options)
        except (ValueError, RuntimeError) as e:
            if not self._enable_fallback or isinstance(e, (NotImplementedError, InvalidType)):
                raise
            logger.warning("%s; making the session on %s instead of %s", e, self._fallback_providers, providers)
            self._make(self._fallback_providers, None)
            self.disable_fallback()

    def set_providers(self, providers: Providers | None = None, provider_options: Sequence[dict[Any, Any]] | None = None) -> None:
        """Make the session anew on other providers. Raises ValueError or RuntimeError for wrong ones."""
        self._make(providers, provider_options)

    def _make(self, providers: Providers | None, provider_options: Sequence[dict[Any, Any]] | None) -> None:
        source = self._checked_source()
        given = self._sess_options_initial if self._sess_options_initial is not None else SessionOptions()
        if given.log_severity_level not in (-1, 0, 1, 2, 3, 4):
            raise RuntimeError(f"Invalid session log severity level {given.log_severity_level}: it is 0 (verbose) to 4 (fatal), or -1")
        if getattr(given, "_cancelled", False):
            raise status(ModelLoadCanceled, "SessionOptions.set_load_cancellation_flag is set")
        names, settings = check_and_normalize_provider_args(providers, provider_options, get_available_providers())
        chosen = given.chosen_providers() if isinstance(given, SessionOptions) else None
        if not names and chosen is not None:
            names, settings = [n for n, _ in chosen], [o for _, o in chosen]
        if providers is None and not names:
            names = get_available_providers()
            settings = [{} for _ in names]
        own = expand(names, settings, given.is_strict)
        if given.is_strict and not own:
            raise status(Fail, f"fallback to {CPU} is disabled, and no other provider was asked for: {names}")
        self._bind(ExtensionSession(self._create(source, given, own), given, names))

    @raises()
    def _create(self, source: Any, given: options.SessionOptions, own: list[tuple[str, dict[str, str]]]) -> session.InferenceSession:
        seed = environment.session_seed()
        if seed is not None and given.seed is None:
            given = copy.copy(given)
            given.seed = seed
        return session.InferenceSession(source, given, own, disabled_optimizers=_known_passes(self._disabled))

    def _checked_source(self) -> Any:
        path, data = self._model_path, self._model_bytes
        if path is None:
            if not data:
                raise status(InvalidArgument, "the given bytes are empty: there is no graph in them")
            _refuse_ort_format(data[:8], "the given bytes are", False)
            return data
        if not os.path.exists(path):
            raise status(NoSuchFile, f"Load model from {path} failed: the file doesn't exist")
        if os.path.isdir(path):
            raise status(InvalidProtobuf, f"Load model from {path} failed: it is a folder")
        with open(path, "rb") as f:
            _refuse_ort_format(f.read(8), f"{path} is", path.endswith(".ort"))
        return path

    def _bind(self, sess: ExtensionSession) -> None:
        self._sess, self._sess_options = sess, sess.session_options
        self._inputs_meta, self._outputs_meta = sess.inputs_meta, sess.outputs_meta
        self._overridable_initializers, self._model_meta = sess.overridable_initializers, sess.model_meta
        self._providers, self._provider_options = sess.get_providers(), sess.get_provider_options()
        self._profiling_start_time_ns = sess.get_profiling_start_time_ns


def _known_passes(disabled: Any) -> list[str]:
    """Those of the passes to leave out that there are; the others, such as onnxruntime's own, are warned of."""
    names = arguments.names("disabled_optimizers", () if disabled is None else disabled)
    known = pass_names(discovery.passes()) if names else set()
    for name in names:
        if name not in known:
            logger.warning("disabled_optimizers names %r, which has no effect: no pass or rule here is called so", name)
    return [name for name in names if name in known]


def _refuse_ort_format(head: bytes, what: str, named: bool) -> None:
    if named or head[4:8] == b"ORTM":
        raise NotImplementedError(f"{what} a model in onnxruntime's own ORT format; Sardonyx reads the .onnx file that it was made from")
