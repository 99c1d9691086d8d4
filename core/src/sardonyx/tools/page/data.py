"""What the page shows, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sardonyx import __version__
from sardonyx.ir.dtypes import dtype_name
from sardonyx.ir.types import TensorType, ValueType, type_string
from sardonyx.runtime.explain import Placement
from sardonyx.runtime.planner import Placed
from sardonyx.runtime.profiler import NodeTime, Profile
from sardonyx.tools.page.layout import layout
from sardonyx.tools.page.memory import live_bytes, size_of

__all__ = ["page_data"]

MAX_EVENTS = 20_000


def page_data(placement: Placement, profile: Profile | None, title: str) -> dict[str, Any]:
    """Everything, for JSON. Nodes and edges are in the order of execution; edges are pairs of node indices."""
    nodes = placement.nodes
    edges = _edges(nodes)
    places, bends = layout(len(nodes), [(a, b) for a, b, _ in edges])
    times = {r["node"]: r for r in profile.rows()} if profile is not None else {}
    data: dict[str, Any] = {
        "title": title,
        "version": __version__,
        "providers": placement.providers,
        "shares": placement.shares,
        "nodes": [_node(n, places[i], times.get(n.node)) for i, n in enumerate(nodes)],
        "edges": [[a, b, label, *([bends[k]] if k in bends else [])] for k, (a, b, label) in enumerate(edges)],
        "passes": [[name, seconds * 1e3, edits] for name, seconds, edits in placement.passes],
        "runs": profile.runs if profile is not None else 0,
        "operators": [[r["op"], r["ep"], r["nodes"], r["total_us"] / max(1, profile.runs), r["share"]] for r in profile.by_op()]
        if profile is not None
        else [],
    }
    return data | (_timeline(nodes, profile) if profile is not None and profile.events else _order(nodes))


def _type(t: ValueType) -> str:
    if isinstance(t, TensorType):
        shape = "?" if t.shape is None else ", ".join("?" if d is None else str(d) for d in t.shape)
        return f"{dtype_name(t.dtype)}[{shape}]"
    return type_string(t) if t is not None else "?"


def _node(n: Placed, place: tuple[float, float], row: dict[str, Any] | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": n.node,
        "op": f"{n.domain}::{n.op}" if n.domain else n.op,
        "since": n.since,
        "ep": n.ep,
        "group": n.group,
        "origins": [o for o in n.origins if o != n.node],
        "reasons": n.reasons,
        "inputs": [i for i in n.inputs if i],
        "outputs": [[name, _type(t)] for name, t in zip(n.outputs, n.types, strict=True) if name],
        "within": n.within,
        "x": round(place[0], 3),
        "y": round(place[1], 3),
    }
    if row is not None:
        told |= {"us": row["mean_us"], "share": row["share"], "calls": row["calls"]}
    return told


def _edges(nodes: Sequence[Placed]) -> list[tuple[int, int, str]]:
    """(from, to, value) with node indices; a control-flow node leads to the first nodes of its bodies."""
    maker: dict[str, int] = {}
    index = {n.node: i for i, n in enumerate(nodes)}
    found: list[tuple[int, int, str]] = []
    for i, n in enumerate(nodes):
        sources = [(maker[name], name) for name in dict.fromkeys(n.inputs) if name in maker]
        inside = any(nodes[a].within == n.within for a, _ in sources)
        if n.within and not inside and n.within in index:
            sources.append((index[n.within], ""))
        found += [(a, i, name) for a, name in sources]
        maker |= {name: i for name in n.outputs if name}
    return found


def _timeline(nodes: Sequence[Placed], profile: Profile) -> dict[str, Any]:
    """The events of the last run, and the bytes alive during each: those that the provider told, else by the types."""
    run = sorted(profile.events[-max(1, len(profile.events) // max(1, profile.runs)) :], key=lambda e: e.start)[:MAX_EVENTS]
    placed = {n.node: n for n in nodes}
    index = {n.node: i for i, n in enumerate(nodes)}
    begin = run[0].start
    threads = {t: k for k, t in enumerate(dict.fromkeys(e.thread for e in run))}
    events = [[index.get(e.node, -1), (e.start - begin) / 1e3, e.duration / 1e3, threads[e.thread], f"{e.op} {e.node}"] for e in run]
    steps = []
    for e in run:
        node = placed.get(e.node) or Placed(e.node, e.op, "", 0, e.origins, e.ep, -1, {})
        steps.append((node, e.sizes or [size_of(t, profile.sizes) for t in node.types]))
    ran = _ran(nodes, run)
    fused = {index[n]: index[run[at[0]].node] for n, at in ran.items() if n not in {e.node for e in run} and run[at[0]].node in index}
    return {"unit": "us", "events": events, "memory": live_bytes(steps, ran, nodes), "sizes": profile.sizes, "fused": fused}


def _ran(nodes: Sequence[Placed], run: Sequence[NodeTime]) -> dict[str, list[int]]:
    """The events in which each node ran: its own, or those of the node that it was fused into."""
    own: dict[str, list[int]] = {}
    by_origin: dict[str, list[int]] = {}
    for k, e in enumerate(run):
        own.setdefault(e.node, []).append(k)
        for origin in e.origins:
            by_origin.setdefault(origin, []).append(k)
    found = {n.node: own.get(n.node) or next((by_origin[o] for o in n.origins if o in by_origin), None) for n in nodes}
    return {name: at for name, at in found.items() if at}


def _order(nodes: Sequence[Placed]) -> dict[str, Any]:
    """The nodes in their order, one unit of time each, and the bytes alive as far as the shapes are known."""
    events = [[i, i, 1, 0, f"{n.op} {n.node}"] for i, n in enumerate(nodes)]
    free = {d or "?" for n in nodes for t in n.types if isinstance(t, TensorType) for d in t.shape or () if not isinstance(d, int)}
    sizes = dict.fromkeys(sorted(free), 1)
    steps = [(n, [size_of(t, sizes) for t in n.types]) for n in nodes]
    memory = live_bytes(steps, {n.node: [i] for i, n in enumerate(nodes)}, nodes)
    return {"unit": "node", "events": events, "memory": memory, "sizes": sizes, "fused": {}}
