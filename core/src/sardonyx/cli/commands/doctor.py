"""`sardonyx doctor`: what is installed, what is wrong with it, and what would help."""

from __future__ import annotations

from typing import Any

import click

from sardonyx.cli import show
from sardonyx.cli.environment import blas, packages, python, threads
from sardonyx.cli.options import INSTALL, Command, json_option
from sardonyx.runtime import discovery
from sardonyx.runtime.discovery import ProviderStatus

__all__ = ["command", "problems"]

EXAMPLE = """\b
Examples:
  sardonyx doctor
"""


@click.command("doctor", cls=Command, epilog=EXAMPLE)
@json_option
def command(as_json: bool) -> int:
    """Examine the installation: Python, numpy and its BLAS, threads, every plug-in, conflicts. Status 1 if something is wrong."""
    states = discovery.providers()
    facts: dict[str, Any] = {"python": python(), "packages": packages(), "blas": blas(), "threads": threads()}
    facts["providers"] = [s.to_dict() for s in states]
    facts["problems"] = problems(states, facts["packages"])
    facts["hints"] = hints(states, facts)
    if as_json:
        show.emit_json(facts)
    else:
        _print(facts, states)
    return 1 if facts["problems"] else 0


def problems(states: list[ProviderStatus], versions: dict[str, str]) -> list[str]:
    """What is wrong, a sentence each."""
    found = [f"provider {s.name!r} cannot be used: {s.reason}" for s in states if not s.usable]
    if not any(s.usable for s in states):
        found.append(f"no execution provider can be used, so no model can run: {INSTALL}")
    ours = {n: v for n, v in versions.items() if n.startswith("sardonyx")}
    if len(set(ours.values())) > 1:
        found.append(f"the packages of Sardonyx have different versions: {', '.join(f'{n} {v}' for n, v in ours.items())}")
    return found


def hints(states: list[ProviderStatus], facts: dict[str, Any]) -> list[str]:
    """What would help, a sentence each."""
    found = []
    usable = {s.name for s in states if s.usable}
    if usable and "cpu" not in usable:
        found.append("without sardonyx-ep-cpu, a node that no other provider takes cannot run")
    t = facts["threads"]
    if t["used"] < t["processors"]:
        found.append(f"{t['used']} of {t['processors']} processors are used: that is what {t['limited_by']} allows")
    if facts["blas"] and facts["blas"][0]["name"] in ("blas", "lapack_lite", "unknown"):
        found.append("numpy has no fast BLAS: convolution and matrix products on the cpu provider will be slow")
    return found


def _print(facts: dict[str, Any], states: list[ProviderStatus]) -> None:
    p, t = facts["python"], facts["threads"]
    show.line(f"python      {p['version']} ({p['executable']}), {p['platform']}")
    show.line(f"packages    {', '.join(f'{n} {v}' for n, v in facts['packages'].items())}")
    for b in facts["blas"]:
        show.line(f"BLAS        {b['name']} {b['version']}, kernel {b['kernel']}, {b['threads'] or '?'} threads ({b['used_by']})")
    show.line(f"threads     {t['used']} of {t['processors']} processors (affinity {t['affinity']}, quota {t['quota'] or 'none'})")
    for name, value in t["environment"].items():
        show.line(f"            {name}={value}")
    for s in states:
        about = s.reason or ", ".join(f"{d.kind} {d.name}" for d in s.devices)
        show.line(f"provider    {s.name}: {'usable' if s.usable else 'NOT usable'}, {s.distribution} {s.version}: {about}")
    for text in facts["problems"]:
        show.line(f"problem     {text}")
    for text in facts["hints"]:
        show.line(f"hint        {text}")
    if not facts["problems"]:
        show.line("Nothing is wrong.")
