"""onnxruntime's log severities on the standard logger `sardonyx`.

A session's own logger has the level that its options ask for, and hands records to the handlers of `sardonyx`. Where the
program has configured no logging, records below warnings, which Python would drop, go to stderr.
"""

from __future__ import annotations

import functools
import logging
import sys
import warnings
from typing import TYPE_CHECKING, Any

from sardonyx.errors import InvalidInput
from sardonyx.runtime import arguments

if TYPE_CHECKING:
    from sardonyx.runtime.explain import Placement

__all__ = ["log_placement", "make_logger", "set_default_logger_severity", "set_default_logger_verbosity", "warn_once"]

ROOT = logging.getLogger("sardonyx")
LEVELS = {0: logging.DEBUG, 1: logging.INFO, 2: logging.WARNING, 3: logging.ERROR, 4: logging.CRITICAL}
_verbosity = 0


class _Stderr(logging.StreamHandler[Any]):
    """Writes to what is stderr now, unless the program has handlers of its own."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self.addFilter(lambda record: not logging.root.handlers)

    @property
    def stream(self) -> Any:  # type: ignore[override]
        return sys.stderr


def _level(severity: int, verbosity: int) -> int:
    if arguments.whole("log severity", severity) not in LEVELS:
        raise InvalidInput(f"log severity {severity!r}: it is 0 (verbose), 1 (info), 2 (warning), 3 (error) or 4 (fatal)")
    return LEVELS[severity] if severity else max(1, logging.DEBUG - int(verbosity))


def make_logger(severity: int, verbosity: int = 0, logid: str = "") -> logging.Logger:
    """A logger of its own for a session or a run: `severity` as onnxruntime counts, -1 for that of logger `sardonyx`;
    `verbosity` goes below level DEBUG where severity is 0; `logid` stands before each message. InvalidInput for others."""
    made = logging.Logger("sardonyx")
    made.parent = ROOT
    if severity != -1:
        made.setLevel(_level(severity, verbosity))
        _show(made.level)
    if logid:
        made.addFilter(lambda record: _prefix(record, logid))
    return made


def _prefix(record: logging.LogRecord, logid: str) -> bool:
    record.msg, record.args = f"[{logid}] {record.getMessage()}", ()
    return True


@functools.cache
def warn_once(text: str) -> None:
    """Warn of something that holds for the whole process, in the log and as a RuntimeWarning, the first time it is said."""
    ROOT.warning("%s", text)
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def log_placement(logger: logging.Logger, what: str, placement: Placement, seconds: list[tuple[str, float]]) -> None:
    """Say where the nodes of a new session went and how long its phases took; with level debug, pass by pass and node by node."""
    where = ", ".join(f"{ep} {share:.0%}" for ep, share in placement.shares.items())
    phases = ", ".join(f"{phase} {s * 1000:.0f} ms" for phase, s in seconds)
    logger.info("%s: %d nodes (%s); %s", what, len(placement.nodes), where, phases)
    if logger.isEnabledFor(logging.DEBUG):
        for name, took, edits in placement.passes:
            logger.debug("pass %s: %d edits in %.1f ms", name, edits, took * 1000)
        for n in placement.nodes:
            logger.debug("node %r (%s) runs on %s%s", n.node, n.op, n.ep, f", refused by {n.reasons}" if n.reasons else "")


def set_default_logger_severity(severity: int) -> None:
    """Level of the logger `sardonyx`: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal. InvalidInput for another."""
    ROOT.setLevel(_level(severity, _verbosity))
    _show(ROOT.level)


def set_default_logger_verbosity(verbosity: int) -> None:
    """How far below level DEBUG the logger `sardonyx` goes where its severity is 0."""
    global _verbosity
    _verbosity = arguments.whole("log verbosity", verbosity)
    if ROOT.level and ROOT.level <= logging.DEBUG:
        ROOT.setLevel(_level(0, _verbosity))


def _show(level: int) -> None:
    if level < logging.WARNING and not ROOT.handlers:
        ROOT.addHandler(_Stderr())
