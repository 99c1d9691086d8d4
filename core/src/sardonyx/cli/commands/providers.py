"""`sardonyx providers`: what is installed and whether it can be used."""

from __future__ import annotations

import click

from sardonyx.cli import show
from sardonyx.cli.options import INSTALL, Command, json_option
from sardonyx.errors import SardonyxError
from sardonyx.runtime import discovery
from sardonyx.runtime.discovery import ProviderStatus

__all__ = ["command"]

EXAMPLE = """\b
Examples:
  sardonyx providers
  sardonyx providers -v --require cpu
"""


@click.command("providers", cls=Command, epilog=EXAMPLE)
@click.option("-v", "--verbose", is_flag=True, help="Also the options of each provider.")
@click.option("--require", multiple=True, metavar="NAME", help="Exit with status 1 if this provider cannot be used.")
@json_option
def command(verbose: bool, require: tuple[str, ...], as_json: bool) -> int:
    """List the execution providers that are installed, and whether each can be used here."""
    states = discovery.providers()
    missing = [n for n in require if not _usable(n)]
    if as_json:
        show.emit_json({"providers": [s.to_dict() for s in states], "missing": missing})
        return 1 if missing else 0
    if not states:
        show.line(f"No execution provider is installed. For example: {INSTALL}")
    else:
        columns = ("provider", "usable", "device", "package", "what it is, or why it cannot be used")
        show.table(columns, [_row(s) for s in states])
    if verbose:
        for state in states:
            _show_options(state)
    for name in missing:
        show.error(f"provider {name!r} is required and cannot be used")
    return 1 if missing else 0


def _usable(name: str) -> bool:
    try:
        return bool(discovery.find(name))
    except SardonyxError:
        return False


def _row(state: ProviderStatus) -> tuple[str, ...]:
    devices = ", ".join(f"{d.kind} ({d.name})" for d in state.devices)
    package = f"{state.distribution} {state.version}".strip()
    about = state.reason or (state.info.description if state.info else "")
    return state.name, "yes" if state.usable else "no", devices or "-", package, about


def _show_options(state: ProviderStatus) -> None:
    if state.info is None:
        return
    aliases = f", also called {', '.join(state.info.aliases)}" if state.info.aliases else ""
    show.line(f"\n{state.name}: priority {state.info.priority}{aliases}")
    rows = [(k, o.type.__name__, repr(o.default), o.help) for k, o in state.info.options.items()]
    if rows:
        show.table(("option", "type", "default", "meaning"), rows)
    else:
        show.line("no options")
