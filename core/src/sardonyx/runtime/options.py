"""SessionOptions, RunOptions and their enumerations, with onnxruntime's names."""

from __future__ import annotations

import copy
import enum
import math
import os
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

from sardonyx.errors import InvalidInput, InvalidType
from sardonyx.runtime import arguments
from sardonyx.runtime.checked_options import (
    Check,
    CheckedOptions,
    add_entry,
    assignments,
    columns,
    custom_ops,
    one_of,
    optional_path,
    seed,
)
from sardonyx.runtime.log import warn_once

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "RunOptions",
    "SessionOptions",
    "cgroup_quota",
    "default_threads",
    "threads_of",
]


class GraphOptimizationLevel(enum.IntEnum):
    """How much the graph is optimized; LAYOUT and ALL add the providers' own rules and layouts."""

    __str__ = enum.Enum.__str__

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


LEVELS = {0: "none", 1: "basic", 2: "extended", 3: "all", 99: "all"}


class ExecutionMode(enum.IntEnum):
    """Accepted for compatibility; nodes run in sequence, and kernels use the threads."""

    __str__ = enum.Enum.__str__

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """Accepted for compatibility."""

    __str__ = enum.Enum.__str__

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


def threads_of(variable: str) -> int:
    """The number of threads that an environment variable asks for; 0 where it asks for none, with a warning if it is no number."""
    text = os.environ.get(variable, "").strip()
    if text.isascii() and text.isdigit():
        return int(text)
    if text:
        warn_once(f"{variable}={text!r} is ignored: it is a number of threads, 0 or empty for the default")
    return 0


def default_threads() -> int:
    """Usable processors: the smaller of the affinity mask and the container's CPU quota (cgroup v2 or v1), at least 1."""
    asked = threads_of("SARDONYX_NUM_THREADS")
    if asked:
        return asked
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cgroup_quota()
    return max(1, min(count, quota)) if quota else max(1, count)


def cgroup_quota() -> int | None:
    """Processors that the container's CPU quota allows (cgroup v2 or v1), rounded up; None if there is no quota."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if limit == "max" else math.ceil(int(limit) / int(period))
    except (OSError, ValueError):
        pass
    try:
        limit_us = int(Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").read_text())
        period_us = int(Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us").read_text())
        return math.ceil(limit_us / period_us) if limit_us > 0 else None
    except (OSError, ValueError):
        return None


class SessionOptions(CheckedOptions):
    """Options of a session.

    Beyond onnxruntime's: `strict` (only the providers named run nodes; a node they refuse is an error), `assign` (node,
    origin or operator name -> provider), `disabled_optimizers` (pass names), `seed` (of random operators that have none; None:
    another one every time). An option of the wrong type raises InvalidType where it is set, a value that cannot be InvalidInput,
    and an unknown attribute AttributeError.
    """

    CHECKS: ClassVar[dict[str, Check]] = {
        "enable_cpu_mem_arena": arguments.flag,
        "enable_mem_pattern": arguments.flag,
        "enable_mem_reuse": arguments.flag,
        "enable_profiling": arguments.flag,
        "profile_file_prefix": optional_path,
        "execution_mode": partial(one_of, ExecutionMode),
        "execution_order": partial(one_of, ExecutionOrder),
        "graph_optimization_level": partial(one_of, GraphOptimizationLevel),
        "inter_op_num_threads": partial(arguments.whole, least=0),
        "intra_op_num_threads": partial(arguments.whole, least=0),
        "log_severity_level": arguments.whole,
        "log_verbosity_level": arguments.whole,
        "logid": arguments.text,
        "optimized_model_filepath": optional_path,
        "use_deterministic_compute": arguments.flag,
        "use_per_session_threads": arguments.flag,
        "strict": arguments.flag,
        "assign": assignments,
        "disabled_optimizers": lambda what, value: set(arguments.names(what, value)),
        "custom_ops": custom_ops,
        "seed": seed,
    }

    def __init__(self) -> None:
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.enable_profiling = False
        self.profile_file_prefix = "sardonyx_profile_"
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.execution_order = ExecutionOrder.DEFAULT
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.inter_op_num_threads = 0
        self.intra_op_num_threads = 0
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.optimized_model_filepath = ""
        self.use_deterministic_compute = False
        self.use_per_session_threads = True
        self.strict = False
        self.assign: dict[str, str] = {}
        self.disabled_optimizers: set[str] = set()
        self.custom_ops: list[Any] = []
        self.seed: int | None = None
        self._config: dict[str, str] = {}
        self._dims: dict[str, int] = {}
        self._denotations: dict[str, int] = {}
        self._initializers: dict[str, Any] = {}
        self._external: dict[str, Any] = {}

    def copy(self) -> Self:
        """Options of the same values that change apart from these."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (dict, list, set)):
                setattr(twin, name, value.copy())
        return twin

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Set a configuration entry, text by text; those with a meaning here are listed in the user guide. Raises InvalidType,
        or InvalidInput for an empty key."""
        add_entry(self._config, "session", key, value)

    def get_session_config_entry(self, key: str) -> str:
        """A configuration entry; InvalidInput if it was not set."""
        if arguments.text("the key of a session configuration entry", key) not in self._config:
            raise InvalidInput(f"SessionOptions does not have configuration with key: {key}")
        return self._config[key]

    def has_session_config_entry(self, key: str) -> bool:
        """Whether a configuration entry was set."""
        return arguments.text("the key of a session configuration entry", key) in self._config

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        """Fix the symbolic dimension `name` of the inputs. The session warns where no input has it."""
        arguments.text("the name of a free dimension", name)
        self._dims[name] = arguments.whole(f"the size of free dimension {name!r}", value, least=0, bits=64)

    def add_free_dimension_override_by_denotation(self, denotation: str, value: int) -> None:
        """Fix the dimensions of the inputs that carry this denotation. The session warns where none does."""
        arguments.text("the denotation of a free dimension", denotation)
        self._denotations[denotation] = arguments.whole(f"the size of free dimensions {denotation!r}", value, least=0, bits=64)

    def add_initializer(self, name: str, value: Any) -> None:
        """Replace an initializer of the model by an OrtValue or array of the same dtype and shape."""
        self._initializers[arguments.text("the name of an initializer", name)] = value

    def add_external_initializers(self, names: list[str], values: list[Any]) -> None:
        """Replace several initializers that the model keeps outside its file."""
        for name, value in columns(names=names, values=values):
            self.add_initializer(name, value)

    def add_external_initializers_from_files_in_memory(self, names: list[str], buffers: list[Any], lengths: list[int]) -> None:
        """Give the contents of external data files: location -> the first `length` bytes of a buffer."""
        for name, buffer, length in columns(names=names, buffers=buffers, lengths=lengths):
            what = f"the buffer of external data {arguments.text('the location of external data', name)!r}"
            try:
                content = memoryview(buffer).cast("B")
            except TypeError as e:
                raise InvalidType(f"{what} is bytes or another contiguous buffer, not {type(buffer).__name__}: {e}") from None
            if arguments.whole(f"the length of {what}", length, bits=64) < 0:
                raise InvalidType(f"the length of {what} is a number of bytes, not {length}")
            if length > len(content):
                raise InvalidInput(f"{what} has {len(content)} bytes, less than the {length} that are said to be in it")
            self._external[name] = content[:length]

    def register_custom_ops(self, *sources: Any) -> None:
        """Custom operators for this session: what @sardonyx.custom_op makes, lists of such, modules, or names of modules.
        They come before those registered with the process. Raises InvalidInput for a source without any."""
        from sardonyx.runtime.custom_ops import custom_ops_of

        self.custom_ops += [op for source in sources for op in custom_ops_of(source)]

    def register_custom_ops_library(self, library: Any) -> None:
        """As register_custom_ops, with a Python module; a compiled library of onnxruntime's raises NotSupported."""
        self.register_custom_ops(library)

    @property
    def level(self) -> str:
        """The optimization level by its name: none, basic, extended, all."""
        return LEVELS[int(self.graph_optimization_level)]

    @property
    def is_strict(self) -> bool:
        """Whether only the providers asked for may run nodes."""
        return self.strict or self._config.get("session.disable_cpu_ep_fallback") == "1"

    @property
    def threads(self) -> int:
        """Threads for one operator: as set, or the processors this process may use."""
        if self.intra_op_num_threads:
            return self.intra_op_num_threads
        return threads_of("ORT_INTRA_OP_NUM_THREADS") or default_threads()


class RunOptions(CheckedOptions):
    """Options of one run. Setting `terminate` (from another thread) ends the run between two nodes.

    `log_severity_level` is that of the session where it is -1. Options are checked as those of SessionOptions.
    """

    CHECKS: ClassVar[dict[str, Check]] = {
        "log_severity_level": arguments.whole,
        "log_verbosity_level": arguments.whole,
        "logid": arguments.text,
        "only_execute_path_to_fetches": arguments.flag,
    }

    def __init__(self) -> None:
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self._flag = bytearray(1)
        self._config: dict[str, str] = {}

    @property
    def terminate(self) -> bool:
        """Whether runs with these options are to end."""
        return bool(self._flag[0])

    @terminate.setter
    def terminate(self, value: bool) -> None:
        self._flag[0] = arguments.flag("RunOptions.terminate", value)

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Set a configuration entry of the run, text by text. Raises InvalidType, or InvalidInput for an empty key."""
        add_entry(self._config, "run", key, value)

    def get_run_config_entry(self, key: str) -> str:
        """A configuration entry; InvalidInput if it was not set."""
        if arguments.text("the key of a run configuration entry", key) not in self._config:
            raise InvalidInput(f"RunOptions does not have configuration with key: {key}")
        return self._config[key]
