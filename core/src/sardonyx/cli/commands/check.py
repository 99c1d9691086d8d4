"""`sardonyx check`: is the model right, and can it run here."""

from __future__ import annotations

from typing import Any

import click

from sardonyx.cli import show
from sardonyx.cli.model_file import read_model_file
from sardonyx.cli.options import INSTALL, Command, json_option, listed, model_argument, provider_names
from sardonyx.ep.provider import Provider
from sardonyx.errors import NotSupported
from sardonyx.ir.custom import inferring
from sardonyx.ir.graph import Graph
from sardonyx.ir.load import load
from sardonyx.runtime import discovery
from sardonyx.runtime.custom_ops import CustomOps, CustomProvider
from sardonyx.runtime.partition import assign

__all__ = ["command", "unplaced"]

EXAMPLE = """\b
Examples:
  sardonyx check digits.onnx
  sardonyx check digits.onnx --ep cpu --strict --json
"""


@click.command("check", cls=Command, epilog=EXAMPLE)
@model_argument
@listed("--ep", metavar="NAMES", help="The providers to ask (default: all that can be used).")
@click.option("--strict", is_flag=True, help="Warnings (declared types that contradict the inferred ones) are errors.")
@json_option
def command(model: str, ep: str | None, strict: bool, as_json: bool) -> int:
    """Load and verify a model, and list the nodes that no installed provider can run.

    The number of nodes is that of the file, as `sardonyx info` counts them; those that cannot run are of the optimized model.

    Status 0: it is right and can run here; 1: it is not, or cannot.
    """
    with show.status(f"checking {model}"):
        custom = CustomOps(())
        with inferring(custom.infer):
            loaded = load(model, strict=strict)
        names = discovery.available() if ep is None else provider_names(ep)
        states = [s for name in names for s in discovery.find(name)]
        providers = [s.info.create(s.info.check_options({})) for s in states if s.info is not None]
        if any(custom.nodes(loaded.graph)):
            providers.insert(0, CustomProvider(custom))
        nodes = sum(1 for _ in read_model_file(model).nodes())
        warnings = [*loaded.cautions, *loaded.warnings]
        stuck = unplaced(loaded.graph, providers) if providers else []
    ok = bool(states) and not stuck
    if as_json:
        facts = {"model": model, "nodes": nodes, "warnings": warnings, "providers": [s.name for s in states], "unplaced": stuck}
        show.emit_json({"ok": ok, **facts})
        return 0 if ok else 1
    for text in warnings:
        show.line(f"warning: {text}")
    show.line(f"{model} is a valid model of {nodes} nodes{f', {len(warnings)} warnings' if warnings else ''}.")
    if not states:
        show.line(f"Nothing here can run it: {INSTALL}")
        return 1
    who = ", ".join(s.name for s in states)
    if ok:
        show.line(f"Every node can run here ({who}).")
        return 0
    show.line(f"{len(stuck)} nodes cannot run here ({who}):")
    rows = [(n["node"], n["op"], "; ".join(f"{ep}: {why}" for ep, why in n["reasons"].items()), ", ".join(n["origins"])) for n in stuck]
    show.table(("node", "operator", "why", "made from"), rows)
    return 1


def unplaced(graph: Graph, providers: list[Provider]) -> list[dict[str, Any]]:
    """The nodes of the optimized graph and its bodies that none of the providers takes, with the reasons. Changes the graph:
    a node that was refused is tried as its function body."""
    from sardonyx.passes import optimize

    optimize(graph, "all")
    found = []
    for part in list(graph.walk_graphs()):
        try:
            assign(part, providers)
        except NotSupported as e:
            nodes = {n.name: n for n in part.nodes}
            for name, reasons in e.nodes.items():
                node = nodes[name]
                op = f"{node.title}-{node.since}"
                found.append({"node": name, "op": op, "origins": list(node.origins), "reasons": reasons})
    return found
