"""The group of commands, each in a module that is imported when it is called, and what becomes of their errors."""

from __future__ import annotations

import contextlib
import errno
import importlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import click

from sardonyx import __version__
from sardonyx.cli import show
from sardonyx.errors import InvalidInput, SardonyxError

__all__ = ["COMMANDS", "Commands", "run", "sardonyx"]

COMMANDS = {
    "demo": "Recognise a handwritten digit: see that everything works.",
    "providers": "List the execution providers and whether each can be used.",
    "doctor": "Examine the installation and say what is wrong with it.",
    "info": "Show a model's inputs, outputs, operators and size.",
    "check": "Load and verify a model, and see which nodes can run here.",
    "run": "Run a model on files or random inputs.",
    "explain": "Show where every node runs, and why not elsewhere.",
    "bench": "Measure a model's latency, alone or against others.",
    "profile": "Measure the time of every operator and node.",
    "compare": "Compare every tensor with another provider or engine.",
    "bisect": "Find the pass or the node that makes a result differ.",
    "optimize": "Write a model in its optimized form, for any runtime.",
    "conformance": "Run the conformance suite on an execution provider.",
}
INTERRUPTED = 130
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
logger = logging.getLogger("sardonyx")


class Commands(click.Group):
    """Core's commands, then those of installed plug-ins (hook `sardonyx_cli`)."""

    _plugins_asked = False

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Core's names, in the order of the help; plug-ins are loaded only for a command that core does not have."""
        return list(COMMANDS)

    def plugin_commands(self) -> dict[str, click.Command]:
        """The commands of installed plug-ins, by name; loads every plug-in."""
        self._ask_plugins()
        return {name: self.commands[name] for name in sorted(self.commands.keys() - COMMANDS.keys())}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now; a plug-in cannot replace one of core's."""
        if cmd_name in COMMANDS:
            return importlib.import_module(f"sardonyx.cli.commands.{cmd_name}").command
        self._ask_plugins()
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing core's."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def _ask_plugins(self) -> None:
        if self._plugins_asked:
            return
        self._plugins_asked = True
        from sardonyx.runtime import discovery

        manager = discovery.plugin_manager()
        for state in discovery.providers():
            if state.module is None:
                continue
            others = [p for p in manager.get_plugins() if p is not state.module]
            try:
                manager.subset_hook_caller("sardonyx_cli", others)(group=self)
            except Exception as e:
                show.note(f"the commands of provider {state.name!r} are left out: {type(e).__name__}: {e}")


def _list_plugins(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
    if not asked:
        return
    assert isinstance(ctx.command, Commands)
    found = ctx.command.plugin_commands()
    for name, command in found.items():
        show.line(f"{name:13}{command.get_short_help_str(100)}")
    if not found:
        show.line("no installed plug-in has commands of its own")
    ctx.exit()


EXAMPLE = """\b
Examples:
  sardonyx demo --write .
  sardonyx run digits.onnx --input image=digit.npy
  sardonyx --plugins
"""
EPILOG = "Every command has --help with examples, and --json. SARDONYX_DEBUG=1 shows tracebacks."


@click.command(
    cls=Commands,
    epilog=f"{EPILOG}\n\n{EXAMPLE}",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="sardonyx %(version)s")
@click.option("--plugins", is_flag=True, is_eager=True, expose_value=False, callback=_list_plugins, help="List commands of plug-ins.")
@click.option("-v", "--verbose", is_flag=True, help="Log what happens, on stderr.")
def sardonyx(verbose: bool) -> None:
    """Run ONNX models on the execution providers that are installed."""
    if verbose:
        logger.setLevel(logging.DEBUG)


class _Notes(logging.Handler):
    """Log records as notes on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        show.note(record.getMessage())


@contextlib.contextmanager
def _logs_as_notes() -> Iterator[None]:
    """What is logged goes to stderr as notes; warnings are left out, for they are logged as well."""
    before = logger.handlers, logger.propagate, logger.level
    logger.handlers, logger.propagate = [_Notes(logging.DEBUG)], False
    logger.setLevel(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            yield
        finally:
            logger.handlers, logger.propagate, logger.level = before


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; an error is one message on stderr. Status 0: success, 1: failure, 2: the caller's mistake."""
    _replace_closed_streams()
    with _logs_as_notes():
        return _run(arguments)


def _replace_closed_streams() -> None:
    """Where the caller has closed stdout or stderr (`>&-`), what goes there is dropped."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - the interpreter's own from now on


def _run(arguments: Sequence[str] | None) -> int:
    try:
        status: Any = sardonyx.main(args=None if arguments is None else list(arguments), prog_name="sardonyx", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except BrokenPipeError:
        _drop_stdout()
        return 1
    except (click.Abort, KeyboardInterrupt):
        show.error("interrupted")
        return INTERRUPTED
    except Exception as e:
        if os.environ.get("SARDONYX_DEBUG", "0") not in ("", "0"):
            raise
        return _report(_of_stdout(e) or e)


def _drop_stdout() -> None:
    """What is still to go to stdout is dropped; the interpreter flushes it once more when it ends."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the interpreter's own from now on


def _of_stdout(e: Exception) -> Exception | None:
    """The error to report where `e` is that stdout takes no more, as on a full disk: files that options name are named in theirs."""
    if not isinstance(e, OSError) or isinstance(e, SardonyxError) or e.filename is not None or e.errno not in FULL:
        return None
    _drop_stdout()
    return SardonyxError(f"cannot write to stdout: {e.strerror}")


def _report(e: Exception) -> int:
    if isinstance(e, click.UsageError):
        where = e.ctx.command_path if e.ctx is not None else "sardonyx"
        show.error(f"{e.format_message().rstrip('.')} (see: {where} --help)")
        return 2
    if isinstance(e, click.ClickException):
        show.error(e.format_message())
        return e.exit_code
    if isinstance(e, SardonyxError):
        show.error(str(e))
        return 2 if isinstance(e, InvalidInput) else 1
    if isinstance(e, OSError):
        show.error(f"{e.filename}: {e.strerror}" if e.filename else str(e))
        return 1
    if isinstance(e, MemoryError):
        show.error(f"out of memory: {e or 'the system gives no more'}")
        return 1
    show.error(f"internal error: {type(e).__name__}: {e} (SARDONYX_DEBUG=1 shows the traceback; please report it)")
    return 1
