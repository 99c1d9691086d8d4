"""InferenceSession: a model, optimized, placed on providers and ready to run."""

from __future__ import annotations

import os
import time
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from sardonyx.ep.provider import CompileContext, Provider, RunContext
from sardonyx.ep.weights import WeightStore
from sardonyx.errors import InvalidInput, InvalidType, SardonyxError, foreign
from sardonyx.ir.custom import inferring
from sardonyx.ir.fork import ForkLock
from sardonyx.ir.graph import Model, Value
from sardonyx.ir.load import load
from sardonyx.runtime import arguments, discovery
from sardonyx.runtime.check_assign import check_names, names_of, resolve_wishes
from sardonyx.runtime.check_options import cautions, check_passes, disabled_passes
from sardonyx.runtime.choose_providers import choose_providers
from sardonyx.runtime.collector import collector_paused
from sardonyx.runtime.custom_ops import CUSTOM, CustomOps, CustomProvider
from sardonyx.runtime.explain import Placement
from sardonyx.runtime.feeds import Feed, SharedSymbols, check_feeds, lent, own, sizes_of
from sardonyx.runtime.initializers import replace_initializers
from sardonyx.runtime.iobinding import IOBinding
from sardonyx.runtime.log import log_placement, make_logger
from sardonyx.runtime.memory_report import MemoryReport, report_memory, resident_bytes, return_freed_memory
from sardonyx.runtime.missing import no_tensor
from sardonyx.runtime.model_info import ModelMetadata, NodeArg, node_arg
from sardonyx.runtime.options import RunOptions, SessionOptions
from sardonyx.runtime.partition import CONTROL, HOST
from sardonyx.runtime.plan import Plan
from sardonyx.runtime.planner import Planner
from sardonyx.runtime.profiler import Profile
from sardonyx.runtime.run_forms import RunForms
from sardonyx.runtime.session_info import SessionInfo
from sardonyx.runtime.sources import portable, source_of

__all__ = ["InferenceSession", "ModelMetadata", "NodeArg"]

weights = WeightStore()
EXTRA_PLANS = 8


class InferenceSession(RunForms, SessionInfo):
    """A model ready to run.

    `path_or_bytes` is a path, the file's bytes or an onnx.ModelProto. `providers` are names (`"native"`), or
    (name, options) pairs, in order of preference; None means every usable provider, by priority. Where `cpu` is installed
    it comes last, unless `sess_options.strict`. Keywords: `disabled_optimizers`, more names than those of the options;
    onnxruntime's enable_fallback and read_config_from_model have no effect. Raises InvalidInput, InvalidModel, NotSupported or
    ProviderError.
    """

    def __init__(
        self,
        path_or_bytes: Any,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[dict[str, Any]] | None = None,
        **kwargs: Any,
    ):
        self._source = source_of(path_or_bytes)
        self._model_path = os.fspath(path_or_bytes) if isinstance(path_or_bytes, (str, os.PathLike)) else None
        arguments.instance("sess_options", sess_options, (SessionOptions, type(None)), "a SessionOptions, or None")
        self._given = sess_options if sess_options is not None else SessionOptions()
        self._options = self._given.copy()  # a session may compile again, when the caller has changed its own
        self._disabled = disabled_passes(self._options, kwargs)
        self._requested = (providers, provider_options)
        self._logger = make_logger(self._options.log_severity_level, self._options.log_verbosity_level, self._options.logid)
        self._custom = CustomOps(self._options.custom_ops)
        self._lock = ForkLock()
        self._extra: OrderedDict[tuple[str, ...], tuple[Plan, list[str]]] = OrderedDict()
        self.load_report: list[tuple[str, float]] = []
        try:
            self._providers, self._asked = choose_providers(providers, provider_options, self._options.is_strict)
            check_passes(self._disabled)
            with inferring(self._custom.infer), collector_paused():
                self._create()
        except (SardonyxError, Warning):
            raise
        except Exception as e:
            raise foreign("making the session", e) from e

    def _create(self) -> None:
        self._separate = False
        model = self._load()
        for text in cautions(model, self._options):
            self._logger.warning("%s", text)
        self._meta = ModelMetadata(model)
        self._input_args = [node_arg(v) for v in model.graph.inputs if v.name not in model.overridable]
        self._overridable_args = [node_arg(v) for v in model.graph.inputs if v.name in model.overridable]
        outputs = zip(model.output_types, model.graph.outputs, strict=True)
        self._output_args = [node_arg(Value(name, v.type), declared) for (name, declared), v in outputs]
        self._output_names = [a.name for a in self._output_args]
        self._feeds = [Feed(v, model.overridable[v.name].numpy() if v.name in model.overridable else None) for v in model.graph.inputs]
        self._symbols = SharedSymbols(self._feeds)
        self._plan, self._placement = self._compile(model)
        self._warn_fallback()
        log_placement(self._logger, self._model_path or "a model", self._placement, self.load_report)
        self._profile = self._new_profile() if self._options.enable_profiling else None
        self._entry = self._bind()

    def _bind(self) -> Any:
        """The executable's own entry for feeds, where one executable is the whole plan and nothing is recorded."""
        plan_feeds = [(f.name, f.dtype, f.dims()) for f in self._feeds if f.dtype is not None and not f.optional]
        if self._plan.whole is None or self._profile is not None or len(plan_feeds) != len(self._feeds):
            return None
        entry = self._plan.whole.bind_feeds(plan_feeds)  # type: ignore[arg-type]
        return entry if entry is None or self._separate else self._symbols.guard(entry)

    def _separate_symbols(self) -> None:
        """Compile again, for feeds in which one symbol of the file stands for different sizes."""
        with self._lock, inferring(self._custom.infer):
            if not self._separate:
                plan, placement = self._compile(self._load(separate=True))
                self._extra.clear()
                self._plan, self._placement = plan, placement
                self._separate = True
                self._entry = self._bind()

    def _timed(self, phase: str, start: float) -> float:
        now = time.perf_counter()
        self.load_report.append((phase, now - start))
        return now

    def _load(self, *, separate: bool = False) -> Model:
        start = time.perf_counter()
        model = self._read()
        for text in model.warnings:
            self._logger.info("%s", text)
        replace_initializers(self._tensors(model) if self._options._initializers else {}, self._options._initializers)
        if separate or self._separate:
            from sardonyx.passes.separate_symbols import separate_symbols

            separate_symbols(model.graph)
        self._timed("load", start)
        return model

    def _read(self) -> Model:
        o = self._options
        return load(self._source, external=o._external or None, strict=o.strict, dims=o._dims, denotations=o._denotations)

    def _tensors(self, model: Model) -> dict[str, Value]:
        """The tensors that a run may ask for, by name."""
        known = {v.name: v for g in model.graph.walk_graphs() for v in g.constants()}
        known |= {v.name: v for n in model.graph.nodes for v in n.outputs if v is not None}
        return known | {v.name: v for v in (*model.graph.constants(), *model.graph.inputs, *model.graph.outputs)}

    def _compile(self, model: Model) -> tuple[Plan, Placement]:
        from sardonyx.passes import optimize

        start = time.perf_counter()
        report: list[Any] = []
        wishes = resolve_wishes(self._options.assign, [p.name for p in self._providers])
        loaded = self._assignable(model) if wishes else set()
        placed_by = self._wishes(wishes, model)
        optimize(
            model.graph,
            self._options.level,
            evaluate=self._evaluator(),
            disabled=self._disabled,
            extra=discovery.passes(),
            report=report,
        )
        start = self._timed("optimize", start)
        if self._options.optimized_model_filepath:
            from sardonyx.ir.opset import fitting_opset
            from sardonyx.ir.save import save

            save(model, self._options.optimized_model_filepath, opset=fitting_opset(model))
        providers = list(self._providers)
        if any(self._custom.nodes(model.graph)):
            providers.insert(0, CustomProvider(self._custom))
        planner = Planner(providers, self._contexts(providers), placed_by)
        plan = planner.plan(model.graph)
        check_names(wishes, loaded, planner.placed)
        self._timed("compile", start)
        return plan, Placement(planner.placed, [p.name for p in self._providers], report)

    def _assignable(self, model: Model) -> set[str]:
        """What SessionOptions.assign may name."""
        return names_of(model.graph)

    def _wishes(self, wishes: dict[str, str], model: Model) -> dict[str, str]:
        """`wishes` as the planner takes them."""
        return wishes

    def _evaluator(self) -> Any:
        from sardonyx.runtime.evaluate import evaluator

        return evaluator([p.kernels for p in self._providers if p.memory == "host" and p.kernels is not None])

    def _contexts(self, providers: list[Provider]) -> dict[str, CompileContext]:
        o = self._options
        return {
            p.name: CompileContext(
                options=p.options,
                threads=o.threads,
                weights=weights,
                level=o.level,
                deterministic=bool(o.use_deterministic_compute),
                seed=o.seed,
                logger=self._logger,
            )
            for p in providers
        }

    def _warn_fallback(self) -> None:
        missed = [n for n in self._placement.nodes if self._asked and n.ep not in (*self._asked, HOST, CONTROL, CUSTOM)]
        if missed:
            ops = ", ".join(sorted({n.op for n in missed}))
            text = f"{len(missed)} nodes run on {missed[0].ep!r}, not on the providers asked for: {ops} (session.explain() says why)"
            self._logger.warning("%s", text)
            warnings.warn(text, RuntimeWarning, stacklevel=4)

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None) -> list[Any]:
        """Run the model. Returns the outputs (or those named, internal tensors included) as a list of numpy arrays that are
        the caller's own. Raises InvalidInput for wrong feeds, NodeError where a node fails, RunCancelled."""
        return self._run(output_names, input_feed, run_options)

    def _run(self, output_names: Any, input_feed: Any, run_options: RunOptions | None, *flags: bytearray) -> list[Any]:
        try:
            if output_names is None and run_options is None and not flags and self._entry is not None:
                direct = self._entry(input_feed)
                if direct is not None:
                    return direct
            feeds = self._checked(input_feed)
            ctx = self._context(run_options, flags)
            if output_names is None or not _names(output_names):
                results = self._plan.run(feeds, ctx)
            else:
                results = self._select(output_names, feeds, ctx)
            seen = lent(feeds)
            return [own(y, feeds, seen) for y in results]
        except (SardonyxError, Warning):
            raise
        except Exception as e:
            raise foreign("the run", e) from e

    def _checked(self, input_feed: Any) -> list[Any]:
        """The feeds in order; the plan is one for them afterwards."""
        feeds = check_feeds(self._feeds, input_feed)
        if self._symbols.groups and not self._separate and not self._symbols.agree(feeds):
            self._separate_symbols()
        return feeds

    def _context(self, run_options: RunOptions | None, flags: tuple[bytearray, ...]) -> RunContext | None:
        if run_options is not None:
            arguments.instance("run_options", run_options, RunOptions, "a RunOptions, or None")
            flags = (*flags, run_options._flag)
            o = run_options
            log = self._logger if o.log_severity_level == -1 else make_logger(o.log_severity_level, o.log_verbosity_level, o.logid)
            log.debug("a run begins")
        if self._profile is not None:
            with self._lock:
                self._profile.runs += 1
        elif not flags:
            return None
        record = self._profile.record if self._profile is not None else None

        def cancelled() -> bool:
            # A subclass of RunOptions may compute `terminate`, which then is not in its flag.
            return any(f[0] for f in flags) or bool(run_options and run_options.terminate)

        return RunContext(cancelled=cancelled, record=record, flags=flags)

    def io_binding(self) -> IOBinding:
        """A new IOBinding for this session."""
        return IOBinding(self)

    def profile(self, input_feed: Mapping[str, Any], *, runs: int = 10, warmup: int = 1) -> Profile:
        """Run `runs` times, at least once, after `warmup` runs that do not count, and return the time of every node."""
        arguments.whole("runs", runs, least=1)
        for _ in range(arguments.whole("warmup", warmup, least=0)):
            self.run(None, input_feed)
        profile = self._new_profile()
        try:
            feeds = self._checked(input_feed)
            for _ in range(runs):
                self._plan.run(list(feeds), RunContext(record=profile.record))
                profile.runs += 1
        except (SardonyxError, Warning):
            raise
        except Exception as e:
            raise foreign("the run", e) from e
        profile.sizes = sizes_of(self._feeds, feeds)
        return profile

    def _new_profile(self) -> Profile:
        return Profile(where=self._placement)

    def end_profiling(self) -> str:
        """Write the profile of all runs since the session was made with enable_profiling; returns the file's name. Raises
        UnwritableFile, after which it can be called again."""
        if self._profile is None:
            raise InvalidInput("profiling was not enabled: set SessionOptions.enable_profiling before making the session")
        stamp = time.strftime("%Y-%m-%d_%H-%M-%S")
        path = self._profile.save(f"{self._options.profile_file_prefix}{stamp}_{os.getpid()}.json")
        self._profile = None
        self._entry = self._bind()
        return path

    def get_profiling_start_time_ns(self) -> int:
        """Wall-clock time at which profiling began, in ns; 0 if it is off."""
        return self._profile.begun if self._profile is not None else 0

    def _select(self, names: Sequence[str], feeds: list[Any], ctx: RunContext | None) -> list[Any]:
        if all(n in self._output_names for n in names):
            results = self._plan.run(feeds, ctx)
            return [results[self._output_names.index(n)] for n in names]
        plan, have = self._plan_for(tuple(dict.fromkeys(names)))
        results = plan.run(feeds, ctx)
        return [results[have.index(n)] for n in names]

    def _plan_for(self, names: tuple[str, ...]) -> tuple[Plan, list[str]]:
        """A plan whose outputs are `names`, internal tensors among them; the last few are kept."""
        with self._lock, inferring(self._custom.infer):
            if names in self._extra:
                self._extra.move_to_end(names)
                return self._extra[names]
            model = self._load()
            known = self._tensors(model)
            unknown = [n for n in names if n not in known]
            if unknown:
                raise no_tensor(unknown[0], self._source, known, self._output_names)
            model.graph.outputs = [known[n] for n in names]
            plan, _ = self._compile(model)
            self._extra[names] = (plan, list(names))
            if len(self._extra) > EXTRA_PLANS:
                self._extra.popitem(last=False)
            return self._extra[names]

    def __getstate__(self) -> dict[str, Any]:
        """The model's source and the options: a copy is made anew where it is unpickled."""
        return self._state() | {"source": portable(self._source)}

    def _state(self) -> dict[str, Any]:
        return {"source": self._source, "options": self._given, "requested": self._requested, "disabled": self._disabled}

    def __setstate__(self, state: dict[str, Any]) -> None:
        providers, provider_options = state["requested"]
        InferenceSession.__init__(
            self, state["source"], state["options"], providers, provider_options, disabled_optimizers=state["disabled"]
        )

    def clone(self, sess_options: SessionOptions | None = None) -> Self:
        """Another session of the same model and providers, with these options or the same. They share weights."""
        twin = type(self).__new__(type(self))
        twin.__setstate__(self._state() | ({"options": sess_options} if sess_options is not None else {}))
        return twin

    def memory_report(self) -> MemoryReport:
        """What the session holds in memory, by provider and kind."""
        with self._lock:
            extra = [plan for plan, _ in self._extra.values()]
        sources = [source for _, source in self._source] if isinstance(self._source, list) else [self._source]
        held = sum(len(source) for source in sources if isinstance(source, (bytes, memoryview)))
        return report_memory(self._plan, extra, self._providers, held)

    def trim(self) -> int | None:
        """Give back what is kept only to make runs faster: plans for internal tensors, the providers' working memory, and what
        the C library keeps. Returns by how many bytes the process shrank, None where the system does not say."""
        before = resident_bytes()
        with self._lock:
            self._extra.clear()
        for _, executable in self._plan.executables():
            executable.trim()
        return_freed_memory()
        after = resident_bytes()
        return None if before is None or after is None else max(0, before - after)


def _names(output_names: Any) -> list[str]:
    names: list[Any] = list(output_names) if isinstance(output_names, Iterable) and not isinstance(output_names, (str, bytes)) else [None]
    if not all(isinstance(n, str) for n in names):
        raise InvalidType(f"output_names is a list of names, or None for all outputs, not {output_names!r}")
    return names
