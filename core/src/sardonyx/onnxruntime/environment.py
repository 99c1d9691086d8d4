"""What onnxruntime keeps for the whole process: logging, the random seed, shared threads, and what it says of itself."""

from __future__ import annotations

import logging
import platform
import random
import sys
from collections.abc import Callable

import sardonyx
from sardonyx.errors import InvalidType
from sardonyx.onnxruntime.errors import raises
from sardonyx.runtime import arguments, log

__all__ = [
    "API_VERSION",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_build_info",
    "get_version_string",
    "global_threads",
    "has_collective_ops",
    "preload_dlls",
    "print_debug_info",
    "session_seed",
    "set_default_logger_callback",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
]

API_VERSION = "1.32.0"
LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
Callback = Callable[[int, str, str, str, str], None]

_logger = logging.getLogger("sardonyx")
_seed: random.Random | None = None
_threads = 0


def get_version_string() -> str:
    """The version of onnxruntime whose interface this is."""
    return API_VERSION


def get_build_info() -> str:
    """What runs in onnxruntime's place."""
    return f"Sardonyx {sardonyx.__version__} with the interface of onnxruntime {API_VERSION}"


def has_collective_ops() -> bool:
    """Whether nodes can run on several machines at once: no."""
    return False


def disable_telemetry_events() -> None:
    """Nothing to switch off: Sardonyx reports nothing to anyone."""


def enable_telemetry_events() -> None:
    """Has no effect: Sardonyx reports nothing to anyone."""


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Has no effect: a provider loads its own libraries when it is first used."""


def set_seed(seed: int) -> None:
    """Seed the random operators of sessions made from now on."""
    global _seed
    _seed = random.Random(arguments.whole("the seed", seed, bits=64))


def session_seed() -> int | None:
    """A seed for a new session, from the one that was set; None where none was."""
    return None if _seed is None else _seed.getrandbits(31)


def set_global_thread_pool_sizes(intra_op_num_threads: int = 0, inter_op_num_threads: int = 0) -> None:
    """Threads for one operator in sessions whose options have use_per_session_threads off (0: the processors at hand)."""
    global _threads
    arguments.whole("inter_op_num_threads", inter_op_num_threads)
    _threads = max(0, arguments.whole("intra_op_num_threads", intra_op_num_threads))


def global_threads() -> int:
    """What set_global_thread_pool_sizes set; 0 where nothing was."""
    return _threads


@raises(RuntimeError)
def set_default_logger_severity(severity: int) -> None:
    """Least severity that the logger `sardonyx` passes on: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal. Raises RuntimeError
    for another."""
    log.set_default_logger_severity(severity)


def set_default_logger_verbosity(verbosity: int) -> None:
    """How far below level DEBUG the logger `sardonyx` goes where its severity is 0."""
    log.set_default_logger_verbosity(verbosity)


class _CallbackHandler(logging.Handler):
    """Passes records on as (severity, category, logid, code location, message)."""

    def __init__(self, callback: Callback):
        super().__init__()
        self.callback = callback

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one record on; what the callback raises is printed, and goes no further."""
        severity = sum(record.levelno >= level for level in LEVELS[1:])
        try:
            self.callback(severity, record.name, "", f"{record.filename}:{record.lineno} {record.funcName}", record.getMessage())
        except Exception:
            self.handleError(record)


def set_default_logger_callback(callback: Callback | None, severity: int = 2) -> None:
    """Give every message of the logger `sardonyx` to a function (severity, category, logid, code location, message) instead of
    the handlers of the program; None: to those again."""
    for handler in [h for h in _logger.handlers if isinstance(h, _CallbackHandler)]:
        _logger.removeHandler(handler)
    _logger.propagate = callback is None
    if callback is not None:
        if not callable(callback):
            raise InvalidType(f"the callback is a function or None, not {type(callback).__name__}")
        set_default_logger_severity(severity)
        _logger.addHandler(_CallbackHandler(callback))


def print_debug_info() -> None:
    """Print versions, the platform, and every installed provider with its devices or the reason why it cannot be used."""
    from sardonyx.runtime.discovery import providers

    print(get_build_info())
    print(f"platform: {platform.platform()}")
    print(f"Python: {platform.python_version()} at {sys.executable}")
    for state in providers():
        what = ", ".join(d.name for d in state.devices) if state.usable else f"not usable: {state.reason}"
        print(f"provider {state.name} ({state.distribution} {state.version}): {what}")
